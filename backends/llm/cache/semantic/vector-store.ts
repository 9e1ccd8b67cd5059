/** The vector service of a configuration: it is asked within bounds, and left alone for a while when it fails. */
import type { AiVectorStore } from '#backends/llm/config/snapshot.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HttpService } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { CircuitBreaker } from '#engine/kit/circuit-breaker.ts'
import { parseJson } from '#engine/kit/json.ts'
import { reveal } from '#engine/kit/secret.ts'
import { Unavailable } from './unavailable.ts'
import { VECTOR_KINDS, type VectorKind, type VectorPoint, type VectorQuery, type VectorRequest } from './vector-kind.ts'

/** Requests with answers on their way there, as they are sent; beyond they are not. */
const SENDING_BYTES_MAX = 16 * 1024 * 1024
/** One number of a vector in JSON: a sign, "0.", 17 digits, an exponent, a comma. */
const NUMBER_BYTES = 25
/** Of what nobody waits for. */
const SEND_TIMEOUT_MS = 30_000
/** What is said beside a value. */
const ANSWER_BYTES_MORE = 64 * 1024
/** What has expired is deleted so often, by each worker that sends something. */
const SWEEP_MS = 600_000
const BREAKER = { firstMs: 1_000, maxMs: 60_000 }
/** A line of the log about one thing so often. */
const LOG_MS = 60_000

const base64Bytes = (length: number): number => 4 * Math.ceil(length / 3)

type Log = BackendContext['log']

/** What is known of a service over reloads, in this thread. */
class Health {
  readonly breaker = new CircuitBreaker(BREAKER)
  sendingBytes = 0
  sweptAt = Number.NEGATIVE_INFINITY
  /** When the log was told last: of failures, of texts that are refused, and of values of others. */
  readonly loggedAt = {
    failure: Number.NEGATIVE_INFINITY,
    text: Number.NEGATIVE_INFINITY,
    foreign: Number.NEGATIVE_INFINITY
  }
  /** The log says that it rests. */
  isAway = false
}

export class VectorStore {
  readonly #settings: AiVectorStore
  readonly #kind: VectorKind
  readonly #service: HttpService
  readonly #health: Health
  readonly #valueBytesMax: number
  readonly #log: Log

  /** `valueBytesMax`: of one value. Throws a FieldError for a service that is not there. */
  constructor(settings: AiVectorStore, { services, state, log }: BackendContext, valueBytesMax: number) {
    const { kind, server, pathPrefix, collection } = settings
    this.#settings = settings
    this.#kind = VECTOR_KINDS[kind]
    this.#service = services.http(server)
    this.#health = state(
      `ai.cache semantic ${JSON.stringify([kind, server, pathPrefix, collection])}`,
      () => new Health()
    )
    this.#valueBytesMax = valueBytesMax
    this.#log = log
  }

  /** For people: where it is. */
  get name(): string {
    return this.#service.name
  }

  /**
   * Runs `work`, which asks it and what else is needed for that, unless they rest after failures. Null: they do, or
   * have failed. Never rejects.
   */
  async attempt<T>(work: () => Promise<T | null>): Promise<T | null> {
    const { breaker } = this.#health
    const startedAt = performance.now()
    if (!breaker.allows(startedAt)) return null
    breaker.probes++
    try {
      const outcome = await work()
      breaker.succeeded(startedAt)
      if (this.#health.isAway) this.#log('info', 'llm.cache.semantic: answers to like questions are there again')
      this.#health.isAway = false
      return outcome
    } catch (error) {
      this.#failed(error, startedAt)
      return null
    } finally {
      breaker.probes--
    }
  }

  #failed(error: unknown, startedAt: number): void {
    const whose = error instanceof Unavailable ? error.whose : 'service'
    if (whose === 'text') this.#warn('text', `a question is not compared: ${(error as Unavailable).message}`)
    if (whose !== 'service') return
    const why = error instanceof Unavailable ? error.message : 'it has failed'
    this.#health.breaker.failed(performance.now(), startedAt)
    if (this.#warn('failure', `providers are asked instead: ${why}`)) this.#health.isAway = true
  }

  /** False: the log was told not long ago. */
  #warn(of: keyof Health['loggedAt'], message: string): boolean {
    const { loggedAt } = this.#health
    const now = performance.now()
    if (now - loggedAt[of] < LOG_MS) return false
    loggedAt[of] = now
    this.#log('warn', `llm.cache.semantic: ${message}`)
    return true
  }

  /** The value of the nearest point; null: there is none. Rejects with Unavailable. */
  async find(like: Omit<VectorQuery, 'valueBytesMax'>, timeoutMs: number, ex: Exchange): Promise<Buffer | null> {
    const query = { ...like, valueBytesMax: this.#valueBytesMax }
    const answer = await this.#ask(this.#kind.find(this.#settings.collection, query), timeoutMs, ex)
    const value = this.#kind.readFound(answer)
    if (value === undefined) throw new Unavailable('the vector service does not answer the question')
    return value !== null && value.length > this.#valueBytesMax ? null : value
  }

  /** Nobody waits for it. */
  put(point: VectorPoint): void {
    const health = this.#health
    const bytes = base64Bytes(point.value.length) + point.vector.length * NUMBER_BYTES
    if (point.value.length > this.#valueBytesMax || health.sendingBytes + bytes > SENDING_BYTES_MAX) return
    health.sendingBytes += bytes
    const { collection } = this.#settings
    void this.attempt(async () => {
      await this.#ask(this.#kind.put(collection, point), SEND_TIMEOUT_MS, null)
      const now = performance.now()
      if (now - health.sweptAt < SWEEP_MS) return null
      health.sweptAt = now
      return await this.#ask(this.#kind.sweep(collection, Math.floor(Date.now() / 1_000)), SEND_TIMEOUT_MS, null)
    }).finally(() => {
      health.sendingBytes -= bytes
    })
  }

  /** A value was found that was not written for the question. */
  foreign(): void {
    this.#warn(
      'foreign',
      'the vector service has a value that no gateway with this key has written there: it is left out'
    )
  }

  #ask({ method, path, body }: VectorRequest, timeoutMs: number, ex: Exchange | null): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const { pathPrefix, collection, apiKey } = this.#settings
    const headers = new HeaderBlock()
    headers.append('Content-Type', 'application/json')
    headers.append('Accept', 'application/json')
    if (apiKey !== null) headers.append(this.#kind.keyField, reveal(apiKey))
    const answerBytesMax = base64Bytes(this.#valueBytesMax) + ANSWER_BYTES_MORE
    const bounds = { timeoutMs, ex, answerBytesMax }
    const bytes = Buffer.from(JSON.stringify(body))
    const request = { method, path: pathPrefix + path, query: '', headers, body: bytes, ...bounds }
    this.#service.request(request, (answer) => {
      if (answer.error !== null) {
        const isFault = answer.error !== 'CANCELLED' && answer.error !== 'NO_ROOM'
        reject(
          new Unavailable(
            `the vector service cannot be asked: ${answer.error}, ${answer.detail}`,
            isFault ? 'service' : 'caller'
          )
        )
      } else if (answer.status === 200) resolve(parseJson(answer.body.toString()))
      else reject(new Unavailable(`the vector service: ${this.#kind.problemOf(answer.status, collection)}`))
    })
    return promise
  }
}
