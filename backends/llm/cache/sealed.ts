/**
 * Kept answers as bytes for a server that others may read. An answer is encrypted by what its request has: who does not
 * know the request, with the credential in it that `scope` adds, can neither find nor read nor forge the answer.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { Usage } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { parseJson } from '#engine/kit/json.ts'
import { isObject } from '#engine/kit/scan/texts.ts'
import type { Kept } from './store.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const LENGTH_BYTES = 4
const VERSION = 1

/** `digest`: of the request (cache-key.ts). */
const derived = (digest: string, use: 'name' | 'key'): Buffer =>
  createHmac('sha256', digest).update(`weir cache ${use}`).digest()

/** Says nothing of the request. */
export const nameOf = (digest: string): string => derived(digest, 'name').toString('base64url')

/** `kept.at` is of the monotonic clock `now`, and what is written of `wallNow`. */
export function seal(digest: string, kept: Kept, now: number, wallNow: number): Buffer {
  return encrypt(derived(digest, 'key'), writeKept(kept, now, wallNow))
}

/** Null: it is none of this version, of another request, or was changed. */
export function open(digest: string, sealed: Buffer, now: number, wallNow: number): Kept | null {
  const plain = decrypt(derived(digest, 'key'), sealed)
  return plain === null ? null : readKept(plain, now, wallNow)
}

// --- an answer as bytes ---

/** What stands ahead of the bytes of an answer. */
interface Head {
  readonly version: typeof VERSION
  /** When it was made, in milliseconds since 1970. */
  readonly at: number
  readonly format: Kept['format']
  readonly isStream: boolean
  readonly hasUsage: boolean
  readonly usage: Usage | null
  readonly names: readonly (string | null)[]
}

/** Clocks as of `seal`. */
export function writeKept(kept: Kept, now: number, wallNow: number): Buffer[] {
  const { format, isStream, hasUsage, usage, bytes } = kept
  const names = [kept.provider, kept.requestModel, kept.responseModel].map((name) => name ?? null)
  const head: Head = { version: VERSION, at: wallNow - (now - kept.at), format, isStream, hasUsage, usage, names }
  const text = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32LE(text.length)
  return [length, text, bytes]
}

/** Null: it is none of this version. */
export function readKept(plain: Buffer, now: number, wallNow: number): Kept | null {
  if (plain.length < LENGTH_BYTES) return null
  const end = LENGTH_BYTES + plain.readUInt32LE(0)
  if (end > plain.length) return null
  const head = parseJson(plain.toString('utf8', LENGTH_BYTES, end))
  if (!isHead(head)) return null
  const { at, format, isStream, hasUsage, usage, names } = head
  const [provider, requestModel, responseModel] = names.map((name) => name ?? undefined)
  const kept = { format, isStream, hasUsage, usage, bytes: plain.subarray(end), provider, requestModel, responseModel }
  // A clock that is behind that of the replica that has made it: it has just been made.
  return { ...kept, at: now - Math.max(0, wallNow - at) }
}

function isHead(head: unknown): head is Head {
  if (!isObject(head)) return false
  const { version, at, format, isStream, hasUsage, usage, names } = head
  const isUsage = usage === null || (isObject(usage) && Object.values(usage).every(Number.isFinite))
  const areNames = Array.isArray(names) && names.every((name) => name === null || typeof name === 'string')
  const areFlags = typeof isStream === 'boolean' && typeof hasUsage === 'boolean'
  const isKnown = version === VERSION && typeof format === 'string' && Object.hasOwn(FORMATS, format)
  return isKnown && Number.isFinite(at) && areFlags && isUsage && areNames
}

// --- encryption ---

/** `key`: 32 bytes. `bound`: what `decrypt` has to be shown as well. */
export function encrypt(key: Buffer, plain: readonly Buffer[], bound = NOTHING): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(bound)
  const pieces = plain.map((piece) => cipher.update(piece))
  return Buffer.concat([nonce, ...pieces, cipher.final(), cipher.getAuthTag()])
}

const NOTHING = Buffer.alloc(0)

/** Null: it was changed, or is of another key. */
export function decrypt(key: Buffer, sealed: Buffer, bound = NOTHING): Buffer | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES)).setAAD(bound)
  decipher.setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()])
  } catch {
    // It was changed, or is of another key.
    return null
  }
}
