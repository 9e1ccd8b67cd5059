/**
 * Where a list goes on, as a tenant gets it. The place is an id of somebody else's object, or a word of the provider's
 * about all of them: AES-256-GCM hides it, and binds it to the account, the kind and the tenant.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Seal, StoredKind } from './seal.ts'

const PREFIX = 'page_'
const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
/** Tokens of providers have some hundred characters. */
const TEXT_MAX = 8_192

export interface PageCursor {
  /** What the provider is asked for: an id, or its token; '': the first page. */
  readonly at: string
  /** How many objects of that page the client has passed already. */
  readonly skip: number
}

const keyOf = ({ key }: Seal): Buffer => Buffer.from(hkdfSync('sha256', key, 'weir', 'llm stored page', KEY_BYTES))
const boundTo = (kind: StoredKind, { tenant }: Seal): Buffer => Buffer.from(`${kind}\0${tenant}`)

export const isPageCursor = (text: string): boolean => text.startsWith(PREFIX)

export function sealCursor({ at, skip }: PageCursor, kind: StoredKind, seal: Seal): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(seal), iv).setAAD(boundTo(kind, seal))
  const hidden = Buffer.concat([cipher.update(JSON.stringify([at, skip])), cipher.final()])
  return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString('base64url')
}

/** Null: it has not been sealed so. */
export function openCursor(text: string, kind: StoredKind, seal: Seal): PageCursor | null {
  if (!isPageCursor(text) || text.length > TEXT_MAX) return null
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return null
  const decipher = createDecipheriv('aes-256-gcm', keyOf(seal), bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES
  })
  decipher.setAAD(boundTo(kind, seal)).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  try {
    const open = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
    const value: unknown = JSON.parse(open.toString())
    if (!Array.isArray(value) || typeof value[0] !== 'string' || typeof value[1] !== 'number') return null
    return { at: value[0], skip: value[1] }
  } catch {
    // Another tenant's, another account's, or nobody's.
    return null
  }
}
