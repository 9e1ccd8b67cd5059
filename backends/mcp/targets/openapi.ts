/**
 * A target that is no MCP server but an HTTP API with an OpenAPI document: the gateway answers for it, and each call of
 * a tool becomes one request. It has no sessions, nothing to say unasked, and no other methods than those of tools.
 */

import {
  INVALID_PARAMS,
  type JsonObject,
  METHOD_NOT_FOUND,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/rpc.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/target.ts'
import type { BackendContext, Endpoint } from '#engine/contract/backend.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { McpOpenApiTarget } from '#engine/ir/snapshot.ts'
import { endpointOptions } from '#engine/ir/transport.ts'
import { CallExchange, later } from './openapi/call.ts'
import { compiledOperations } from './openapi/compiled.ts'
import { Document } from './openapi/document.ts'
import type { Operation } from './openapi/operation.ts'
import { type Written, writeRequest } from './openapi/request.ts'
import { toolError } from './openapi/result.ts'
import { ArgumentError } from './openapi/serialize.ts'

/** Tools in one answer to tools/list. */
const PAGE_TOOLS = 200
const INSTRUCTIONS_CHARS_MAX = 2048
/** Revisions that begin with `initialize`; the newest is offered to clients of others. */
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
/** Of the client's fields, these describe its own message. */
const NOT_FORWARDED = ['host', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'cookie']
const REPLACED = ['accept', 'accept-encoding', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** `messageBytesMax`: bytes of one answer of the API. Throws ConfigError where the document cannot be served. */
export function openApiTarget(given: McpOpenApiTarget, messageBytesMax: number, context: BackendContext): Target {
  return new OpenApiTarget(given, messageBytesMax, context)
}

class OpenApiTarget implements Target {
  readonly kind = 'openapi'
  readonly name: string
  readonly given: McpOpenApiTarget
  readonly messageBytesMax: number
  readonly context: BackendContext
  readonly endpoint: Endpoint
  readonly operations: ReadonlyMap<string, Operation>
  readonly tools: readonly JsonObject[]
  readonly facts: JsonObject

  constructor(given: McpOpenApiTarget, messageBytesMax: number, context: BackendContext) {
    const place = `backends.${context.name}.targets["${given.name}"].document`
    const document = new Document(given.document, place)
    const { byName, skipped } = compiledOperations(document, given.auth?.header.toLowerCase() ?? null)
    for (const one of skipped) context.log('warn', `${place}.${one}: left out`)
    this.name = given.name
    this.given = given
    this.messageBytesMax = messageBytesMax
    this.context = context
    this.operations = byName
    this.tools = [...byName.values()].map(({ tool }) => tool)
    this.facts = factsOf(document)
    const { host, port, hasTls } = given
    // The address comes from the configuration, so it needs no guard.
    const base = { guarded: false, allow: [], connectTimeoutMs: context.connectTimeoutMs }
    const options = endpointOptions({ host, hasTls }, given.transport, base)
    this.endpoint = context.upstream.endpoint({ host, port, unixPath: null }, options)
  }

  open(options: LinkOptions): Link {
    return new OpenApiLink(this, options)
  }
}

/** What `initialize` says, but for the revision. */
function factsOf({ root }: Document): JsonObject {
  const info = (typeof root.info === 'object' && root.info !== null ? root.info : {}) as Record<string, unknown>
  const text = (value: unknown, charsMax: number): string | null =>
    typeof value === 'string' && value !== '' ? value.slice(0, charsMax).toWellFormed() : null
  const instructions = text(info.description, INSTRUCTIONS_CHARS_MAX)
  return {
    capabilities: { tools: {} },
    serverInfo: { name: text(info.title, 128) ?? 'openapi', version: text(info.version, 64) ?? '0' },
    ...(instructions === null ? {} : { instructions })
  }
}

class OpenApiLink implements Link {
  readonly upstreamSession = null
  readonly #target: OpenApiTarget
  readonly #headers: HeaderBlock
  readonly #running = new Set<() => void>()

  constructor(target: OpenApiTarget, { headers }: LinkOptions) {
    this.#target = target
    this.#headers = headers
  }

  setVersion(): void {}

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    if (message.method === 'tools/call') return this.#call(message, events, timeoutMs)
    return later(() => events.answered(this.#answer(message)))
  }

  async send(): Promise<LinkFailure | null> {
    return null
  }

  listen(_lastEventId: string | null, events: ListenEvents): () => void {
    return later(() => events.ended(null))
  }

  close(): void {
    for (const stop of this.#running) stop()
    this.#running.clear()
  }

  release(): void {}

  #answer({ id, method, params }: RpcRequest): RpcResponse {
    const { facts, tools } = this.#target
    if (method === 'initialize') {
      const wanted = params?.protocolVersion
      const protocolVersion = REVISIONS.find((revision) => revision === wanted) ?? REVISIONS[0]!
      return { jsonrpc: '2.0', id, result: { protocolVersion, ...facts } }
    }
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
    if (method === 'tools/list') return listPage(id, tools, params?.cursor)
    return fault(id, METHOD_NOT_FOUND, 'Method not found')
  }

  #call(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { id, params } = message
    const name = params?.name
    const given = params?.arguments ?? {}
    const operation = typeof name === 'string' ? this.#target.operations.get(name) : undefined
    const answer = (response: RpcResponse): (() => void) => later(() => events.answered(response))
    if (operation === undefined) return answer(fault(id, INVALID_PARAMS, 'Unknown tool'))
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      return answer(fault(id, INVALID_PARAMS, 'arguments: an object'))
    }
    const headers = this.#fields()
    let written: Written
    try {
      written = writeRequest(operation, given as JsonObject, this.#target.given.pathPrefix, headers)
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error
      // An error of the tool, not of the protocol: models are shown those, and try again.
      return answer({ jsonrpc: '2.0', id, result: toolError(error.message) })
    }
    return this.#send(id, { written, headers, timeoutMs }, events)
  }

  /** Those of the client that the configuration lets through, and the target's own. */
  #fields(): HeaderBlock {
    const headers = this.#headers.copy()
    for (const name of [...NOT_FORWARDED, ...REPLACED]) headers.remove(name)
    headers.append('Accept', 'application/json, text/*;q=0.9, */*;q=0.8')
    headers.append('Accept-Encoding', 'identity')
    const { auth } = this.#target.given
    if (auth !== null) headers.set(auth.header, auth.value)
    return headers
  }

  #send(id: RpcRequest['id'], { written, headers, timeoutMs }: Sent, events: LinkEvents): () => void {
    const { context, endpoint, given, messageBytesMax } = this.#target
    const uri = `${given.hasTls ? 'https' : 'http'}://${endpoint.hostHeader}${written.path}${written.query}`
    const over = (): void => {
      this.#running.delete(stop)
    }
    const exchange = new CallExchange(messageBytesMax, uri, {
      answered(result) {
        over()
        events.answered({ jsonrpc: '2.0', id, result })
      },
      failed(failure) {
        over()
        events.failed(failure)
      }
    })
    const stop = (): void => {
      over()
      exchange.abort()
    }
    this.#running.add(stop)
    exchange.begun(context.inProcess.call(endpoint, { ...written, headers, timeoutMs }, exchange))
    return stop
  }
}

interface Sent {
  readonly written: Written
  readonly headers: HeaderBlock
  readonly timeoutMs: number
}

function fault(id: RpcRequest['id'], code: number, message: string): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

/** Cursors are the numbers of tools: the list never changes. */
function listPage(id: RpcRequest['id'], tools: readonly JsonObject[], cursor: unknown): RpcResponse {
  const isFirst = cursor === undefined || cursor === null
  const start = isFirst ? 0 : Number(typeof cursor === 'string' && /^\d{1,6}$/.test(cursor) ? cursor : Number.NaN)
  if (Number.isNaN(start) || (start >= tools.length && !isFirst)) return fault(id, INVALID_PARAMS, 'Unknown cursor')
  const end = start + PAGE_TOOLS
  const next = end < tools.length ? { nextCursor: String(end) } : {}
  return { jsonrpc: '2.0', id, result: { tools: tools.slice(start, end), ...next } }
}
