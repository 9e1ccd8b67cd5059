/**
 * What a vector service is told of an answer: a name, an id and bytes that say nothing. All three are made of the key
 * of the configuration and of the request but for its question: who does not know both can neither find nor read
 * nor forge an answer. The vector that counts stands in the bytes; the one beside them only leads there.
 */
import { createHmac } from 'node:crypto'
import { decrypt, encrypt, readKept, writeKept } from '#backends/llm/cache/sealed.ts'
import type { Kept } from '#backends/llm/cache/store.ts'

const COUNT_BYTES = 2
const FLOAT_BYTES = 4
/** Numbers of one vector: models make up to 4,096. */
export const VECTOR_LENGTH_MAX = 8_192

/** Of length 1, so that a product of two is their cosine. */
export type Vector = Float32Array

/** Requests that differ in their question alone. */
export class Bucket {
  readonly #root: Buffer

  /** `digest`: of what they have in common. */
  constructor(key: string, digest: string) {
    this.#root = createHmac('sha256', key).update(`weir semantic\0${digest}`).digest()
  }

  #derived(use: 'name' | 'key' | 'id', text = ''): Buffer {
    return createHmac('sha256', this.#root).update(`${use}\0${text}`).digest()
  }

  /** 43 characters. */
  get name(): string {
    return this.#derived('name').toString('base64url')
  }

  /** A UUID of version 8 (RFC 9562): the same question has one, so that its next answer takes the place of this one. */
  idOf(question: string): string {
    const bytes = this.#derived('id', question).subarray(0, 16)
    bytes[6] = (bytes[6]! & 0x0f) | 0x80
    bytes[8] = (bytes[8]! & 0x3f) | 0x80
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }

  /** Clocks as of sealed.ts. */
  seal(vector: Vector, kept: Kept, now: number, wallNow: number): Buffer {
    return encrypt(this.#derived('key'), [vectorBytes(vector), ...writeKept(kept, now, wallNow)])
  }

  /** Null: it is of another bucket or version, or was changed. */
  open(sealed: Buffer, now: number, wallNow: number): { readonly vector: Vector; readonly kept: Kept } | null {
    const plain = decrypt(this.#derived('key'), sealed)
    const vector = plain === null ? null : readVector(plain)
    if (plain === null || vector === null) return null
    const kept = readKept(plain.subarray(COUNT_BYTES + vector.length * FLOAT_BYTES), now, wallNow)
    return kept === null ? null : { vector, kept }
  }
}

/** A question that is compared by its meaning. */
export interface LikeQuestion {
  readonly text: string
  readonly bucket: Bucket
  /** Null: it is not known yet, or cannot be had. */
  vector: Vector | null
}

function vectorBytes(vector: Vector): Buffer {
  const bytes = Buffer.alloc(COUNT_BYTES + vector.length * FLOAT_BYTES)
  bytes.writeUInt16LE(vector.length)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, COUNT_BYTES + i * FLOAT_BYTES)
  return bytes
}

function readVector(plain: Buffer): Vector | null {
  const length = plain.length < COUNT_BYTES ? 0 : plain.readUInt16LE(0)
  if (length === 0 || plain.length < COUNT_BYTES + length * FLOAT_BYTES) return null
  return Float32Array.from({ length }, (_, i) => plain.readFloatLE(COUNT_BYTES + i * FLOAT_BYTES))
}

/** Null: it is no list of numbers, too long a one, or has no direction. */
export function vectorOf(values: unknown): Vector | null {
  if (!Array.isArray(values) || values.length === 0 || values.length > VECTOR_LENGTH_MAX) return null
  if (!values.every((value): value is number => typeof value === 'number')) return null
  const length = Math.hypot(...values)
  return length > 0 && Number.isFinite(length) ? Float32Array.from(values, (value) => value / length) : null
}

/** Of vectors of the same length; NaN where they are not. */
export function cosineOf(one: Vector, other: Vector): number {
  if (one.length !== other.length) return Number.NaN
  let sum = 0
  for (let i = 0; i < one.length; i++) sum += one[i]! * other[i]!
  return sum
}
