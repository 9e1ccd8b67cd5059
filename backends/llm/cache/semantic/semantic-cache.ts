/**
 * Answers to like questions (docs/routing.md#like-questions): the text of the last turn is made a vector, and a vector
 * service is asked for the nearest one that has been answered. What it finds is judged here: it may be wrong.
 */
import type { ClientKeys } from '#backends/llm/auth/authenticator.ts'
import { cacheKey } from '#backends/llm/cache/cache-key.ts'
import type { Kept } from '#backends/llm/cache/store.ts'
import type { AiBackend, AiCache, AiSemantic } from '#backends/llm/config/snapshot.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isKeptBack } from '#engine/contract/outbound.ts'
import { reveal } from '#engine/kit/secret.ts'
import { type CompileAi, Embedder } from './embedder.ts'
import { questionOf } from './question.ts'
import { Unavailable } from './unavailable.ts'
import { Bucket, cosineOf, type LikeQuestion, type Vector } from './value.ts'
import { VectorStore } from './vector-store.ts'

/** Of a value: the vector and what is said of the answer, beside its bytes. */
const VALUE_BYTES_MORE = 64 * 1024

export class SemanticCache {
  readonly #settings: AiSemantic
  readonly #scope: AiCache['scope']
  readonly #entryBytesMax: number
  readonly #embedder: Embedder
  readonly #store: VectorStore
  readonly #backend: string

  constructor(settings: AiSemantic, cache: AiCache, backend: AiBackend, context: BackendContext, compile: CompileAi) {
    this.#settings = settings
    this.#scope = cache.scope
    this.#entryBytesMax = cache.entryBytesMax
    this.#backend = context.name
    this.#store = new VectorStore(settings.store, context, cache.entryBytesMax + VALUE_BYTES_MORE)
    this.#embedder = new Embedder(settings.embeddings, backend, context, compile)
  }

  /** Null: it is not looked for by its meaning. */
  questionOf(ex: Exchange, chat: ChatRequest, keys: ClientKeys): LikeQuestion | null {
    const question = questionOf(chat)
    if (question === null) return null
    const equal = cacheKey(ex, chat, keys, { backend: this.#backend, scope: this.#scope, own: question.rest })
    // Vectors of two models have nothing to do with each other.
    const { type, host, model } = this.#settings.embeddings
    const digest = JSON.stringify([equal, type, host, model])
    return { text: question.text, bucket: new Bucket(reveal(this.#settings.key), digest), vector: null }
  }

  /** Whether what was found earlier may still be said. */
  accepts({ similarity = 1, at }: Kept, now: number): boolean {
    const { threshold, ttlMs } = this.#settings
    return similarity >= threshold && now - at < ttlMs
  }

  /** Never rejects. Null: there is none, or none that can be had in time. */
  async find(ex: Exchange, question: LikeQuestion): Promise<Kept | null> {
    const { embeddings, threshold, timeoutMs } = this.#settings
    const model = embeddings.called ?? embeddings.name
    if (isKeptBack(`${model} for a vector of the question, and the vector service ${this.#store.name}`)) return null
    const startedAt = performance.now()
    return await this.#store.attempt(async () => {
      if (ex.responseDone) return null
      const vector = await this.#embedder.vector(ex, question.text, timeoutMs)
      question.vector = vector
      const leftMs = timeoutMs - (performance.now() - startedAt)
      if (leftMs <= 0) throw new Unavailable('the model of vectors has taken all of timeout')
      const nowS = Math.floor(Date.now() / 1_000)
      const value = await this.#store.find({ bucket: question.bucket.name, vector, threshold, nowS }, leftMs, ex)
      return value === null ? null : this.#judged(question, vector, value)
    })
  }

  #judged({ bucket }: LikeQuestion, vector: Vector, value: Buffer): Kept | null {
    const now = performance.now()
    const opened = bucket.open(value, now, Date.now())
    if (opened === null) {
      this.#store.foreign()
      return null
    }
    const similarity = cosineOf(vector, opened.vector)
    const kept = { ...opened.kept, similarity }
    return this.accepts(kept, now) && kept.bytes.length <= this.#entryBytesMax ? kept : null
  }

  /** `kept`: what a provider has answered to it. */
  keep({ text, bucket, vector }: LikeQuestion, kept: Kept): void {
    if (vector === null) return
    const wallNow = Date.now()
    this.#store.put({
      id: bucket.idOf(text),
      bucket: bucket.name,
      vector,
      expiresS: Math.ceil((wallNow + this.#settings.ttlMs) / 1_000),
      value: bucket.seal(vector, kept, performance.now(), wallNow)
    })
  }
}
