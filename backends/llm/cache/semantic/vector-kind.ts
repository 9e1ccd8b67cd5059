/** What a kind of vector service is asked, and how its answers are read. Another kind is one more file. */
import type { AiVectorStore } from '#backends/llm/config/snapshot.ts'
import { qdrant } from './qdrant.ts'
import type { Vector } from './value.ts'

export interface VectorRequest {
  readonly method: string
  /** Below that of the API. */
  readonly path: string
  /** JSON. */
  readonly body: object
}

/** The nearest point is wanted. */
export interface VectorQuery {
  readonly bucket: string
  readonly vector: Vector
  /** Cosine: what is further away need not be sent. */
  readonly threshold: number
  /** Seconds since 1970: what expires by then is not wanted. */
  readonly nowS: number
  /** Longer ones, from a time when maxEntrySize was larger, are not wanted. */
  readonly valueBytesMax: number
}

export interface VectorPoint {
  /** A UUID. */
  readonly id: string
  readonly bucket: string
  readonly vector: Vector
  readonly expiresS: number
  readonly value: Buffer
}

export interface VectorKind {
  /** The header field of a key. */
  readonly keyField: string
  find(collection: string, query: VectorQuery): VectorRequest
  /** The value of the nearest point; null: there is none. Undefined: it is no answer to `find`. */
  readFound(answer: unknown): Buffer | null | undefined
  put(collection: string, point: VectorPoint): VectorRequest
  /** Deletes what has expired. */
  sweep(collection: string, nowS: number): VectorRequest
  /** For the log. */
  problemOf(status: number, collection: string): string
}

export const VECTOR_KINDS: { readonly [kind in AiVectorStore['kind']]: VectorKind } = { qdrant }
