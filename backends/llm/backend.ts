/** Models of LLM providers: a request is read, a provider chosen, what it is sent written, its answer translated. */
import type { BackendContext, BackendKind, CompiledBackend, Endpoint } from '#engine/contract/backend.ts'
import { whenRequest } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type AnswerHook, CONTINUE, type Verdict } from '#engine/contract/filter.ts'
import type { RetryPlan } from '#engine/contract/retry.ts'
import type { AiBackend, AiProvider, AiRouteType } from '#engine/ir/snapshot.ts'
import { chance } from '#engine/kit/chance.ts'
import { Answers, type Proceed, settle } from './answer.ts'
import { type Authority, authorityOf } from './auth/authority.ts'
import { type ClientKeys, clientKeys, NO_KEYS } from './auth/client-key.ts'
import { choose, retryAfterMs, Seat } from './balancer.ts'
import type { ErrorType, FormatName } from './conversation.ts'
import { edited, withModel } from './edits/edit.ts'
import { Names } from './edits/names.ts'
import { FormatError } from './format.ts'
import { FORMATS, spokenTo } from './matrix.ts'
import { type Provider, providerOf } from './providers/index.ts'
import { type ChatRequest, modelFor, type Order, readChat, writeChat } from './request.ts'
import { clientOf, isChat, operationOf, routeTypeOf } from './routes/index.ts'
import { type ListClient, listing, namedModels } from './routes/models.ts'
import type { Operation } from './routes/operation.ts'
import type { CostTap } from './stream.ts'

/** Fields that are named in a response. */
const DROPPED_MAX = 32
const FIELD_CHARS_MAX = 128

/** Of the gateway's own errors, once a backend is asked. */
const ERROR_TYPES: Readonly<Record<number, ErrorType>> = {
  408: 'timeout',
  413: 'tooLarge',
  503: 'overloaded',
  504: 'timeout'
}

/** Whether another provider may do better. */
const isFailure = (status: number): boolean => status === 429 || status >= 500

interface Choice {
  readonly given: AiProvider
  readonly provider: Provider
  readonly endpoint: Endpoint
  readonly authority: Authority
  readonly aliases: Names<string>
}

/** What is asked: at most one of them; neither passes through. */
interface Asked {
  readonly chat: ChatRequest | null
  readonly operation: Operation | null
}

/** One exchange, while it is tried at one provider after the other. */
class Attempts {
  /** Format of the client; null: none that is known. */
  readonly client: FormatName | null
  /** As it came; null: it is no chat. */
  readonly chat: ChatRequest | null
  /** Null: it is a chat, or passes through. */
  readonly operation: Operation | null
  /** The chat as the provider that is tried gets it, ahead of translation. */
  sent: ChatRequest | null = null
  readonly tried: Seat<Choice>[] = []
  /** Where it is being tried. */
  seat: Seat<Choice> | null = null
  startedAt = 0
  /** Rises with each attempt. */
  turn = 0
  tap: CostTap | null = null
  /** Fields that the provider has not been told of. */
  dropped: readonly string[] = []
  /** What the client came with: an attempt leaves other keys in the request. */
  readonly keys: ClientKeys

  constructor(client: FormatName | null, asked: Asked, keys: ClientKeys) {
    this.client = client
    this.chat = asked.chat
    this.operation = asked.operation
    this.keys = keys
  }
}

class Service implements CompiledBackend {
  readonly retry: RetryPlan | null
  readonly #backend: AiBackend
  readonly #context: BackendContext
  readonly #random = chance()
  readonly #groups: readonly (readonly Seat<Choice>[])[]
  readonly #total: number
  readonly #wantsClient: boolean
  readonly #answers: Answers
  /** Of the models that the configuration names. */
  readonly #names: readonly string[]
  readonly #attempts = new WeakMap<Exchange, Attempts>()

  constructor(backend: AiBackend, context: BackendContext) {
    this.#backend = backend
    this.#context = context
    this.#groups = backend.groups.map((group) => group.map((given) => new Seat(choiceOf(given, backend, context))))
    this.#names = namedModels(backend)
    this.#total = this.#groups.flat().length
    this.#wantsClient = this.#groups.flat().some(({ provider }) => provider.authority.wantsClient)
    this.#answers = new Answers(context)
    this.retry = this.#total === 1 ? null : this.#failover()
  }

  readonly isUsable = (): boolean =>
    this.#groups.some((group) => group.some(({ provider }) => provider.endpoint.usable))

  /** Once per attempt. */
  readonly serve = (ex: Exchange): void => {
    const known = this.#attempts.get(ex)
    if (known !== undefined) {
      this.#again(ex, known)
      return
    }
    ex.backend = this.#context.name
    const type = routeTypeOf(this.#backend.routes, ex.path)
    const client = clientOf(type, ex)
    if (client !== null) ex.dialect = (status, message) => errorText(client, status, message, null)
    if (type === 'Models' && this.#names.length > 0) {
      listModels(ex, this.#context, client as ListClient, this.#names)
      return
    }
    whenRequest(ex, this.#context.maxBufferBytes, (verdict) => this.#begin(ex, type, verdict))
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
    this.#try(ex, client, () => {
      const bytes = ex.requestBytes ?? Buffer.alloc(0)
      const operation = isChat(type) ? null : operationOf(type, ex, bytes)
      const isRead = client !== null && operation === null
      const chat = isRead ? readChat(client, bytes, ex.path, ex.query) : null
      const state = new Attempts(client, { chat, operation }, this.#wantsClient ? clientKeys(ex) : NO_KEYS)
      this.#attempts.set(ex, state)
      ex.onOver = () => over(ex, state)
      this.#next(ex, state)
    })
  }

  /** Does `step`; what is wrong with the client's request is told in its own terms. */
  #try(ex: Exchange, client: FormatName | null, step: () => void): void {
    try {
      step()
    } catch (error) {
      // Nobody above waits for what is thrown behind a body, and the process must outlive every body.
      if (client === null) this.#context.fail(ex, 'INTERNAL')
      else if (error instanceof FormatError) this.#refuse(ex, client, error.field, error.message)
      else if (error instanceof RangeError) this.#refuse(ex, client, '', 'the body is nested too deeply')
      else this.#context.fail(ex, 'INTERNAL')
    }
  }

  /** The attempt before this one has failed. */
  #again(ex: Exchange, state: Attempts): void {
    const { seat } = state
    if (seat !== null) {
      seat.pending--
      state.seat = null
      // A provider that has answered has been noted, and may have said for how long it rests.
      if (seat.restsUntil <= performance.now()) seat.failed(performance.now(), null, this.#random())
    }
    this.#try(ex, state.client, () => this.#next(ex, state))
  }

  #next(ex: Exchange, state: Attempts): void {
    // Who tries again more often than there are providers begins anew.
    if (state.tried.length === this.#total) state.tried.length = 0
    const seat = choose(this.#groups, state.tried, performance.now(), this.#random)!
    const { endpoint, authority } = seat.provider
    state.tried.push(seat)
    ex.upstreamHost = endpoint.hostHeader
    if (state.chat !== null && !this.#writeEdited(ex, state, state.chat, seat.provider)) return
    if (state.operation !== null && !this.#operate(ex, state, state.operation, seat.provider)) return
    state.seat = seat
    state.turn++
    seat.pending++
    const waiting = authority.authorize(ex, state.keys)
    if (waiting === null) this.#send(ex, state, seat)
    else this.#sendLater(ex, state, seat, waiting)
  }

  #send(ex: Exchange, state: Attempts, seat: Seat<Choice>): void {
    state.startedAt = performance.now()
    ex.answerHook = (answered, proceed) => this.#answered(answered, state, proceed)
    this.#context.upstream.send(ex, seat.provider.endpoint)
  }

  /** A token has to be fetched first; without one the next provider is asked. */
  #sendLater(ex: Exchange, state: Attempts, seat: Seat<Choice>, waiting: Promise<void>): void {
    const { turn } = state
    // Meanwhile a timeout may have answered or begun another attempt, or the client may have gone.
    const isCurrent = () => state.turn === turn && state.seat === seat && ex.response === null && !ex.responseDone
    const without = () => {
      if (!isCurrent()) return
      seat.pending--
      state.seat = null
      seat.failed(performance.now(), null, this.#random())
      if (state.tried.length === this.#total) this.#context.fail(ex, 'BACKEND_CREDENTIALS')
      else this.#try(ex, state.client, () => this.#next(ex, state))
    }
    void waiting.then(() => {
      if (isCurrent()) this.#send(ex, state, seat)
    }, without)
  }

  #orderOf(chat: ChatRequest, { given, provider, aliases }: Choice): Order {
    const { path, pathPrefix, edits } = given
    const model = modelFor(chat.model, given.model, aliases)
    return { provider, format: spokenTo(provider, chat.client, model), model, path, pathPrefix, caching: edits.caching }
  }

  /** False: the client has been told why not. */
  #writeEdited(ex: Exchange, state: Attempts, chat: ChatRequest, choice: Choice): boolean {
    const { format } = this.#orderOf(withModel(chat, choice.given.edits), choice)
    const sent = edited(chat, choice.given.edits, format)
    state.sent = sent
    return this.#write(ex, state, sent, this.#orderOf(sent, choice))
  }

  /** False: the client has been told why not. */
  #operate(ex: Exchange, state: Attempts, operation: Operation, choice: Choice): boolean {
    const { given, provider, aliases } = choice
    const model = (name: string) => modelFor(name, given.model, aliases)
    const fields = operation.write(ex, { given, provider, model })
    const { name } = provider
    ex.llm = { provider: name, ...(operation.model === '' ? {} : { requestModel: model(operation.model) }) }
    return !this.#isRefused(ex, state, fields, { name, client: operation.client, isStrict: operation.isStrict })
  }

  /** False: the client has been told why not. */
  #write(ex: Exchange, state: Attempts, chat: ChatRequest, order: Order): boolean {
    ex.llm = { provider: order.provider.name, requestModel: order.model, streaming: chat.isStreamed }
    const { fields } = writeChat(ex, chat, order)
    return !this.#isRefused(ex, state, fields, { name: order.provider.name, client: chat.client, isStrict: true })
  }

  /** Because of `fields`, which the provider called `name` has not been told. */
  #isRefused(
    ex: Exchange,
    state: Attempts,
    fields: readonly string[],
    { name, client, isStrict }: { readonly name: string; readonly client: FormatName; readonly isStrict: boolean }
  ): boolean {
    if (fields.length > 0 && isStrict && this.#backend.unsupported === 'refuse') {
      const why = `cannot be carried to ${name}: leave it out, or set unsupported: drop`
      this.#refuse(ex, client, fields[0]!, why)
      return true
    }
    state.dropped = fields
    return false
  }

  #refuse(ex: Exchange, client: FormatName, field: string, why: string): void {
    const message = field === '' ? why : `${field}: ${why}`
    const body = errorText(client, 400, message, field === '' ? null : field)
    this.#context.reply(ex, { status: 400, body, contentType: 'application/json', headers: null })
  }

  // --- the answer ---

  #answered(ex: Exchange, state: Attempts, proceed: Proceed): ReturnType<AnswerHook> {
    const seat = state.seat!
    seat.pending--
    state.seat = null
    if (ex.status === 401 || ex.status === 403) seat.provider.authority.refused()
    if (isFailure(ex.status)) this.#noteFailure(ex, seat)
    else seat.succeeded(performance.now() - state.startedAt)
    const { sent: chat, operation, dropped } = state
    if (dropped.length > 0) ex.response!.set('x-weir-dropped', listOf(dropped))
    if (operation !== null) return this.#answers.tell(ex, operation, proceed)
    if (chat === null) return CONTINUE
    const { format } = this.#orderOf(chat, seat.provider)
    const streamed = (tap: CostTap): void => {
      state.tap = tap
    }
    return this.#answers.translate(ex, { chat, format, proceed, streamed })
  }

  #noteFailure(ex: Exchange, seat: Seat<Choice>): void {
    const askedMs = retryAfterMs(ex.response?.get('retry-after'), Date.now())
    seat.failed(performance.now(), askedMs, this.#random())
  }

  /** Each other provider once, before the client has got anything. */
  #failover(): RetryPlan {
    return {
      attempts: this.#total - 1,
      codes: new Set([502, 503, 504]),
      backoffMs: 0,
      precondition: null,
      condition: (ex) => {
        const seat = this.#attempts.get(ex)?.seat ?? null
        if (seat === null || !isFailure(ex.status)) return false
        this.#noteFailure(ex, seat)
        return true
      },
      // What may follow is bounded already, by the number of providers and by how long they rest.
      budget: { percent: 100, minPerSecond: 100 }
    }
  }
}

/** Answers with the models that the configuration names. */
export function listModels(
  ex: Exchange,
  { reply }: Pick<BackendContext, 'reply'>,
  client: ListClient,
  names: readonly string[]
): void {
  const list = listing(client, ex.path, names, 'weir')
  const message = 'there is no such model'
  const body = JSON.stringify(
    list ??
      FORMATS[client]!.writeError({ status: 404, type: 'notFound', message, code: 'model_not_found', param: null })
  )
  reply(ex, { status: list === null ? 404 : 200, body, contentType: 'application/json', headers: null })
}

function errorText(client: FormatName, status: number, message: string, param: string | null): string {
  const type = status === 400 ? 'invalidRequest' : (ERROR_TYPES[status] ?? 'internal')
  return JSON.stringify(FORMATS[client]!.writeError({ status, type, message, code: null, param }))
}

function choiceOf(given: AiProvider, backend: AiBackend, context: BackendContext): Choice {
  const { upstream, connectTimeoutMs } = context
  const provider = providerOf(given)
  const host = given.host ?? provider.host
  const port = given.port ?? (given.hasTls ? 443 : 80)
  const tls = given.hasTls ? { serverName: host, ca: null } : null
  // The address comes from the configuration, so it needs no guard.
  const options = { guarded: false, allow: [], connectTimeoutMs, tls }
  const endpoint = upstream.endpoint({ host, port, unixPath: null }, options)
  return {
    given,
    provider,
    endpoint,
    aliases: new Names(Object.entries(given.modelAliases ?? backend.modelAliases)),
    authority: authorityOf(given.auth, { provider, cloud: given.cloud, host }, context)
  }
}

function over(ex: Exchange, { seat, tap }: Attempts): void {
  if (seat !== null) seat.pending--
  if (tap !== null) settle(ex, tap.cost.usage, tap.cost.model)
}

/** Names of JSON fields may hold anything; a header field may not. */
function listOf(fields: readonly string[]): string {
  const names = fields.slice(0, DROPPED_MAX).map((field) => field.slice(0, FIELD_CHARS_MAX))
  const text = names.join(', ').replace(/[^\t -~]/g, '?')
  return fields.length > DROPPED_MAX ? `${text}, and ${fields.length - DROPPED_MAX} more` : text
}

const compile = (backend: AiBackend, context: BackendContext): CompiledBackend => new Service(backend, context)

export const aiBackend: BackendKind = { kind: 'ai', compile }
