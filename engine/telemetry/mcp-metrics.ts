/**
 * The metric of requests to MCP servers, by the OpenTelemetry semantic conventions for MCP (gen-ai/mcp,
 * mcp.server.operation.duration), with the name as Prometheus writes it; and the target as a label of our own.
 *
 * Clients choose names of tools and prompts. A name becomes a label value once its target has answered to it, and only
 * so many of them, per route and in all: whatever else is asked for is counted under "other".
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { mcpErrorType } from '#engine/contract/mcp-use.ts'
import type { Histogram, Metrics } from './metrics.ts'

/** Names with labels of their own: per worker, and per route. */
const NAMES_MAX = 512
const ROUTE_NAMES_MAX = 256
/** Error types of one worker; the rest share the conventions' word for it. */
const ERROR_TYPES_MAX = 32
const NAME_CHARS_MAX = 128
const OTHER = 'other'
const OTHER_ERROR = '_OTHER'

/** Of all revisions up to 2026-07-28. */
const METHODS: ReadonlySet<string> = new Set([
  ...['initialize', 'ping', 'completion/complete', 'logging/setLevel', 'server/discover', 'subscriptions/listen'],
  ...['tools/list', 'tools/call', 'prompts/list', 'prompts/get'],
  ...['resources/list', 'resources/templates/list', 'resources/read', 'resources/subscribe', 'resources/unsubscribe'],
  ...['tasks/get', 'tasks/list', 'tasks/result', 'tasks/cancel', 'tasks/update'],
  ...['notifications/initialized', 'notifications/cancelled', 'notifications/progress'],
  ...['notifications/roots/list_changed']
])

/** Of one worker. */
export class McpMetrics {
  readonly #metrics: Metrics
  readonly #series = new Map<string, Histogram>()
  /** Names that have labels of their own, by route, and all of them with their targets. */
  readonly #counts = new Map<string, number>()
  readonly #named = new Set<string>()
  readonly #errors = new Set<string>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** `status` of the exchange; ex.mcp is there. What is no message (a stream that listens) is not counted. */
  record(ex: Exchange, route: string, status: number, durationMs: number): void {
    const use = ex.mcp!
    if (use.method === undefined) return
    const method = METHODS.has(use.method) ? use.method : OTHER
    const failed = mcpErrorType(use) ?? ex.error ?? (status >= 400 ? String(status) : '')
    const error = this.#errorOf(failed)
    const { item } = use
    // Targets come from the configuration, so they are few; an unknown item has no target.
    const target = item?.target ?? use.target ?? ''
    const isTool = item?.kind === 'tool'
    // A tool that says that it has failed is one.
    const isThere = failed === '' || use.hasToolError === true
    const name = isTool || item?.kind === 'prompt' ? this.#nameOf(route, target, item.kind, item.name, isThere) : ''
    this.#histogram({
      route,
      mcp_method_name: method,
      target,
      gen_ai_tool_name: isTool ? name : '',
      gen_ai_prompt_name: isTool ? '' : name,
      error_type: error
    }).observe(durationMs / 1000)
  }

  #errorOf(type: string): string {
    if (type === '' || this.#errors.has(type)) return type
    if (this.#errors.size >= ERROR_TYPES_MAX) return OTHER_ERROR
    this.#errors.add(type)
    return type
  }

  #nameOf(route: string, target: string, kind: string, rawName: string, isThere: boolean): string {
    const name = rawName.slice(0, NAME_CHARS_MAX)
    const key = JSON.stringify([route, target, kind, name])
    if (this.#named.has(key)) return name
    const count = this.#counts.get(route) ?? 0
    if (!isThere || count >= ROUTE_NAMES_MAX || this.#named.size >= NAMES_MAX) return OTHER
    this.#counts.set(route, count + 1)
    this.#named.add(key)
    return name
  }

  #histogram(labels: Readonly<Record<Label, string>>): Histogram {
    // No name can be taken for two: JSON keeps them apart.
    const key = JSON.stringify(Object.values(labels))
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const made = this.#metrics.histogram('mcp_server_operation_duration_seconds', labels)
    this.#series.set(key, made)
    return made
  }
}

type Label = 'route' | 'mcp_method_name' | 'target' | 'gen_ai_tool_name' | 'gen_ai_prompt_name' | 'error_type'
