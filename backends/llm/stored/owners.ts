/** Whose objects are whose: what is written down of answers, so that lists can be told apart by it. */
import { createHmac } from 'node:crypto'
import type { Json } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { ObjectOwners } from '#engine/contract/object-owners.ts'
import { idsIn } from './references.ts'
import { base32, type Seal, type StoredKind } from './seal.ts'

/** 120 bits. */
const HASH_BYTES = 15

/** Neither can be read back without the key of the account: who sees the place learns how many objects there are. */
const hash = (seal: Seal, text: string): string =>
  base32(createHmac('sha256', seal.key).update(text).digest().subarray(0, HASH_BYTES))

/** Objects of one kind, of one tenant, at one account. */
export const holderOf = (kind: StoredKind, seal: Seal): string => hash(seal, `holder\0${kind}\0${seal.tenant}`)

export const objectOf = (raw: string, kind: StoredKind, seal: Seal): string => hash(seal, `object\0${kind}\0${raw}`)

/**
 * Notes what an answer about one object names: what is marked there is the tenant's. `own`: of the API. Rejects where
 * that cannot be written down.
 */
export async function noteObjects(body: Json, own: StoredKind, seal: Seal, owners: ObjectOwners): Promise<void> {
  // Lists are of what is known, or below an object.
  if (!isObject(body) || Array.isArray(body.data)) return
  const kinds = new Map<StoredKind, Set<string>>()
  for (const { raw, kind } of idsIn(body, own)) {
    const objects = kinds.get(kind) ?? new Set<string>()
    kinds.set(kind, objects.add(objectOf(raw, kind, seal)))
  }
  for (const [kind, objects] of kinds) await owners.note(holderOf(kind, seal), [...objects])
}

/** Google's answers about what they have deleted are empty: the path that was asked for says it. */
const OF_GOOGLE = /\/((?:files|cachedContents|batches)\/[^/?]+)$/

/** What is deleted is in no list any more. `path`: of the provider. Rejects as noteObjects does. */
export async function forgetObject(
  { body, path }: { readonly body: Json; readonly path: string },
  own: StoredKind,
  seal: Seal,
  owners: ObjectOwners
): Promise<void> {
  const deleted = isObject(body) ? idsIn(body, own).find(({ kind }) => kind === own) : undefined
  const raw = deleted?.raw ?? OF_GOOGLE.exec(path)?.[1]
  if (raw !== undefined) await owners.forget(holderOf(own, seal), objectOf(raw, own, seal))
}
