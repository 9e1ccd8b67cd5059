/**
 * Copies of model calls that are sent to another model, measured, and thrown away (docs/routing.md#shadow). A copy is a
 * call of its own, begun behind the one that it copies: that one neither waits for it nor learns what becomes of it.
 */
import type { AiBackend, AiShadow } from '#backends/llm/config/snapshot.ts'
import { KEY_FIELDS } from '#backends/llm/providers/provider.ts'
import type { BackendContext, CompiledBackend } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CallEvents } from '#engine/contract/in-process.ts'
import { isKeptBack } from '#engine/contract/outbound.ts'
import type { Attempts } from './attempts.ts'

/** Copies under way, of one backend in a worker. */
const COPIES_MAX = 64
/** Of their requests. */
const BYTES_MAX = 16 * 1024 * 1024
/** As long as answers of models take; nobody waits for it. */
const TIMEOUT_MS = 600_000

/** Who the client is, to the gateway or to providers: a copy is the gateway's own call. */
const OF_CLIENT = [...KEY_FIELDS, 'cookie', 'proxy-authorization', 'x-retry-attempt']

const IGNORED: Omit<CallEvents, 'end' | 'failed'> = { head() {}, body: () => true }

export class Shadow {
  readonly #share: number
  readonly #service: CompiledBackend
  readonly #context: BackendContext
  readonly #random: () => number
  #copies = 0
  #bytes = 0

  /** `compile`: of the backend that the copies go to. `random`: 0 <= x < 1. */
  constructor(
    { share, provider }: AiShadow,
    backend: AiBackend,
    context: BackendContext,
    compile: (backend: AiBackend, context: BackendContext) => CompiledBackend,
    random: () => number
  ) {
    const { kind, routes, modelAliases, unsupported, silence, prices } = backend
    const stored = { key: null, scope: 'all' } as const
    const only = { kind, routes, modelAliases, unsupported, silence, prices, stored, groups: [[provider]] }
    // A name of its own: what fails here is no reason to leave a provider alone that real calls are for.
    const own = { ...context, name: `${context.name}/shadow` }
    this.#share = share
    this.#service = compile({ ...only, promptGuard: { request: [], response: [] }, policies: {} }, own)
    this.#context = context
    this.#random = random
  }

  /** A call of `ex` begins: it is copied as guards have left it, if it is its turn. */
  begin(ex: Exchange, state: Attempts): void {
    const { chat } = state
    const bytes = ex.requestBytes
    if (chat === null || bytes === null || this.#random() >= this.#share) return
    if (isKeptBack('a copy of the request, to the shadow of the model')) return
    if (this.#copies >= COPIES_MAX || this.#bytes + bytes.length > BYTES_MAX) {
      ex.route?.recorder.callDropped?.('shadow')
      return
    }
    state.hasShadow = true
    this.#copies++
    this.#bytes += bytes.length
    const headers = ex.request.copy()
    for (const name of OF_CLIENT) headers.remove(name)
    const { method, path, query } = ex
    const over = (): void => {
      this.#copies--
      this.#bytes -= bytes.length
    }
    const events = { ...IGNORED, end: over, failed: over }
    const record = { of: ex, purpose: 'shadow' } as const
    // The call itself goes first.
    setImmediate(() => {
      const request = { method, path, query, headers, body: bytes, timeoutMs: TIMEOUT_MS, record }
      this.#context.inProcess.callBackend(this.#service.serve, request, events)
    })
  }
}
