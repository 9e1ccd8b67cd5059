/** Models of LLM providers: a request is read, a provider chosen, what it is sent written, its answer translated. */

import type { AiBackend, AiRouteType } from '#backends/llm/config/snapshot.ts'
import { beginPreparation, finishPreparation, resumePreparation } from '#backends/shared/preparation.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { DialectFinder, Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE, type RetryPlan, type Verdict } from '#engine/contract/filter.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import { Answers, type Proceed } from './answer/answers.ts'
import { errorDialectAt, KEY_PLACES } from './answer/error-dialect.ts'
import { errorDialectOf, listModels, refusalReply } from './answer/local-replies.ts'
import { clientKeys, NO_KEYS } from './auth/client-key.ts'
import { withoutCredentials } from './auth/query-keys.ts'
import { ResponseCache } from './cache/response-cache.ts'
import { aiConfig } from './config/index.ts'
import type { ClientFormat } from './conversation.ts'
import { ModelPatterns } from './edits/model-patterns.ts'
import { FormatError } from './formats/format.ts'
import { Guards, NOT_GUARDABLE } from './guards/guards.ts'
import { rejectionReply } from './guards/rejection.ts'
import { TOO_DEEP } from './offload/job.ts'
import { chatFor } from './offload/large-request.ts'
import { Attempts, endLastAttempt } from './plan/attempts.ts'
import { Attempt, type ProviderSlot, retryAfterMs } from './plan/balancer.ts'
import { CompatibilityRetry, mayRefuse } from './plan/compatibility-retry.ts'
import { type Continuation, continuationFor, settleStream } from './plan/continuation.ts'
import { explainCall } from './plan/explain-call.ts'
import { hasFailed } from './plan/failover.ts'
import { OriginalRequest } from './plan/original-request.ts'
import { ProviderPool } from './plan/provider-pool.ts'
import type { ProviderRuntime } from './plan/provider-runtime.ts'
import { type ApplyWritten, RequestWriter, type WriteOutcome } from './plan/request-writer.ts'
import { sendTo } from './plan/sending.ts'
import { Shadow } from './plan/shadow.ts'
import { modelsOfBackend as models } from './prices/named-models.ts'
import { NO_BODY } from './request/json-body.ts'
import type { ListClient } from './routes/answer-spec.ts'
import { clientOf, isChat, isOtherApi, OTHER_API, operationOf, servedPaths, typeOf } from './routes/index.ts'
import { type ModelNames, namedModels } from './routes/models.ts'
import { Keeping } from './stored/keeping.ts'
import type { KeptIds } from './stored/stores.ts'
import type { CostTap } from './stream/cost-tap.ts'
import { DROPPED, type DroppedFields, droppedList, refusalOfDropped } from './translate/dropped-fields.ts'
import { whenUpload } from './uploads/upload.ts'
import { closeAttempt, isRestricted, modelsFor, whenReserved } from './usage/spending.ts'

class LlmBackend implements CompiledBackend {
  readonly retry: RetryPlan | null
  readonly #backend: AiBackend
  readonly #context: BackendContext
  readonly #random = xorshift32()
  readonly #pool: ProviderPool
  readonly #shadow: Shadow | null
  readonly #keeping: Keeping
  readonly #writing: RequestWriter
  readonly #again: CompatibilityRetry
  readonly #answers: Answers
  /** Null: streams that break end so. */
  readonly #continuation: Continuation | null
  readonly #guards: Guards
  readonly #cache: ResponseCache | null
  /** Of the models that the configuration names. */
  readonly #known: ModelNames

  constructor(backend: AiBackend, context: BackendContext) {
    this.#backend = backend
    this.#context = context
    this.#keeping = new Keeping(backend, context)
    this.#pool = new ProviderPool(backend, context, this.#random, (one) => this.#keeping.storeOf(one))
    const aliases = new ModelPatterns(Object.keys(backend.modelAliases).map((name) => [name, true]))
    this.#known = { names: namedModels(backend), isServed: (name) => aliases.find(name) === true }
    this.#guards = new Guards(backend.promptGuard, context)
    this.#cache = backend.cache === undefined ? null : new ResponseCache(backend.cache, backend, context, compile)
    const { shadow } = backend
    this.#shadow = shadow === undefined ? null : new Shadow(shadow, backend, context, compile, this.#random)
    this.#writing = new RequestWriter(context)
    this.#again = new CompatibilityRetry(context, this.#writing)
    this.#answers = new Answers(context, this.#guards, backend.silence)
    this.#continuation = continuationFor(this.#pool, { backend, context, compile, random: this.#random })
    this.retry = this.#pool.retryPlan((ex) => this.#attemptsOf(ex))
  }

  readonly keyLocations = KEY_PLACES

  readonly dialect: DialectFinder = (ex, isRouted) => errorDialectAt(this.#backend.routes, ex, isRouted)

  readonly isUsable = (): boolean => this.#pool.isUsable

  readonly explain = (ex: Exchange) => explainCall(ex, this.#attemptsOf(ex), this.#pool.groups, this.#backend)

  /** Once per attempt. */
  readonly serve = (ex: Exchange): void => {
    const known = this.#attemptsOf(ex)
    if (known !== null) this.#try(ex, known.client, () => this.#next(ex, known))
    else if (!resumePreparation(ex, this)) this.#arrived(ex)
  }

  #arrived(ex: Exchange): void {
    ex.backend = this.#context.name
    ex.backendType = aiBackend
    const type = typeOf(this.#backend.routes, ex)
    if (type === 'PATH_AMBIGUOUS') {
      this.#context.fail(ex, type)
      return
    }
    const client = clientOf(type, ex)
    if (client !== null) ex.dialect = errorDialectOf(client, ex)
    if (type === 'Completions' && isOtherApi(this.#backend.routes, ex.path)) {
      this.#refuse(ex, 'completions', '', OTHER_API, 404)
      return
    }
    if (type === 'Models' && (this.#known.names.length > 0 || isRestricted(ex))) {
      listModels(ex, this.#context, client as ListClient, modelsFor(ex, this.#known))
      return
    }
    beginPreparation(ex, this)
    whenUpload(ex, type, this.#context, (verdict) => this.#begin(ex, type, verdict))
  }

  /** Null: it has not been tried here. */
  #attemptsOf({ serving }: Exchange): Attempts | null {
    return serving instanceof Attempts && serving.by === this ? serving : null
  }

  /** The body is here, or will not be. */
  #begin(ex: Exchange, type: AiRouteType, verdict: Verdict): void {
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.response !== null || ex.responseDone) return
    if (verdict !== CONTINUE) {
      this.#context.fail(ex, ex.error ?? 'INTERNAL')
      return
    }
    const client = clientOf(type, ex)
    const seen = this.#guards.guardedFieldsOf(type, client, ex)
    if (seen === null) this.#start(ex, type, client)
    else if (seen === 'unknown') this.#refuse(ex, client ?? 'completions', '', NOT_GUARDABLE)
    else {
      this.#guards.request(ex, seen, (refused) => {
        if (refused === null) this.#start(ex, type, client)
        else this.#context.reply(ex, rejectionReply(ex, client!, refused))
      })
    }
  }

  #start(ex: Exchange, type: AiRouteType, client: ClientFormat | null): void {
    const go = (kept: KeptIds | FormatError) => finishPreparation(ex, () => this.#first(ex, type, client, kept))
    this.#try(ex, client, () => this.#keeping.begin(ex, type, client, go))
  }

  #first(ex: Exchange, type: AiRouteType, client: ClientFormat | null, kept: KeptIds | FormatError): void {
    this.#try(ex, client, () => {
      if (kept instanceof FormatError) throw kept
      const bytes = ex.requestBytes ?? Buffer.alloc(0)
      // Keys in the query were for this gateway. From here on it has none.
      const { query } = ex
      ex.query = withoutCredentials(query)
      const operation = isChat(type) ? null : operationOf(type, ex, bytes, () => this.#keeping.settingsFor(ex, kept))
      const isRead = client !== null && operation === null
      // Who looks around with a browser.
      if (isRead && bytes.length === 0) throw new FormatError('', `${NO_BODY}; ${servedPaths(this.#backend.routes)}`)
      const chat = isRead ? chatFor(client, bytes, ex.path, ex.query) : null
      const keys = this.#pool.wantsClient || this.#cache !== null ? clientKeys(ex, query) : NO_KEYS
      const original = ex.retry === null && this.#pool.total === 1 ? null : new OriginalRequest(ex)
      const state = new Attempts(this, client, { chat, operation, kept }, original, keys)
      ex.serving = state
      state.choose = this.#pool.choiceFor(ex, state)
      if (this.#guards.forwardsFields) state.fields = ex.request.copy()
      ex.onOver = () => this.#over(ex, state)
      const begin = (): void => {
        this.#shadow?.begin(ex, state)
        this.#next(ex, state)
      }
      if (this.#cache?.serves(ex, state, () => this.#try(ex, client, begin)) !== true) begin()
    })
  }

  /** Runs `step`; a mistake of the client is reported in the client's own terms. */
  #try(ex: Exchange, client: ClientFormat | null, step: () => void): void {
    try {
      step()
    } catch (error) {
      // An error thrown after a body has no caller to catch it, and the process must outlive every body.
      if (client === null) this.#context.fail(ex, 'INTERNAL')
      else if (error instanceof FormatError) this.#refuse(ex, client, error.field, error.message, error.status)
      else if (error instanceof RangeError) this.#refuse(ex, client, '', TOO_DEEP)
      else this.#context.fail(ex, 'INTERNAL')
    }
  }

  #next(ex: Exchange, state: Attempts): void {
    this.#pool.begin(ex, state)
    this.#choose(ex, state)
  }

  /**
   * Chooses a provider and writes the request for it. A provider that lacks a field of it is skipped, if others have
   * it: of its group, or, after a failure, of any. Throws FormatError when no provider can take the request.
   */
  #choose(ex: Exchange, state: Attempts): void {
    for (;;) {
      const slot = this.#pool.next(ex, state)
      if (slot === null && state.attemptCount === 0) throw state.refusal!
      if (slot === null) {
        // The request is not to blame: another provider would have taken it.
        this.#context.fail(ex, 'NO_BACKEND')
        return
      }
      state.tried.push(slot)
      const outcome = this.#writing.write(ex, state, slot.provider)
      if (outcome instanceof Promise) {
        this.#writeElsewhere(ex, state, slot, outcome)
        return
      }
      const why = this.#lost(state, slot.provider, outcome)
      if (why === null) {
        this.#ask(ex, state, slot)
        return
      }
      this.#passOver(ex, state, slot, why)
    }
  }

  #passOver(ex: Exchange, state: Attempts, slot: ProviderSlot<ProviderRuntime>, why: FormatError): void {
    state.passOver(slot, why)
    state.original?.restore(ex)
    if (state.attemptCount === 0) state.groups = state.groups.filter((group) => group.includes(slot))
    // It needs no attempt of those that are left.
    else if (ex.retry?.route.plan === this.retry) ex.retry!.count++
  }

  /** The request comes from another thread. */
  #writeElsewhere(
    ex: Exchange,
    state: Attempts,
    slot: ProviderSlot<ProviderRuntime>,
    made: Promise<ApplyWritten>
  ): void {
    const { round } = state
    // Cancelled meanwhile, no provider is to blame: none has been tried.
    ex.onRetry = (_, code) => this.#endAttempt(ex, state, code)
    const isCurrent = () => state.round === round && ex.response === null && !ex.responseDone
    whenSettled(made, isCurrent, (take) => {
      this.#try(ex, state.client, () => {
        if (take === null) return this.#context.fail(ex, 'BODY_OVERLOAD')
        const why = this.#lost(state, slot.provider, take(ex))
        if (why === null) return this.#ask(ex, state, slot)
        this.#passOver(ex, state, slot, why)
        this.#choose(ex, state)
      })
    })
  }

  /** Asks `slot`, if the key of the client may. */
  #ask(ex: Exchange, state: Attempts, slot: ProviderSlot<ProviderRuntime>): void {
    ex.onRetry = (_, code) => this.#endAttempt(ex, state, code)
    const ask = () => this.#try(ex, state.client, () => this.#askNow(ex, state, slot))
    whenReserved(ex, state, { prices: slot.provider.prices, fail: this.#context.fail }, ask)
  }

  #askNow(ex: Exchange, state: Attempts, slot: ProviderSlot<ProviderRuntime>): void {
    ex.upstreamHost = slot.provider.endpoint.hostHeader
    state.attempt = new Attempt(slot, performance.now())
    state.dialectOverrides = null
    this.#authorize(ex, state, state.attempt)
  }

  /** Once for each body that is sent: it may be signed. */
  #authorize(ex: Exchange, state: Attempts, attempt: Attempt<ProviderRuntime>): void {
    const { endpoint, authenticator } = attempt.slot.provider
    const waiting = authenticator.authorize(ex, state.keys)
    if (waiting === null) this.#send(ex, state, endpoint)
    else this.#sendLater(ex, state, attempt, waiting)
  }

  #send(ex: Exchange, state: Attempts, endpoint: Endpoint): void {
    if (state.dialectOverrides === null) state.attemptCount++
    state.retry = ex.retry
    ex.answerHook = (answered, proceed) => this.#answered(answered, state, proceed)
    sendTo(endpoint, ex, state, this.#context)
  }

  /** A token has to be fetched first; without one the next provider is asked. */
  #sendLater(ex: Exchange, state: Attempts, attempt: Attempt<ProviderRuntime>, waiting: Promise<() => void>): void {
    // Meanwhile a timeout may have answered or begun another attempt, or the client may have gone.
    const isCurrent = () => state.attempt === attempt && ex.response === null && !ex.responseDone
    const without = () => {
      attempt.failed(performance.now(), null, this.#random())
      state.failedBy = 'auth'
      if (state.tried.length === this.#pool.total) this.#context.fail(ex, 'BACKEND_CREDENTIALS')
      else {
        state.original?.restore(ex)
        this.#try(ex, state.client, () => this.#next(ex, state))
      }
    }
    const send = (show: () => void) => {
      show()
      this.#send(ex, state, attempt.slot.provider.endpoint)
    }
    whenSettled(waiting, isCurrent, (show) => {
      if (show === null) without()
      else this.#try(ex, state.client, () => send(show))
    })
  }

  /** Why the provider cannot be asked with what has been written for it; null: it can. */
  #lost(state: Attempts, { provider }: ProviderRuntime, outcome: WriteOutcome): FormatError | null {
    if (outcome instanceof FormatError) return outcome
    const isStrict = state.operation?.isStrict ?? true
    const why = isStrict ? refusalOfDropped(outcome, provider.name, this.#backend.unsupported) : null
    if (why === null) state.dropped = outcome
    return why
  }

  #refuse(ex: Exchange, client: ClientFormat, field: string, why: string, status: FormatError['status'] = 400): void {
    const message = field === '' ? why : `${field}: ${why}`
    this.#context.reply(ex, refusalReply(ex, client, { status, message, code: null, param: field || null }))
  }

  // --- the answer ---

  #answered(ex: Exchange, state: Attempts, proceed: Proceed): ReturnType<AnswerHook> {
    const mayDiffer = mayRefuse(ex.status) || state.dialectOverrides !== null
    return mayDiffer ? this.#refused(ex, state, proceed) : this.#taken(ex, state, proceed)
  }

  /** What was added to the request may be why. */
  #refused(ex: Exchange, state: Attempts, proceed: Proceed): ReturnType<AnswerHook> {
    const attempt = state.attempt!
    const { provider: choice } = attempt.slot
    const usual = () => this.#taken(ex, state, proceed)
    const lost = (dropped: DroppedFields) => this.#lost(state, choice, dropped)
    const ask = (why: FormatError | null) => this.#try(ex, state.client, () => this.#askAgain(ex, state, attempt, why))
    return this.#again.refused(ex, state, choice, { lost, ask, usual, proceed }) ?? usual()
  }

  /** `why`: the provider takes nothing that it may be asked with, as if that had been known before. */
  #askAgain(ex: Exchange, state: Attempts, attempt: Attempt<ProviderRuntime>, why: FormatError | null): void {
    if (why === null) {
      this.#authorize(ex, state, attempt)
      return
    }
    state.withdraw(performance.now())
    this.#passOver(ex, state, attempt.slot, why)
    this.#choose(ex, state)
  }

  #taken(ex: Exchange, state: Attempts, proceed: Proceed): ReturnType<AnswerHook> {
    const attempt = state.attempt!
    this.#note(ex, attempt)
    if (ex.status === 401 || ex.status === 403) attempt.slot.provider.authenticator.refused()
    const { editedChat: chat, format, operation, sentOperation, dropped, fields } = state
    if (dropped.count > 0) ex.response!.set(DROPPED, droppedList(dropped))
    const streamed = (tap: CostTap): void => {
      state.tap = tap
    }
    if (operation !== null)
      return this.#answers.translateOperation(ex, operation, sentOperation!, {
        proceed,
        fields,
        streamed
      })
    if (chat === null || format === null) return this.#answers.pass(ex)
    const goOn = this.#continuation?.goOnFor(ex, state, chat) ?? null
    const translate = (then: Proceed) =>
      this.#answers.translate(ex, { chat, format, by: attempt.slot.provider, proceed: then, fields, streamed, goOn })
    return this.#cache === null ? translate(proceed) : this.#cache.keeps(ex, state, proceed, translate)
  }

  /** How the attempt went, as far as the head of its answer can tell. */
  #note(ex: Exchange, attempt: Attempt<ProviderRuntime>): void {
    if (ex.response === null || hasFailed(ex, this.#attemptsOf(ex))) {
      const pauseMs = retryAfterMs(ex.response?.get('retry-after'), Date.now())
      attempt.failed(performance.now(), pauseMs, this.#random())
    } else attempt.succeeded(performance.now())
  }

  /** Another attempt follows, here or at another backend of the route. */
  #endAttempt(ex: Exchange, state: Attempts, code: Exchange['error']): void {
    if (state.attempt !== null) this.#note(ex, state.attempt)
    // Another provider is asked, and the credential may be right again the next time.
    if (ex.status === 401 || ex.status === 403) state.attempt?.slot.provider.authenticator.refused()
    closeAttempt(ex, state, code)
    state.leave(ex)
    state.original?.restore(ex)
  }

  #over(ex: Exchange, state: Attempts): void {
    endLastAttempt(ex, state, this.#random)
    settleStream(ex, state)
    closeAttempt(ex, state)
    state.measure(ex)
    this.#cache?.over(state)
  }
}

const compile = (backend: AiBackend, context: BackendContext): CompiledBackend => new LlmBackend(backend, context)

export const aiBackend: BackendKind = { kind: 'ai', protocol: 'llm', config: aiConfig, compile, models }
