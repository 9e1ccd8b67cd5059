/**
 * Equal requests get one answer: a kept one, or that of the one that has asked the provider (docs/routing.md). So do
 * like ones, where the configuration says so.
 */
import type { AiBackend, AiCache } from '#backends/llm/config/snapshot.ts'
import { LargeRequest } from '#backends/llm/offload/large-request.ts'
import type { Attempts } from '#backends/llm/plan/attempts.ts'
import { keyReader } from '#backends/llm/plan/routing-key.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { CostTap } from '#backends/llm/stream/cost-tap.ts'
import { framingOf } from '#backends/llm/stream/framing.ts'
import { wantsList } from '#backends/llm/stream/list-tap.ts'
import { modelRefusal, noteRefusal } from '#backends/llm/usage/spending.ts'
import { tokensOf } from '#backends/llm/usage/usage-record.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE } from '#engine/contract/filter.ts'
import { asksWhyDrawn, MODEL_ROUTING, type ModelRouting } from '#engine/contract/model-routing.ts'
import type { CacheStatus } from '#engine/contract/model-use.ts'
import { isKeptBack } from '#engine/contract/outbound.ts'
import { cacheKey } from './cache-key.ts'
import { isKeepable, keptFor, readKept } from './forms.ts'
import { KeepTap } from './keep-tap.ts'
import type { CompileAi } from './semantic/embedder.ts'
import { SemanticCache } from './semantic/semantic-cache.ts'
import type { LikeQuestion } from './semantic/value.ts'
import { connectCache, SharedStore } from './shared-store.ts'
import { Flight, type Kept, Store } from './store.ts'

type HookResult = ReturnType<AnswerHook>
type Proceed = Parameters<AnswerHook>[1]

const FIELD = 'x-weir-cache'
const SIMILARITY_FIELD = 'x-weir-cache-similarity'
const SIMILARITY_PLACES = 4

export class ResponseCache {
  readonly #settings: AiCache
  readonly #context: BackendContext
  readonly #store: Store
  /** Null: other replicas have none of it. */
  readonly #shared: SharedStore | null
  /** Null: there are no answers to like questions. */
  readonly #semantic: SemanticCache | null
  /** Null: no equal one. */
  readonly #keyOf: ((ex: Exchange) => string | null) | null

  /** `compile`: of a backend that asks a model of the file. */
  constructor(settings: AiCache, backend: AiBackend, context: BackendContext, compile: CompileAi) {
    this.#settings = settings
    this.#context = context
    const { key, bytesMax, semantic } = settings
    this.#store = context.state(`ai.cache ${bytesMax}`, () => new Store(bytesMax))
    this.#shared = sharedStore(settings, context)
    if (this.#shared !== null) context.addBackground(this.#shared.use())
    this.#semantic = semantic === null ? null : new SemanticCache(semantic, settings, backend, context, compile)
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
    const kept = wishes.isFresh ? null : this.#known(key)
    if (kept !== null && this.#reply(ex, chat, kept)) return true
    const flight = this.#store.flights.get(key)
    if (flight !== undefined && !wishes.isFresh) return this.#wait(ex, state, flight, ask)
    const like = wishes.isFresh ? null : (this.#semantic?.questionOf(ex, chat, state.keys) ?? null)
    this.#lead(state, { key, status: wishes.isFresh ? 'bypass' : 'miss', like }, flight === undefined)
    const found = wishes.isFresh ? null : this.#find(ex, key, like)
    if (found === null) return false
    this.#look(ex, state, found, ask)
    return true
  }

  /** What this worker has; null: nothing that may still be said. */
  #known(key: string): Kept | null {
    const now = performance.now()
    const kept = this.#store.get(key, now, this.#settings.ttlMs) ?? null
    // Answers to like questions are those of a configuration that allows them.
    const isAllowed = kept?.similarity === undefined || this.#semantic?.accepts(kept, now) === true
    return isAllowed ? kept : null
  }

  /** Looks for it elsewhere: the answer to an equal request, and then that to a like one. Null: nobody to ask. */
  #find(ex: Exchange, key: string, like: LikeQuestion | null): Promise<Kept | null> | null {
    const shared = this.#sharedNow()?.get(key, this.#settings.ttlMs) ?? null
    const semantic = this.#semantic
    if (semantic === null || like === null) return shared
    return shared === null ? semantic.find(ex, like) : shared.then((kept) => kept ?? semantic.find(ex, like))
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

  #lead(state: Attempts, lead: Omit<NonNullable<Attempts['flight']>, 'flight'>, isFirst: boolean): void {
    const flight = new Flight()
    state.flight = { ...lead, flight }
    if (isFirst) this.#store.flights.set(lead.key, flight)
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
    const { usage, provider, requestModel, responseModel, similarity } = kept
    const cache: CacheStatus = similarity === undefined ? 'hit' : 'semantic'
    ex.llm = {
      ...{ provider, clientModel: chat.model || undefined, requestModel, responseModel },
      ...{ operation: 'chat', streaming: chat.isStreamed, cache },
      ...(usage === null ? {} : tokensOf(usage)),
      cost: 0
    }
    const ageS = Math.floor((performance.now() - kept.at) / 1_000)
    const contentType = chat.isStreamed ? 'text/event-stream' : 'application/json'
    const headers = [FIELD, cache, 'Age', String(ageS)]
    if (similarity !== undefined) headers.push(SIMILARITY_FIELD, similarity.toFixed(SIMILARITY_PLACES))
    if (asksWhyDrawn(ex)) MODEL_ROUTING.set(ex, whyKept(kept, ageS))
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
      if (flight.like !== null) this.#semantic?.keep(flight.like, kept)
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

/** Nobody was drawn: in place of that. */
function whyKept({ similarity, requestModel = '' }: Kept, ageS: number): ModelRouting {
  const target = { strategy: 'cache', target: requestModel, candidates: 0, excluded: [] }
  if (similarity === undefined) return { ...target, reason: `an equal request was answered ${ageS} s ago` }
  const figure = Number(similarity.toFixed(SIMILARITY_PLACES))
  return { ...target, figure, reason: `a like question was answered ${ageS} s ago` }
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
