/**
 * The access log: one line per exchange. Names and order of its fields are agentgateway's,
 * so that tools for one read the other.
 *
 * The query is never logged: API keys and session tokens travel in it. Neither is any header.
 */
import type { AccessLogPlan, FieldSink } from '#engine/contract/access-log.ts'
import { detailOf } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type McpUse, mcpErrorType } from '#engine/contract/mcp-use.ts'
import { costText, type ModelUse, totalBasis, totalCost } from '#engine/contract/model-use.ts'
import { requestIdOf } from '#engine/contract/request-id.ts'
import type { RecorderLabels } from '#engine/contract/route.ts'
import { TCP_REASONS, type TcpSession } from '#engine/contract/tcp.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import type { PeerCertificate } from '#engine/contract/transport.ts'
import type { Picos } from '#engine/kit/money.ts'
import { bareField, type FieldValue, field, type LogFormat, milliseconds, timestamp } from './escape.ts'
import { ATOMIC_BYTES, type LineSink } from './line-sink.ts'
import type { Metrics } from './metrics.ts'
import { RepeatedField } from './repeated-field.ts'

/**
 * Bounds of one field. Together they keep a line under 4096 bytes, which is what a pipe takes without splitting it
 * (line-sink.ts): one path, seven names, an id, and about 700 bytes of fixed text; beside models, whose fields need
 * 900 bytes, a shorter path.
 */
const PATH_CHARS_MAX = 1050
const MODEL_PATH_CHARS_MAX = 300
const NAME_CHARS_MAX = 255
const DETAIL_CHARS_MAX = 400
const MODEL_CHARS_MAX = 128
/** Of what TLS tells: names of hosts and workloads are shorter. */
const TLS_CHARS_MAX = 128
/** Name in the log (OpenTelemetry GenAI conventions, in the order of agentgateway), and in ex.llm. */
const MODEL_FIELDS = [
  ['gen_ai.operation.name', 'operation'],
  ['gen_ai.provider.name', 'provider'],
  ['gen_ai.request.model', 'requestModel'],
  ['gen_ai.response.model', 'responseModel'],
  ['gen_ai.usage.input_tokens', 'inputTokens'],
  ['gen_ai.usage.cache_creation.input_tokens', 'cacheCreationInputTokens'],
  ['gen_ai.usage.cache_read.input_tokens', 'cachedInputTokens'],
  ['gen_ai.usage.output_tokens', 'outputTokens'],
  ['gen_ai.usage.reasoning.output_tokens', 'reasoningTokens']
] as const
/** Name in the log of what is asked for (OpenTelemetry MCP conventions), by the kind of McpItem. */
const ITEM_FIELDS: Readonly<Record<string, string | undefined>> = {
  tool: 'gen_ai.tool.name',
  prompt: 'gen_ai.prompt.name',
  resource: 'mcp.resource.uri'
}
/** Parts of the numbers beside them: said when there is something to say. */
const MODEL_DETAILS: ReadonlySet<string> = new Set(['cacheCreationInputTokens', 'cachedInputTokens', 'reasoningTokens'])

/** One attribute of the configuration; together they get what the default fields leave of the line. */
const ATTRIBUTE_CHARS_MAX = 1024
/** What comes after the attributes: duration and the end of the line. */
const END_CHARS_MAX = 48

export class AccessLog implements FieldSink {
  /** False: no line is built. Read by every recorder, switched at run time. */
  enabled: boolean
  readonly #format: LogFormat
  readonly #sink: LineSink
  readonly #metrics: Metrics
  readonly #endpoint: RepeatedField
  readonly #backend: RepeatedField
  readonly #method: RepeatedField
  readonly #host: RepeatedField
  readonly #version: RepeatedField
  readonly #status: RepeatedField
  /** The line that is being built, while attributes are added to it. */
  #line = ''

  constructor(format: LogFormat, sink: LineSink, enabled: boolean, metrics: Metrics) {
    this.#format = format
    this.#sink = sink
    this.#metrics = metrics
    this.enabled = enabled
    const repeated = (name: string) => new RepeatedField(format, name, NAME_CHARS_MAX)
    this.#endpoint = repeated('endpoint')
    this.#backend = repeated('backend')
    this.#method = repeated('http.method')
    this.#host = repeated('http.host')
    this.#version = repeated('http.version')
    this.#status = repeated('http.status')
  }

  /** The fields that are the same for every exchange of a route, made once per recorder. */
  prefix({ listener, route, rule = '' }: RecorderLabels, plan: AccessLogPlan | null): string {
    const skip = plan === null ? null : plan.skip
    const names = this.#named('listener', listener, skip) + this.#named('route', route, skip)
    return rule === '' ? names : names + this.#named('route.rule', rule, skip)
  }

  /** Whether the filter wants a line: not when it fails (docs/specification.md#access-log). */
  wants(ex: Exchange, plan: AccessLogPlan): boolean {
    if (plan.filter === null) return true
    const verdict = plan.filter(ex)
    if (verdict === null) this.#failed('filter', 1)
    return verdict === true
  }

  /** Writes the line of an exchange that is over. `status` and `reason` as in the metrics; reason '' is left out. */
  write(
    ex: Exchange,
    prefix: string,
    status: number,
    reason: string,
    durationMs: number,
    plan: AccessLogPlan | null
  ): void {
    const skip = plan === null ? null : plan.skip
    let line = this.#start() + prefix + this.#fields(ex, status, reason, skip)
    if (plan !== null && plan.attributes !== null) line = this.#withAttributes(ex, line, plan.attributes)
    this.#sink.append(this.#ended(line, durationMs, skip))
  }

  /** Writes the line of a connection whose bytes were passed on. Filter and attributes are about requests. */
  writeTcp(session: TcpSession, prefix: string, durationMs: number, plan: AccessLogPlan | null): void {
    const skip = plan === null ? null : plan.skip
    const { endpoint, backend, reason, detail, attempts } = session
    let line = this.#start() + prefix
    line += this.#named('endpoint', endpoint ?? '', skip) + this.#named('backend', backend ?? '', skip)
    line += this.#named('src.addr', address(session.remoteAddress, session.remotePort), skip)
    line += this.#named('tls.sni', session.serverName, skip) + this.#named('protocol', 'tcp', skip)
    if (reason !== null) {
      line += this.#named('error', detail === '' ? TCP_REASONS[reason] : detail, skip)
      line += this.#named('reason', reason, skip)
    }
    line += this.#plain('bytes.in', session.bytesReceived, skip) + this.#plain('bytes.out', session.bytesSent, skip)
    if (attempts > 1) line += this.#plain('retry.attempt', attempts, skip)
    this.#sink.append(this.#ended(line, durationMs, skip))
  }

  #start(): string {
    const time = timestamp(Date.now())
    return this.#format === 'json'
      ? `{"time":"${time}","level":"info","target":"request"`
      : `time=${time} level=info target=request`
  }

  #ended(line: string, durationMs: number, skip: Skip): string {
    const json = this.#format === 'json'
    const end = json ? '}\n' : '\n'
    if (skip?.has('duration')) return line + end
    const duration = json
      ? `,"duration":${Math.round(durationMs * 1000) / 1000}`
      : ` duration=${milliseconds(durationMs)}ms`
    return line + duration + end
  }

  /** A field of the configuration, for AccessLogPlan.attributes. False: the line has no room for it. */
  add(name: string, value: string | number | boolean | null): boolean {
    const room = ATOMIC_BYTES - END_CHARS_MAX - this.#line.length
    const text = field(this.#format, name, value, ATTRIBUTE_CHARS_MAX)
    if (text.length > room) return false
    this.#line += text
    return true
  }

  #withAttributes(ex: Exchange, line: string, attributes: NonNullable<AccessLogPlan['attributes']>): string {
    this.#line = line
    const failed = attributes(ex, this)
    if (failed > 0) this.#failed('attribute', failed)
    return this.#line
  }

  /** As the OpenTelemetry GenAI conventions name them. */
  #model(llm: ModelUse, skip: Skip): string {
    let out = ''
    for (const [name, key] of MODEL_FIELDS) {
      const value = llm[key]
      if (typeof value === 'string') out += this.#named(name, value.slice(0, MODEL_CHARS_MAX), skip)
      else if (value !== undefined && (value !== 0 || !MODEL_DETAILS.has(key))) out += this.#plain(name, value, skip)
    }
    if (llm.cache !== undefined) out += this.#plain('weir.cache', llm.cache, skip)
    if (llm.continuations !== undefined) out += this.#plain('weir.llm.continuations', llm.continuations, skip)
    const cost = totalCost(llm)
    if (cost !== undefined) out += this.#cost(llm, cost, skip)
    return llm.costUnknown === undefined ? out : out + this.#named('weir.cost.unknown', llm.costUnknown, skip)
  }

  /** The exact amount of all attempts; what it rests on where that is not all of the usage. */
  #cost(llm: ModelUse, cost: Picos, skip: Skip): string {
    const basis = totalBasis(llm) ?? 'usage'
    const out = this.#plain('gen_ai.usage.cost', costText(cost)!, skip)
    return basis === 'usage' ? out : out + this.#named('weir.cost.basis', basis, skip)
  }

  /** As the OpenTelemetry MCP conventions name them, and the target. */
  #tools(use: McpUse, skip: Skip): string {
    const { method, item, errorCode } = use
    const text = (name: string, value: string | undefined): string =>
      value === undefined ? '' : this.#named(name, value.slice(0, MODEL_CHARS_MAX), skip)
    const field = item === null ? undefined : ITEM_FIELDS[item.kind]
    let out = text('mcp.method.name', use.method)
    out += text('mcp.session.id', use.sessionId) + text('mcp.protocol.version', use.protocolVersion)
    out += text('mcp.target', item?.target ?? use.target)
    if (method === 'tools/call') out += text('gen_ai.operation.name', 'execute_tool')
    if (field !== undefined) out += text(field, item?.name)
    out += text('jsonrpc.request.id', use.requestId)
    if (errorCode !== undefined) out += text('rpc.response.status_code', String(errorCode))
    return out + text('error.type', mcpErrorType(use))
  }

  #failed(part: 'filter' | 'attribute', count: number): void {
    this.#metrics.counter('weir_access_log_failures_total', { part }).add(count)
  }

  #fields(ex: Exchange, status: number, reason: string, skip: Skip): string {
    const { client } = ex
    let out = ''
    if (ex.endpoint !== null) out += this.#repeated(this.#endpoint, ex.endpoint, skip)
    if (ex.backend !== null) out += this.#repeated(this.#backend, ex.backend, skip)
    out += this.#named('src.addr', address(client.remoteAddress, client.remotePort), skip)
    const { tls } = client
    if (tls?.peer != null) out += this.#named('src.identity', identityOf(tls.peer), skip)
    out += this.#repeated(this.#method, ex.method, skip)
    out += this.#repeated(this.#host, ex.authority, skip)
    // What was refused before its target was read has none.
    const pathMax = ex.llm === null && ex.mcp === null ? PATH_CHARS_MAX : MODEL_PATH_CHARS_MAX
    if (ex.originalPath !== '' && (skip === null || !skip.has('http.path')))
      out += field(this.#format, 'http.path', ex.originalPath, pathMax)
    out += this.#repeated(this.#version, `HTTP/${client.httpVersion}`, skip)
    out += this.#repeated(this.#status, status, skip)
    if (ex.grpcStatus >= 0) out += this.#plain('grpc.status', ex.grpcStatus, skip)
    if (tls != null) out += this.#named('tls.sni', tls.serverName.slice(0, TLS_CHARS_MAX), skip)
    const trace = ex.slots === null ? null : TRACE.get(ex)
    if (trace !== null) out += this.#plain('trace.id', trace.traceId, skip) + this.#plain('span.id', trace.spanId, skip)
    if (reason !== '') out += this.#reason(ex, reason, skip)
    out += this.#plain('bytes.in', ex.bytesReceived, skip)
    out += this.#plain('bytes.out', ex.bytesSent, skip)
    // What requestIdOf takes from a client needs no escape either.
    if (!skip?.has('request.id')) out += bareField(this.#format, 'request.id', requestIdOf(ex))
    if (ex.attempts > 1) out += this.#plain('retry.attempt', ex.attempts, skip)
    if (ex.llm !== null) out += this.#model(ex.llm, skip)
    if (ex.mcp !== null) out += this.#tools(ex.mcp, skip)
    return out
  }

  #reason(ex: Exchange, reason: string, skip: Skip): string {
    const text = this.#plain('reason', reason, skip)
    const detail = skip?.has('reason.detail') ? null : detailOf(ex)
    return detail === null ? text : text + field(this.#format, 'reason.detail', detail, DETAIL_CHARS_MAX)
  }

  /** Left out when empty. */
  #repeated(kept: RepeatedField, value: string | number, skip: Skip): string {
    return skip?.has(kept.name) ? '' : kept.text(value)
  }

  /** A field that is left out when empty. */
  #named(name: string, value: string, skip: Skip): string {
    return value === '' ? '' : this.#plain(name, value, skip)
  }

  #plain(name: string, value: FieldValue, skip: Skip): string {
    return skip?.has(name) ? '' : field(this.#format, name, value, NAME_CHARS_MAX)
  }
}

/** Names of default fields that the configuration leaves out; null for none. */
type Skip = ReadonlySet<string> | null

/** Who the client's certificate says that it is. */
function identityOf({ subject, subjectAltNames }: PeerCertificate): string {
  return (subjectAltNames.find((name) => name.startsWith('spiffe://')) ?? subject).slice(0, TLS_CHARS_MAX)
}

/** ip:port, with brackets around an IPv6 address; '' for a client without one (unix socket). */
function address(ip: string, port: number): string {
  if (ip === '') return ''
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}
