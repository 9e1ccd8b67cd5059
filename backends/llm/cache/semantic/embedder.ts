/** Vectors of texts, from a model of the file: a call of the gateway's own, which the client's key pays. */
import type { AiBackend, AiProvider } from '#backends/llm/config/snapshot.ts'
import type { BackendContext, CompiledBackend } from '#engine/contract/backend.ts'
import { charge } from '#engine/contract/buckets.ts'
import { ERRORS } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { whenOver } from '#engine/contract/exchange-signal.ts'
import type { CallEvents } from '#engine/contract/in-process.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { parseJson } from '#engine/kit/json.ts'
import { isObject } from '#engine/kit/scan/texts.ts'
import { Unavailable } from './unavailable.ts'
import { type Vector, vectorOf } from './value.ts'

/** 8,192 numbers of 24 characters, and what stands around them. */
const ANSWER_BYTES_MAX = 256 * 1024

/** Wrong is one text alone (too many tokens, a filter): no client turns the answers of others off with it. */
const OF_TEXTS: ReadonlySet<number> = new Set([400, 413, 422])

export type CompileAi = (backend: AiBackend, context: BackendContext) => CompiledBackend

export class Embedder {
  readonly #model: string
  readonly #service: CompiledBackend
  readonly #context: BackendContext

  /** `backend`: whose questions they are. */
  constructor(provider: AiProvider, backend: AiBackend, context: BackendContext, compile: CompileAi) {
    const { kind, routes, unsupported, silence, prices } = backend
    const stored = { key: null, scope: 'all' } as const
    const only = { kind, routes, unsupported, silence, prices, stored, modelAliases: {}, groups: [[provider]] }
    // A name of its own: what fails here is no reason to leave a provider alone that clients ask.
    const own = { ...context, name: `${context.name}/semantic` }
    this.#model = provider.called ?? provider.name
    this.#service = compile({ ...only, promptGuard: { request: [], response: [] }, policies: {} }, own)
    this.#context = context
  }

  /** Rejects with Unavailable. */
  vector(ex: Exchange, text: string, timeoutMs: number): Promise<Vector> {
    const { promise, resolve, reject } = Promise.withResolvers<Vector>()
    const headers = new HeaderBlock()
    headers.append('Content-Type', 'application/json')
    headers.append('Accept', 'application/json')
    const body = Buffer.from(JSON.stringify({ model: this.#model, input: text }))
    const record = { of: ex, purpose: 'cache' } as const
    const head = { method: 'POST', path: '/v1/embeddings', query: '', headers }
    // It may fail before callBackend returns: a budget that is used up.
    const answer = new EmbeddingAnswer(ex, resolve, reject)
    const call = this.#context.inProcess.callBackend(
      this.#service.serve,
      { ...head, body, timeoutMs, record, payer: ex },
      answer
    )
    answer.tooLong = () => call.abort()
    const callOff = whenOver(ex, () => {
      call.abort()
      reject(new Unavailable('the client has gone', 'caller'))
    })
    return promise.finally(callOff)
  }
}

class EmbeddingAnswer implements CallEvents {
  tooLong = (): void => {}
  readonly #ex: Exchange
  readonly #resolve: (vector: Vector) => void
  readonly #reject: (why: Unavailable) => void
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #status = 0

  constructor(ex: Exchange, resolve: (vector: Vector) => void, reject: (why: Unavailable) => void) {
    this.#ex = ex
    this.#resolve = resolve
    this.#reject = reject
  }

  head(status: number): void {
    this.#status = status
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    this.#bytes += end - start
    if (this.#bytes <= ANSWER_BYTES_MAX) this.#pieces.push(Buffer.from(chunk.subarray(start, end)))
    else {
      this.#reject(new Unavailable('the answer of the model of vectors is too long'))
      setImmediate(() => this.tooLong())
    }
    return this.#bytes <= ANSWER_BYTES_MAX
  }

  end(): void {
    // What the gateway itself answers has no head: the model cannot be asked for this.
    if (this.#status !== 200) {
      const why = `the model of vectors answers with status ${this.#status || 'of an error'}`
      this.#reject(new Unavailable(why, OF_TEXTS.has(this.#status) ? 'text' : 'service'))
      return
    }
    const answer = parseJson(Buffer.concat(this.#pieces).toString())
    const [first] = isObject(answer) && Array.isArray(answer.data) ? (answer.data as readonly unknown[]) : []
    const vector = isObject(first) ? vectorOf(first.embedding) : null
    if (vector === null) this.#reject(new Unavailable('the model of vectors answers without a vector'))
    else this.#resolve(vector)
  }

  failed(code: keyof typeof ERRORS): void {
    const { source } = ERRORS[code]
    // A budget that is used up, or a client that has gone, says nothing of the model.
    const isFault = source === 'upstream' || source === 'internal'
    this.#reject(new Unavailable(`the model of vectors cannot be asked: ${code}`, isFault ? 'service' : 'caller'))
  }

  /** Limits of tokens count them as those of the call itself. */
  used({ inputTokens = 0 }: Parameters<NonNullable<CallEvents['used']>>[0]): void {
    charge(this.#ex, inputTokens)
  }
}
