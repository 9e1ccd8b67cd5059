/**
 * A chat as a prediction: a job that is begun, waited for, and read when it is over (HTTP API of Replicate,
 * models.predictions.create, predictions.get, predictions.cancel). For the engine it is one attempt: it waits in
 * `ex.pending`, so that a client that leaves, a timeout or another attempt ends it; and its answer comes by
 * InProcess.answer, with a status that says how it went, as any server's.
 *
 * What it asks goes to the host of the provider alone. Addresses in answers are not followed, and an id becomes part of
 * a path when it can be nothing else.
 */
import type { JsonObject } from '#backends/llm/conversation.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Answer } from '#engine/contract/in-process.ts'
import type { PendingAttempt } from '#engine/contract/transport.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { type State, shown, stateIn } from './state.ts'
import { callWhole, type WholeAnswer, type WholeCall } from './whole-call.ts'

/** In all, unless the route allows less; the provider ends it then, too ("Set deadlines for predictions"). */
const TOTAL_MS = 600_000
/**
 * As long the provider keeps the request open. A client that leaves meanwhile has no id to cancel by: what it has
 * asked for runs on until then.
 */
const WAIT_S = 5
/** Of a call, beyond what it waits. */
const CALL_MS = 30_000
const PAUSE_MS = 500
const PAUSE_MAX_MS = 5000
const PAUSE_GROWTH = 1.25
/** Of a stream, whose pieces are what has come meanwhile. */
const PAUSE_STREAMED_MS = 1000
/** Questions in a row that may fail: the prediction goes on without them. */
const MISSES_MAX = 4

/** About the body: what is asked later has none. */
const OF_BODY = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-range']
/**
 * Of the client's header: the gateway says these itself, or they would change what a GET gives (RFC 9110, sections 13
 * and 14): a part of a state, or none because it is as it was.
 */
const OF_CLIENT = [
  ...['expect', 'transfer-encoding', 'prefer', 'cancel-after', 'range', 'if-range'],
  ...['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']
]

/** Asks `endpoint` for what `ex` has been made, at the path that begins a prediction. */
export function predict(ex: Exchange, endpoint: Endpoint, isStreamed: boolean, context: BackendContext): void {
  new Prediction(ex, endpoint, isStreamed, context).begin()
}

class Prediction implements PendingAttempt {
  readonly #ex: Exchange
  readonly #endpoint: Endpoint
  readonly #isStreamed: boolean
  readonly #context: BackendContext
  /** Of all that is asked about it: the key is among them. */
  readonly #headers: HeaderBlock
  /** "/v1". */
  readonly #base: string
  readonly #until = performance.now() + TOTAL_MS
  #call: { abort(): void } | null = null
  /** The call that begins it. */
  #first: WholeCall | null = null
  #timer: NodeJS.Timeout | null = null
  /** Null: it has not been told yet. */
  #id: string | null = null
  #pauseMs = PAUSE_MS
  #misses = 0
  /** What has been put out so far, and the stream that tells it; null: it has not begun. */
  #text = ''
  #stream: Answer | null = null
  /** It has been answered, or nobody waits for it. */
  #isOver = false

  constructor(ex: Exchange, endpoint: Endpoint, isStreamed: boolean, context: BackendContext) {
    this.#ex = ex
    this.#endpoint = endpoint
    this.#isStreamed = isStreamed
    this.#context = context
    this.#headers = ex.request.copy()
    for (const name of [...OF_BODY, ...OF_CLIENT]) this.#headers.remove(name)
    this.#base = baseOf(ex.path)
  }

  begin(): void {
    const { method, path, query, requestBytes: body } = this.#ex
    const headers = this.#headers.copy()
    headers.append('Content-Type', 'application/json')
    // A stream is to begin soon.
    if (!this.#isStreamed) headers.append('Prefer', `wait=${WAIT_S}`)
    headers.append('Cancel-After', `${TOTAL_MS / 1000}s`)
    this.#ex.pending = this
    this.#ex.attempts++
    const request = { method, path, query, headers, body, timeoutMs: WAIT_S * 1000 + CALL_MS }
    this.#first = callWhole(this.#endpoint, request, this.#context, (answer) => this.#begun(answer))
  }

  /**
   * The engine gives it up. Until its id is here, the call that will tell it goes on: a prediction runs, and costs,
   * whether or not anybody waits for it. What it has sent is then on its own account, since the client's is closed:
   * where there is no room, nobody waits for the id.
   */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#id === null && !this.#first!.keepsRequest()) this.#first!.abort()
    this.#call?.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#cancel()
  }

  #cancel(): void {
    if (this.#id !== null) this.#ask('POST', `/${this.#id}/cancel`, () => {})
  }

  #ask(method: string, end: string, done: (answer: WholeAnswer | ErrorCode) => void): void {
    const path = `${this.#base}/predictions${end}`
    const request = { method, path, query: '', headers: this.#headers.copy(), body: null, timeoutMs: CALL_MS }
    this.#call = callWhole(this.#endpoint, request, this.#context, done)
  }

  #begun(answer: WholeAnswer | ErrorCode): void {
    // Its exchange has been recorded.
    if (this.#isOver && (typeof answer === 'string' || answer.status >= 300)) return
    if (typeof answer === 'string') this.#fault(answer)
    else if (answer.status >= 300) this.#refused(answer)
    else this.#look(stateIn(answer.bytes))
  }

  #look(state: State | null): void {
    const isOther = this.#id !== null && state !== null && state.id !== this.#id
    this.#id ??= state?.id ?? null
    if (state === null || isOther) {
      this.#cancel()
      this.#failed(502, isOther ? 'the answer is about another prediction' : 'the answer is no prediction')
    } else if (state.status === 'starting' || state.status === 'processing') this.#underWay(state)
    else this.#ended(state)
  }

  #underWay({ text }: State): void {
    // The client has left before the id was known.
    if (this.#isOver) this.#cancel()
    else if (this.#id === null) this.#failed(502, 'the prediction has no id by which it could be asked for')
    else {
      if (this.#isStreamed) this.#tell(text)
      if (!this.#isOver) this.#later()
    }
  }

  #ended(state: State): void {
    const { status, text, error } = state
    if (status === 'failed') this.#failed(502, error ?? 'the prediction has failed')
    // By others than this, or when its time was over: "aborted" before it had begun.
    else if (status !== 'succeeded') this.#failed(504, error ?? `the prediction was ${status}`)
    else if (text === null) this.#failed(502, 'what the model has put out is no text')
    else this.#answer(shown(state), text)
  }

  #later(): void {
    if (performance.now() + this.#pauseMs > this.#until) {
      this.#cancel()
      this.#failed(504, `the prediction was not over within ${TOTAL_MS / 1000} s`)
      return
    }
    this.#timer = setTimeout(() => this.#ask('GET', `/${this.#id!}`, (answer) => this.#polled(answer)), this.#pauseMs)
    this.#pauseMs = Math.min(this.#pauseMs * PAUSE_GROWTH, this.#isStreamed ? PAUSE_STREAMED_MS : PAUSE_MAX_MS)
  }

  #polled(answer: WholeAnswer | ErrorCode): void {
    if (this.#isOver) return
    const isMissed = typeof answer === 'string' || answer.status === 429 || answer.status >= 500
    this.#misses = isMissed ? this.#misses + 1 : 0
    if (isMissed && this.#misses <= MISSES_MAX) this.#later()
    else if (typeof answer !== 'string' && answer.status < 300) this.#look(stateIn(answer.bytes))
    else {
      this.#cancel()
      this.#begun(answer)
    }
  }

  // --- the answer ---

  #fault(code: ErrorCode): void {
    this.#ex.errorDetail ??= code
    this.#failed(Math.max(ERRORS[code].status, 500), ERRORS[code].message)
  }

  #failed(status: number, detail: string): void {
    const json = JSON.stringify({ title: 'Prediction failed', detail, status })
    if (this.#stream === null) this.#reply(status, headersOf('application/json'), Buffer.from(json))
    else this.#end(eventOf('error', json))
  }

  /** In the words of the provider. */
  #refused({ status, headers, bytes }: WholeAnswer): void {
    if (this.#stream !== null) {
      this.#failed(502, `status ${status} of the prediction under way`)
      return
    }
    for (const name of ['content-length', 'transfer-encoding']) headers.remove(name)
    this.#reply(status, headers, bytes)
  }

  #answer(prediction: JsonObject, text: string): void {
    const json = JSON.stringify(prediction)
    if (this.#stream !== null) {
      this.#tell(text)
      const isSame = this.#text === text
      if (isSame) this.#end(eventOf('prediction', JSON.stringify({ ...prediction, output: null })))
      else this.#failed(502, 'the model has put out something else than it had begun')
    } else if (this.#isStreamed) this.#reply(200, headersOf('text/event-stream'), eventOf('prediction', json))
    else this.#reply(200, headersOf('application/json'), Buffer.from(json))
  }

  /** What is new of `text`, all that has been put out so far; null: it is none. */
  #tell(text: string | null): void {
    if (text === null || !text.startsWith(this.#text)) return
    const piece = text.slice(this.#text.length)
    if (piece === '') return
    this.#text = text
    this.#stream ??= this.#open()
    if (!this.#isOver) this.#stream.write(eventOf('output', JSON.stringify({ output: piece })))
  }

  /** From here on the engine gives it up by its answer. */
  #open(): Answer {
    this.#ex.pending = null
    const events = { writable() {}, gone: () => this.abort() }
    return this.#context.inProcess.answer(this.#ex, 200, headersOf('text/event-stream'), events)
  }

  #end(event: Buffer): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stream!.write(event)
    this.#stream!.end()
  }

  #reply(status: number, headers: HeaderBlock, bytes: Buffer): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ex.pending = null
    const answer = this.#context.inProcess.answer(this.#ex, status, headers, { writable() {}, gone() {} })
    answer.write(bytes)
    answer.end()
  }
}

/** A place for models, deployments and versions, ahead of "/predictions". */
const PLACE = /(?:\/(?:models|deployments)\/[^/]+\/[^/]+)?\/predictions$/
const USUAL_BASE = '/v1'

const baseOf = (path: string): string => (PLACE.test(path) ? path.replace(PLACE, '') : USUAL_BASE)

const eventOf = (name: string, json: string): Buffer => Buffer.from(`event: ${name}\ndata: ${json}\n\n`)

function headersOf(type: string): HeaderBlock {
  const headers = new HeaderBlock()
  headers.append('Content-Type', type)
  return headers
}
