/**
 * Who goes on with a stream that breaks (docs/routing.md#streams-that-break): another provider of the backend that
 * takes the beginning of an answer. It is asked in a call of its own, whose answer takes the place of the rest.
 */
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { ChatEvent, ClientFormat, JsonObject } from '#backends/llm/conversation.ts'
import type { WireEvent } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { LargeRequest } from '#backends/llm/offload/large-request.ts'
import { KEY_FIELDS } from '#backends/llm/providers/provider.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import { continuedBody, mayBeContinued } from '#backends/llm/request/continued-request.ts'
import type { Broken } from '#backends/llm/stream/continuing-tap.ts'
import { isSse, sseFraming } from '#backends/llm/stream/framing.ts'
import { wantsList } from '#backends/llm/stream/list-tap.ts'
import { closeAttempt } from '#backends/llm/usage/spending.ts'
import { settleUsage } from '#backends/llm/usage/usage-record.ts'
import type { BackendContext, CompiledBackend } from '#engine/contract/backend.ts'
import { sendResponse } from '#engine/contract/body-processor.ts'
import { charge } from '#engine/contract/buckets.ts'
import { type Exchange, STEP_SENDING } from '#engine/contract/exchange.ts'
import type { Answer, Call, CallRequest } from '#engine/contract/in-process.ts'
import { asksWhyDrawn, MODEL_ROUTING } from '#engine/contract/model-routing.ts'
import { costlyAttempt, type ModelUse } from '#engine/contract/model-use.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { Attempts } from './attempts.ts'
import type { ProviderSlot } from './balancer.ts'
import type { ProviderPool } from './provider-pool.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import { takesBeginning } from './request-plan.ts'
import { shownName } from './why-drawn.ts'

type Slot = ProviderSlot<ProviderRuntime>

/** Clients skip comments; who looks at a stream sees where another one goes on. */
const MARK = Buffer.from(': another provider goes on\n\n')

/** Fields that are about the client's own connection and body, or show who it is to the gateway. */
const LEFT_OUT = [...KEY_FIELDS, 'cookie', 'proxy-authorization', 'x-retry-attempt', 'expect', 'transfer-encoding']

/** One stream, as it was asked for: bodies are let go when the answer begins. */
interface Continuable {
  readonly client: ClientFormat
  readonly model: string
  readonly body: JsonObject
  readonly head: Pick<CallRequest, 'method' | 'path' | 'query' | 'headers'>
  /** Its client takes comments. */
  readonly takesMarks: boolean
}

interface ContinuationOptions {
  readonly backend: AiBackend
  readonly context: BackendContext
  /** All providers of the backend, in the order of their priority. */
  readonly slots: readonly Slot[]
  readonly compile: (backend: AiBackend, context: BackendContext) => CompiledBackend
  /** 0 <= x < 1. */
  readonly random: () => number
}

export class Continuation {
  readonly #options: ContinuationOptions
  readonly #services = new Map<Slot, CompiledBackend>()

  constructor(options: ContinuationOptions) {
    this.#options = options
  }

  /** What goes on with the stream of `ex` when it breaks; null: nobody could go on with an answer to its request. */
  goOnFor(ex: Exchange, state: Attempts, chat: ChatRequest): ((broken: Broken) => boolean) | null {
    const request = ex.status === 200 ? this.#continuable(state, chat) : null
    return request === null ? null : (broken) => this.#begin(ex, state, request, broken)
  }

  #continuable({ original }: Attempts, chat: ChatRequest): Continuable | null {
    const { client, model, body } = chat
    if (chat instanceof LargeRequest || original === null || !chat.isStreamed || chat.count > 1) return null
    if (!mayBeContinued(client, body)) return null
    return { client, model, body, head: original.head, takesMarks: !wantsList(chat) }
  }

  /** True: it is gone on with. */
  #begin(ex: Exchange, state: Attempts, request: Continuable, broken: Broken): boolean {
    const { backend } = this.#options
    if (broken.soFar.hasStopped) {
      this.#complete(ex, broken)
      return true
    }
    if (state.continuations >= (backend.continuations ?? 0)) return false
    const { text, pieceCount } = broken.soFar
    const body = continuedBody(request.client, request.body, { text, tokens: pieceCount })
    const slot = this.#next(state, request, text.trimEnd() !== '')
    // Its last budget of attempts counts them as others.
    if (slot === null || body === null || ex.route?.retry?.budget.take(turnStartedAt) === false) return false
    this.#leave(ex, state, broken)
    state.continuations++
    if (asksWhyDrawn(ex)) noteContinuing(ex, state, slot)
    state.tried.push(slot)
    this.#ask(ex, state, request, { slot, body, broken })
    return true
  }

  #next({ tried }: Attempts, { client, model }: Continuable, hasText: boolean): Slot | null {
    const now = performance.now()
    const takes = ({ provider }: Slot) => !hasText || takesBeginning(provider, client, model)
    // Who shows what the client has shown would have to be shown it once more.
    const isFree = (slot: Slot) =>
      slot.isUp() && slot.health.breaker.allows(now) && !slot.provider.authenticator.wantsClient
    return this.#options.slots.find((slot) => !tried.includes(slot) && isFree(slot) && takes(slot)) ?? null
  }

  /** The provider that has broken off is paid for what it has said, and rests. */
  #leave(ex: Exchange, state: Attempts, { cost }: Broken): void {
    state.attempt?.broke(performance.now(), this.#options.random())
    if (state.isSettled) return
    state.isSettled = true
    const { usage, model, serviceTier, pieceCount, id, stops } = cost
    settleUsage(ex, { usage, model, serviceTier, pieceCount, id, stops, isOver: false })
    closeAttempt(ex, state)
  }

  /** All has been said but the end. */
  #complete(ex: Exchange, { writer }: Broken): void {
    const answer = this.#options.context.inProcess.follow(ex, { writable() {}, gone() {} })
    setImmediate(() => {
      answer.write(Buffer.from(writer.write({ kind: 'done' })))
      answer.end()
    })
  }

  #ask(
    ex: Exchange,
    state: Attempts,
    { client, head, takesMarks }: Continuable,
    { slot, body, broken }: { readonly slot: Slot; readonly body: JsonObject; readonly broken: Broken }
  ): void {
    const { inProcess, log } = this.#options.context
    let call: Call | null = null
    const answer = inProcess.follow(ex, { writable: () => call?.resume(), gone: () => call?.abort() })
    const headers = head.headers.copy()
    for (const name of LEFT_OUT) headers.remove(name)
    const request = { ...head, headers, body: Buffer.from(JSON.stringify(body)), timeoutMs: 0, payer: ex }
    const rest = new Rest(client, broken, answer, () => call?.abort())
    const { name } = slot.provider.settings
    log('info', `llm.continued: a stream broke off behind ${broken.soFar.pieceCount} pieces; ${name} goes on with it`)
    const mark = (): void => {
      if (takesMarks && ex.step === STEP_SENDING) sendResponse(ex, MARK)
    }
    // Not within what the lifecycle does about the break.
    setImmediate(() => {
      if (ex.responseDone) return
      call = inProcess.callBackend(this.#service(slot).serve, request, {
        head: (status, fields) => (status === 200 && isSse(fields.get('content-type') ?? '') ? mark() : rest.fail()),
        body: (chunk, start, end) => rest.body(chunk, start, end),
        end: () => rest.end(),
        failed: () => rest.fail(),
        used: (llm) => adopt(ex, state, llm)
      })
    })
  }

  /** A backend that has this provider alone. Guards and caches are those that the broken stream passes. */
  #service(slot: Slot): CompiledBackend {
    const known = this.#services.get(slot)
    if (known !== undefined) return known
    const { backend, context, compile } = this.#options
    const { kind, routes, modelAliases, unsupported, silence, prices, stored } = backend
    const only = {
      kind,
      routes,
      modelAliases,
      unsupported,
      silence,
      prices,
      stored,
      groups: [[slot.provider.settings]]
    }
    const made = compile({ ...only, goesOn: true, promptGuard: { request: [], response: [] }, policies: {} }, context)
    this.#services.set(slot, made)
    return made
  }
}

/** The answer of the provider that goes on, event by event. */
class Rest {
  readonly #broken: Broken
  readonly #answer: Answer
  readonly #abort: () => void
  readonly #framing = sseFraming()
  readonly #reader: ReturnType<(typeof FORMATS)[ClientFormat]['streamReader']>
  #isOver = false
  #isWhole = false

  constructor(client: ClientFormat, broken: Broken, answer: Answer, abort: () => void) {
    this.#reader = FORMATS[client].streamReader()
    this.#broken = broken
    this.#answer = answer
    this.#abort = abort
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    if (this.#isOver) return true
    const events: WireEvent[] = []
    let heard: ChatEvent[]
    try {
      this.#framing.push(chunk, start, end, events)
      heard = events.flatMap((event) => [...this.#reader.read(event)])
    } catch {
      this.fail()
      return true
    }
    const failed = heard.findIndex(({ kind }) => kind === 'error')
    const text = this.#written(failed < 0 ? heard : heard.slice(0, failed))
    const hasRoom = text === '' || this.#answer.write(Buffer.from(text))
    if (failed >= 0) this.fail()
    return hasRoom
  }

  #written(heard: readonly ChatEvent[]): string {
    if (heard.some(({ kind }) => kind === 'done')) this.#isWhole = true
    return heard.map((event) => this.#broken.writer.write(event)).join('')
  }

  end(): void {
    if (this.#isOver) return
    const last = this.#isWhole ? [] : (this.#reader.finish?.()?.events ?? [])
    const text = this.#written(last)
    if (text !== '') this.#answer.write(Buffer.from(text))
    if (this.#isWhole) {
      this.#isOver = true
      this.#answer.end()
    } else this.fail()
  }

  /** Another one may go on; or the client is told. */
  fail(): void {
    if (this.#isOver) return
    this.#isOver = true
    setImmediate(() => {
      this.#abort()
      this.#answer.fail('UPSTREAM_PROTOCOL')
    })
  }
}

function noteContinuing(ex: Exchange, { tried }: Attempts, slot: Slot): void {
  const before = MODEL_ROUTING.get(ex)
  const from = tried.at(-1)
  if (before === null || from === undefined) return
  const { strategy, shadow } = before
  const reason = 'the first that can go on with the stream'
  const more = { ...(shadow === undefined ? {} : { shadow }), fallback: 'broken_stream', continues: shownName(from) }
  MODEL_ROUTING.set(ex, { strategy, target: shownName(slot), candidates: 1, excluded: [], reason, ...more })
}

/** The record of `ex` is that of who has gone on, with those before in its chain. */
function adopt(ex: Exchange, state: Attempts, use: ModelUse): void {
  const before = ex.llm
  ex.llm = {
    ...use,
    clientModel: before?.clientModel ?? use.clientModel,
    content: before?.content,
    settings: before?.settings,
    cache: before?.cache,
    firstTokenAt: before?.firstTokenAt ?? use.firstTokenAt,
    previous: costlyAttempt(before),
    continuations: state.continuations
  }
  charge(ex, (use.inputTokens ?? 0) + (use.outputTokens ?? 0))
}

/** The exchange is over: what its stream has cost, unless that was booked when another provider went on with it. */
export function settleStream(ex: Exchange, { tap, isSettled }: Attempts): void {
  tap?.stop?.()
  if (tap !== null && !isSettled) settleUsage(ex, tap.cost)
}

/** Null: streams that break end so, as those of an only provider do. */
export function continuationFor(
  { slots }: ProviderPool,
  options: Omit<ContinuationOptions, 'slots'>
): Continuation | null {
  const isWanted = options.backend.continuations !== undefined && slots.length > 1
  return isWanted ? new Continuation({ ...options, slots }) : null
}
