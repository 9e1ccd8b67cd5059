/**
 * A target that is an HTTP API with an OpenAPI document. The gateway is the MCP server: each call of a tool becomes one
 * HTTP request. It has no sessions, sends nothing on its own, and has no methods but those of tools.
 */

import {
  errorResponse,
  INVALID_PARAMS,
  isObject,
  type JsonObject,
  METHOD_NOT_FOUND,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { agreedVersion } from '#backends/mcp/protocol/revisions.ts'
import type { TargetKind } from '#backends/mcp/targets/kind.ts'
import type {
  Link,
  LinkEvents,
  LinkFailure,
  LinkOptions,
  ListenEvents,
  StaticItem,
  Target
} from '#backends/mcp/targets/target.ts'
import { callerFor, type StartCall } from '#backends/shared/auth/authenticated-call.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { configuredEndpoint } from '#engine/contract/backend-transport/endpoint.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { compiledApi } from './api.ts'
import { CallExchange, later } from './call.ts'
import { type McpApi, type McpOpenApiTarget, openApiKey } from './config.ts'
import type { Plan } from './plan.ts'
import { type WrittenRequest, writeRequest } from './request.ts'
import { toolError } from './result.ts'
import { ArgumentError } from './serialize.ts'

/** Bounds of a page of tools/list: tools, and characters; 512 Ki take some 3 ms to parse. */
const PAGE_TOOLS = 200
const PAGE_CHARS = 512 * 1024
/** Fields that describe the client's own message. */
const NOT_FORWARDED = ['host', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'cookie']
const REPLACED = ['accept', 'accept-encoding', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Path of a target in the Snapshot, for messages. */
const placeOf = (backend: string, { name }: McpOpenApiTarget): string => `backends.${backend}.targets["${name}"]`

export const openApiKind: TargetKind<McpOpenApiTarget> = {
  kind: 'openapi',
  key: openApiKey,
  traits: { keepsLink: false, sessions: 'never', era: 'stateful', isProcess: false },
  compile: (target, { messageBytesMax }, context) => new OpenApiTarget(target, messageBytesMax, context),
  /** Replaces the document by its tools. */
  prepare(target, { name, warn }) {
    if (target.document === null) return target
    const { api, warnings } = compiledApi(target, placeOf(name, target))
    for (const warning of warnings) warn(warning)
    return { ...target, document: null, api }
  }
}

class OpenApiTarget implements Target {
  readonly traits = openApiKind.traits
  readonly name: string
  readonly config: McpOpenApiTarget
  readonly messageBytesMax: number
  readonly context: BackendContext
  readonly endpoint: Endpoint
  readonly ask: StartCall
  readonly api: McpApi
  readonly facts: JsonObject
  readonly staticLists: ReadonlyMap<string, readonly StaticItem[]>
  readonly #plans = new Map<string, string | Plan>()

  constructor(config: McpOpenApiTarget, messageBytesMax: number, context: BackendContext) {
    this.name = config.name
    this.config = config
    this.messageBytesMax = messageBytesMax
    this.context = context
    this.api = config.api ?? compiledApi(config, placeOf(context.name, config)).api
    this.facts = JSON.parse(this.api.facts) as JsonObject
    for (const { name, plan } of this.api.tools) this.#plans.set(name, plan)
    this.staticLists = new Map([['tools/list', this.api.tools.map(({ name, tool }) => ({ name, json: tool }))]])
    this.endpoint = configuredEndpoint(config, context)
    this.ask = callerFor(config.auth, config, this.endpoint, context)
  }

  /** Parsed at the first call of the tool; undefined: no such tool. */
  planOf(name: string): Plan | undefined {
    const known = this.#plans.get(name)
    if (typeof known !== 'string') return known
    const plan = JSON.parse(known) as Plan
    this.#plans.set(name, plan)
    return plan
  }

  open(options: LinkOptions): Link {
    return new OpenApiLink(this, options)
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
    const { facts, api } = this.#target
    if (method === 'initialize') {
      return { jsonrpc: '2.0', id, result: { protocolVersion: agreedVersion(params?.protocolVersion), ...facts } }
    }
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
    if (method === 'tools/list') return listPage(id, api.tools, params?.cursor)
    return errorResponse(id, METHOD_NOT_FOUND, 'Method not found')
  }

  #call(message: RpcRequest, events: LinkEvents, timeoutMs: number): () => void {
    const { id, params } = message
    const name = params?.name
    const args = params?.arguments ?? {}
    const operation = typeof name === 'string' ? this.#target.planOf(name) : undefined
    const answer = (response: RpcResponse): (() => void) => later(() => events.answered(response))
    if (operation === undefined) return answer(errorResponse(id, INVALID_PARAMS, 'Unknown tool'))
    if (!isObject(args)) {
      return answer(errorResponse(id, INVALID_PARAMS, 'arguments: an object'))
    }
    const headers = this.#fields()
    let written: WrittenRequest
    try {
      written = writeRequest(operation, args, this.#target.config.pathPrefix, headers)
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error
      // A tool error, not a protocol error: models see those, and can correct the call.
      return answer({ jsonrpc: '2.0', id, result: toolError(error.message) })
    }
    return this.#send(id, { written, headers, timeoutMs }, events)
  }

  /** Forwarded fields of the client, and the target's own. */
  #fields(): HeaderBlock {
    const headers = this.#headers.copy()
    for (const name of [...NOT_FORWARDED, ...REPLACED]) headers.remove(name)
    headers.append('Accept', 'application/json, text/*;q=0.9, */*;q=0.8')
    headers.append('Accept-Encoding', 'identity')
    return headers
  }

  #send(id: RpcRequest['id'], { written, headers, timeoutMs }: Sent, events: LinkEvents): () => void {
    const { ask, endpoint, config, messageBytesMax } = this.#target
    const uri = `${config.hasTls ? 'https' : 'http'}://${endpoint.hostHeader}${written.path}${written.query}`
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
    exchange.begun(ask({ ...written, headers, timeoutMs }, exchange))
    return stop
  }
}

interface Sent {
  readonly written: WrittenRequest
  readonly headers: HeaderBlock
  readonly timeoutMs: number
}

/** A cursor is the index of a tool: the list never changes. */
function listPage(id: RpcRequest['id'], tools: McpApi['tools'], cursor: unknown): RpcResponse {
  const isFirst = cursor === undefined || cursor === null
  const start = isFirst ? 0 : Number(typeof cursor === 'string' && /^\d{1,6}$/.test(cursor) ? cursor : Number.NaN)
  if (Number.isNaN(start) || (start >= tools.length && !isFirst))
    return errorResponse(id, INVALID_PARAMS, 'Unknown cursor')
  const page: JsonObject[] = []
  let chars = 0
  for (let i = start; i < tools.length && page.length < PAGE_TOOLS && chars < PAGE_CHARS; i++) {
    chars += tools[i]!.tool.length
    page.push(JSON.parse(tools[i]!.tool) as JsonObject)
  }
  const end = start + page.length
  const next = end < tools.length ? { nextCursor: String(end) } : {}
  return { jsonrpc: '2.0', id, result: { tools: page, ...next } }
}
