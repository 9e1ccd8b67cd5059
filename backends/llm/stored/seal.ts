/**
 * Ids of what a provider keeps (files, batches, responses), as clients get them: the provider's own id with a mark
 * behind it. The mark says which account has the object, and authenticates that with the id, its kind and the tenant:
 * any process with the same configuration routes it back, and no other client's key opens it. HMAC-SHA-256 (RFC 2104),
 * cut to 120 bits. An id has one spelling for one tenant: clients compare ids, and page through lists with them.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** RFC 4648 section 6, in lower case: Google's client reads nothing else in the name of a file ("tFileName"). */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

export const TAG_CHARS = 4
const MAC_BYTES = 15
const MAC_CHARS = 24
export const MARK_CHARS = TAG_CHARS + MAC_CHARS

/** Longest id of a provider that is looked at. The longest known ones (Azure's responses) have some 150 characters. */
const RAW_CHARS_MAX = 512
/** Ids are one segment of a path, or Google's `collection/name`. */
const RAW = /^[A-Za-z0-9_][A-Za-z0-9_~:=-]*(?:[./][A-Za-z0-9_~:=-]+)*$/

/** What an id is the name of: an id of another kind opens nothing. */
export type StoredKind =
  | 'batch'
  | 'cached content'
  | 'call'
  | 'container'
  | 'conversation'
  | 'eval'
  | 'file'
  | 'job'
  | 'response'
  | 'skill'
  | 'upload'
  | 'vector store'

/** Of one account of a provider, for one tenant. Plain data: large answers are read in another thread. */
export interface Seal {
  /** Which account: TAG_CHARS of the alphabet. */
  readonly tag: string
  readonly key: Uint8Array
  /** '': the client is unknown. */
  readonly tenant: string
}

/** An id as a client shows it, in its parts. */
export interface MarkedId {
  readonly raw: string
  readonly tag: string
  readonly mac: string
}

/** Whether `text` may be an id that a provider has made. */
export const isRawId = (text: string): boolean => text.length <= RAW_CHARS_MAX && RAW.test(text)

/** What cannot be an id stays as it is. */
export function sealId(raw: string, kind: StoredKind, seal: Seal): string {
  return isRawId(raw) ? raw + seal.tag + macOf(raw, kind, seal) : raw
}

/** Null: it has no mark. */
export function readMark(text: string): MarkedId | null {
  const at = text.length - MARK_CHARS
  if (at < 1) return null
  const raw = text.slice(0, at)
  const mark = text.slice(at)
  if (!/^[a-z2-7]+$/.test(mark) || !isRawId(raw)) return null
  return { raw, tag: mark.slice(0, TAG_CHARS), mac: mark.slice(TAG_CHARS) }
}

/** Whether `id` has been sealed with `seal` for an object of this kind. */
export function isSealedWith({ raw, tag, mac }: MarkedId, kind: StoredKind, seal: Seal): boolean {
  return tag === seal.tag && timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(raw, kind, seal)))
}

/** The parts cannot run into each other: neither a kind nor an id has a zero byte, and the tenant is the last. */
function macOf(raw: string, kind: StoredKind, { key, tenant }: Seal): string {
  const mac = createHmac('sha256', key).update(`${kind}\0${raw}\0${tenant}`).digest()
  return base32(mac.subarray(0, MAC_BYTES))
}

/** Of bytes in fives. */
export function base32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(value >> bits) & 31]
    }
  }
  return text
}
