/** Equal requests get one answer: a kept one, or that of the one that has asked the provider (docs/routing.md). */
import type { AiCache } from '#backends/llm/config/snapshot.ts'
import { LargeRequest } from '#backends/llm/offload/large-request.ts'
import type { Attempts } from '#backends/llm/plan/attempts.ts'
import { keyReader } from '#backends/llm/plan/routing-key.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import { framingOf } from '#backends/llm/stream/framing.ts'
import { wantsList } from '#backends/llm/stream/list-tap.ts'
import { modelRefusal, noteRefusal } from '#backends/llm/usage/spending.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE } from '#engine/contract/filter.ts'
import type { CacheStatus } from '#engine/contract/model-use.ts'
import { isKeptBack } from '#engine/contract/outbound.ts'
import { cacheKey } from './cache-key.ts'
import { isKeepable, keptFor, readKept } from './forms.ts'
import { KeepTap } from './keep-tap.ts'
import { connectCache, SharedStore } from './shared-store.ts'
import { Flight, type Kept, Store } from './store.ts'

type HookResult = ReturnType<AnswerHook>
type Proceed = Parameters<AnswerHook>[1]

const FIELD = 'x-weir-cache'

export class ResponseCache {
  readonly #settings: AiCache
  readonly #context: BackendContext
  readonly #store: Store
  /** Null: other replicas have none of it. */
  readonly #shared: SharedStore | null
  /** Null: no equal one. */
  readonly #keyOf: ((ex: Exchange) => string | null) | null

  constructor(settings: AiCache, context: BackendContext) {
    this.#settings = settings
    this.#context = context
    const { key, bytesMax } = settings
    this.#store = context.state(`ai.cache ${bytesMax}`, () => new Store(bytesMax))
    this.#shared = sharedStore(settings, context)
    if (this.#shared !== null) context.addBackground(this.#shared.use())
    this.#keyOf = key === null ? null : keyReader(key, REQUEST_ROOTS)
  }

  /** True: ex is answered, or waits for what another asks, and `ask` is called if that is of no use. */
  serves(ex: Exchange, state: Attempts, ask: () => void): boolean {
    const chat = this.#cacheable(ex, state)
    if (chat === null) return false
    const refusal = modelRefusal(ex, chat.model)
    if (refusal !== null) {
      this.#context.fail(ex, noteRefusal(ex, refusal))
      return true
    }
    const own = this.#keyOf?.(ex) ?? null
    const wishes = wishesOf(ex)
    if (wishes.isUnstored || (this.#keyOf !== null && own === null)) return false
    const { name: backend } = this.#context
    const key = cacheKey(ex, chat, state.keys, { backend, scope: this.#settings.scope, own })
    const kept = wishes.isFresh ? undefined : this.#store.get(key, performance.now(), this.#settings.ttlMs)
    if (kept !== undefined && this.#reply(ex, chat, kept)) return true
    const flight = this.#store.flights.get(key)
    if (flight === undefined || wishes.isFresh) {
      this.#lead(state, key, wishes.isFresh ? 'bypass' : 'miss', flight === undefined)
      const shared = this.#sharedNow()
      if (wishes.isFresh || shared === null) return false
      this.#look(ex, state, shared.get(key, this.#settings.ttlMs), ask)
      return true
    }
    return this.#wait(ex, state, flight, ask)
  }

  /** Null: there is none that is worth asking. */
  #sharedNow(): SharedStore | null {
    const { server } = this.#settings
    if (server === null || isKeptBack(`the cache at ${server.host}:${server.port}`)) return null
    return this.#shared?.isWorthAsking() === true ? this.#shared : null
  }

  /** Whether another replica has it. Equal requests of this worker wait for the outcome. */
  #look(ex: Exchange, state: Attempts, found: Promise<Kept | null>, ask: () => void): void {
    const { round, flight } = state
    // A timeout may have answered meanwhile, or the client may have gone.
    const isWanted = () => state.round === round && state.flight === flight && ex.response === null && !ex.responseDone
    whenSettled(found, isWanted, (kept) => {
      if (kept === null || !this.#reply(ex, state.chat!, kept)) {
        ask()
        return
      }
      this.#store.set(flight!.key, kept)
      this.#end(state, kept)
    })
  }

  #lead(state: Attempts, key: string, status: CacheStatus, isFirst: boolean): void {
    const flight = new Flight()
    state.flight = { key, status, flight }
    if (isFirst) this.#store.flights.set(key, flight)
  }

  #wait(ex: Exchange, state: Attempts, flight: Flight, ask: () => void): boolean {
    const { round } = state
    return flight.join((kept) => {
      // A timeout may have answered meanwhile or begun an attempt, or the client may have gone.
      if (state.round !== round || ex.response !== null || ex.responseDone) return
      if (kept === null || !this.#reply(ex, state.chat!, kept)) ask()
    })
  }

  /** Null: its answer is not looked for, and not kept. */
  #cacheable({ upgrade }: Exchange, { chat }: Attempts): ChatRequest | null {
    // A large body is not parsed in this thread; several answers at once, or a list, have no other form.
    if (chat === null || chat instanceof LargeRequest || upgrade !== null) return null
    return chat.count > 1 || wantsList(chat) ? null : chat
  }

  /** False: it cannot be said in the form that is wanted. */
  #reply(ex: Exchange, chat: ChatRequest, kept: Kept): boolean {
    const body = bytesFor(kept, chat)
    if (body === null) return false
    const { usage, provider, requestModel, responseModel } = kept
    ex.llm = {
      ...{ provider, requestModel, responseModel, operation: 'chat', streaming: chat.isStreamed, cache: 'hit' },
      ...(usage === null ? {} : { inputTokens: usage.input, outputTokens: usage.output }),
      ...(usage === null ? {} : { totalTokens: usage.input + usage.output }),
      cost: 0
    }
    const ageS = Math.floor((performance.now() - kept.at) / 1_000)
    const contentType = chat.isStreamed ? 'text/event-stream' : 'application/json'
    const headers = [FIELD, 'hit', 'Age', String(ageS)]
    this.#context.reply(ex, { status: 200, body, contentType, headers })
    return true
  }

  /** Around what makes the client's answer: says whether it was looked for, and keeps it where others may have it. */
  keeps(ex: Exchange, state: Attempts, proceed: Proceed, translate: (proceed: Proceed) => HookResult): HookResult {
    const { flight } = state
    const status = flight?.status ?? 'bypass'
    ex.response!.set(FIELD, status)
    if (ex.llm !== null) ex.llm = { ...ex.llm, cache: status }
    if (flight === null) return translate(proceed)
    const made = translate((over) => {
      this.#keepWhole(over, state)
      proceed(over)
    })
    if (made === CONTINUE) this.#keepMade(ex, state)
    if (!(made instanceof Promise)) return made
    return made.then((verdict) => {
      if (verdict === CONTINUE) this.#keepMade(ex, state)
      return verdict
    })
  }

  /** It is here, or comes through a tap. */
  #keepMade(ex: Exchange, state: Attempts): void {
    if (ex.tap === null) this.#keepWhole(ex, state)
    else if (ex.status === 200 && state.tap !== null) {
      const inner = ex.tap as CostTap
      ex.tap = new KeepTap(inner, this.#settings.entryBytesMax, (bytes) => this.#keep(ex, state, bytes, true))
    }
  }

  #keepWhole(ex: Exchange, state: Attempts): void {
    const { responseBytes: bytes, response, status } = ex
    if (status !== 200 || bytes === null || response === null || ex.localReply !== null) return
    // Guards have kept a stream whole.
    this.#keep(ex, state, bytes, framingOf(response.get('content-type') ?? '') !== null)
  }

  #keep({ llm }: Exchange, state: Attempts, bytes: Buffer, isStream: boolean): void {
    const { entryBytesMax, keepsToolCalls } = this.#settings
    const { chat, tap, flight } = state
    if (flight === null || chat === null || bytes.length > entryBytesMax) return
    const form = { format: chat.client, isStream, bytes }
    const kept: Kept | null = isKeepable(form, keepsToolCalls)
      ? {
          ...form,
          // What is kept must not be part of a larger buffer.
          bytes: Buffer.from(bytes),
          hasUsage: chat.wantsUsage,
          usage: tap?.cost.usage ?? readKept(form).usage,
          provider: llm?.provider,
          requestModel: llm?.requestModel,
          responseModel: tap?.cost.model ?? llm?.responseModel,
          at: performance.now()
        }
      : null
    if (kept !== null) {
      this.#store.set(flight.key, kept)
      this.#shared?.set(flight.key, kept, this.#settings.ttlMs)
    }
    this.#end(state, kept)
  }

  /** The exchange is over: who waits for what it has not brought asks alone. */
  over(state: Attempts): void {
    this.#end(state, null)
  }

  #end(state: Attempts, kept: Kept | null): void {
    const { flight: led } = state
    if (led === null) return
    state.flight = null
    if (this.#store.flights.get(led.key) === led.flight) this.#store.flights.delete(led.key)
    led.flight.end(kept)
  }
}

/** One for each server, kept over reloads. */
function sharedStore({ server, entryBytesMax }: AiCache, { state, log }: BackendContext): SharedStore | null {
  if (server === null) return null
  const connect = async (lost: (error: Error) => void) => await connectCache(server, lost)
  return state(
    `ai.cache server ${JSON.stringify(server)} ${entryBytesMax}`,
    () => new SharedStore({ connect, entryBytesMax, timeoutMs: server.timeoutMs, log })
  )
}

function bytesFor(kept: Kept, chat: ChatRequest): Buffer | null {
  try {
    return keptFor(kept, chat)
  } catch {
    // A part that only its own form can say: the provider is asked.
    return null
  }
}

/** What the client says of caches (RFC 9111 section 5.2.1). */
function wishesOf({ request }: Exchange): { readonly isUnstored: boolean; readonly isFresh: boolean } {
  const words = (request.get('cache-control') ?? '')
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
  return { isUnstored: words.includes('no-store'), isFresh: words.includes('no-cache') || words.includes('max-age=0') }
}
