/**
 * Spans of messages to MCP servers, as the MCP conventions have them (gen-ai/mcp): one for what a client has sent,
 * beside that of the HTTP request that carried it, and one for each server that was asked. A message of a server has
 * one for what came, and one for what the client got.
 */
import { detailOf } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type McpUse, mcpErrorType } from '#engine/contract/mcp-use.ts'
import type { SentMessage, TraceIds } from '#engine/contract/tracing.ts'
import { type Attribute, compileAttributes } from '#engine/telemetry/otlp/attributes.ts'
import { SPAN_CLIENT, SPAN_SERVER, type SpanIds, type SpanTimes, type SpanWriter } from './span-writer.ts'

const itemOf =
  (kind: string) =>
  ({ item }: McpUse): string | undefined =>
    item?.kind === kind ? item.name : undefined

export const MCP_ATTRIBUTES: readonly Attribute<McpUse>[] = [
  ['mcp.method.name', ({ method }) => method],
  ['mcp.session.id', ({ sessionId }) => sessionId],
  ['mcp.protocol.version', ({ protocolVersion }) => protocolVersion],
  ['gen_ai.operation.name', ({ method }) => (method === 'tools/call' ? 'execute_tool' : undefined)],
  ['gen_ai.tool.name', itemOf('tool')],
  ['gen_ai.prompt.name', itemOf('prompt')],
  ['mcp.resource.uri', itemOf('resource')],
  ['jsonrpc.request.id', ({ requestId }) => requestId],
  ['rpc.response.status_code', ({ errorCode }) => (errorCode === undefined ? undefined : String(errorCode))],
  ['error.type', mcpErrorType],
  ['network.transport', () => 'tcp'],
  ['network.protocol.name', () => 'http'],
  ['weir.mcp.target', ({ item, target }) => item?.target ?? target]
]

/** Methods of clients are text of clients: only those that MCP has make a name. */
const METHOD = /^[a-z]+(?:\/[A-Za-z_]+){0,3}$/

export function mcpSpanName({
  method = '',
  item
}: Pick<SentMessage, 'item'> & { readonly method?: string | undefined }): string {
  if (!METHOD.test(method)) return 'mcp'
  const hasName = item !== null && (item.kind === 'tool' || item.kind === 'prompt')
  return hasName ? `${method} ${item.name}` : method
}

/** A message that has its answer. */
export interface AnsweredMessage extends SentMessage {
  readonly errorType: string | undefined
  /** Of the exchange that it was sent for. */
  readonly use: McpUse | null
}

const sentItem =
  (kind: string) =>
  ({ item }: AnsweredMessage): string | undefined =>
    item?.kind === kind ? item.name : undefined

const SENT_ATTRIBUTES: readonly Attribute<AnsweredMessage>[] = [
  ['mcp.method.name', ({ method }) => method],
  ['mcp.session.id', ({ use }) => use?.sessionId],
  ['mcp.protocol.version', ({ use }) => use?.protocolVersion],
  ['gen_ai.operation.name', ({ method }) => (method === 'tools/call' ? 'execute_tool' : undefined)],
  ['gen_ai.tool.name', sentItem('tool')],
  ['gen_ai.prompt.name', sentItem('prompt')],
  ['mcp.resource.uri', sentItem('resource')],
  ['jsonrpc.request.id', ({ requestId }) => requestId || undefined],
  ['error.type', ({ errorType }) => errorType],
  ['weir.mcp.target', ({ target }) => target]
]

export class McpSpans {
  readonly #write: (of: McpUse, out: SpanWriter) => void
  readonly #writeSent: (of: AnsweredMessage, out: SpanWriter) => void

  constructor(skip: ReadonlySet<string>) {
    this.#write = compileAttributes(MCP_ATTRIBUTES, skip)
    this.#writeSent = compileAttributes(SENT_ATTRIBUTES, skip)
  }

  /**
   * Returns the span, valid until the next one is written. `carrier`: the span of the request that has brought the
   * message, where that is not its parent.
   */
  write(out: SpanWriter, ex: Exchange, ids: SpanIds, times: SpanTimes, carrier: TraceIds | null): Buffer {
    const use = ex.mcp!
    out.begin(ids, mcpSpanName(use), SPAN_SERVER, times)
    this.#write(use, out)
    if (carrier !== null) out.link(carrier.traceId, carrier.spanId)
    if (mcpErrorType(use) !== undefined) out.failed(detailOf(ex) ?? '')
    return out.end()
  }

  /** The same, of what was sent to one server, or to the client for one. */
  writeSent(out: SpanWriter, message: AnsweredMessage, ids: SpanIds, times: SpanTimes): Buffer {
    return this.#writeMessage(out, message, SPAN_CLIENT, ids, times, null)
  }

  /** The same, of what has come from a server. `carrier`: as of `write`. */
  writeReceived(
    out: SpanWriter,
    message: AnsweredMessage,
    ids: SpanIds,
    times: SpanTimes,
    carrier: TraceIds | null
  ): Buffer {
    return this.#writeMessage(out, message, SPAN_SERVER, ids, times, carrier)
  }

  #writeMessage(
    out: SpanWriter,
    message: AnsweredMessage,
    kind: number,
    ids: SpanIds,
    times: SpanTimes,
    carrier: TraceIds | null
  ): Buffer {
    out.begin(ids, mcpSpanName(message), kind, times)
    this.#writeSent(message, out)
    if (carrier !== null) out.link(carrier.traceId, carrier.spanId)
    if (message.errorType !== undefined) out.failed('')
    return out.end()
  }
}
