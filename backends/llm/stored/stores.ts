/** Accounts at providers that keep objects, and the keys that ids of their objects are sealed with. */
import { createHash, hkdfSync } from 'node:crypto'
import type { AiBackend, AiProvider } from '#backends/llm/config/snapshot.ts'
import type { ObjectOwners } from '#engine/contract/object-owners.ts'
import { isSecret, reveal, type Secret } from '#engine/kit/secret.ts'
import { base32, isSealedWith, readMark, type Seal, type StoredKind, TAG_CHARS } from './seal.ts'

/** A shorter credential could be guessed by those who have an id: a password of a server of one's own. */
const CREDENTIAL_CHARS_MIN = 16
const KEY_BYTES = 32

/** One account. */
export interface Store {
  readonly tag: string
  readonly key: Uint8Array
}

/** An account, as a provider is asked for what it keeps. `name`: of the provider in the configuration. */
export interface Account {
  readonly name: string
  readonly store: Store
}

/** What is opened, and where it is; `store` null: it is the provider's own id, as it came. */
export interface OpenedId {
  readonly raw: string
  readonly store: Store | null
}

/**
 * The accounts of `backend`, by provider. Providers at one address with one credential are one account. `secret`: of
 * the process.
 */
export function storesOf(
  { groups, fallbacks = [], stored }: Pick<AiBackend, 'groups' | 'fallbacks' | 'stored'>,
  secret: Uint8Array
): ReadonlyMap<AiProvider, Store> {
  const providers = stored.among ?? [...groups.flat(), ...fallbacks.flatMap((one) => one.providers)]
  const places = new Map<string, Set<string>>()
  for (const provider of providers) {
    const credentials = places.get(placeOf(provider)) ?? new Set()
    places.set(placeOf(provider), credentials.add(credentialOf(provider)))
  }
  const known = new Map<string, Store>()
  return new Map(
    providers.map((provider) => {
      const place = placeOf(provider)
      const credential = credentialOf(provider)
      // The only account at its place stays the same when its credential is renewed.
      const account = places.get(place)!.size === 1 ? place : `${place}\0${credential}`
      const store = known.get(account) ?? storeOf(account, materialOf(provider, credential, stored.key, secret))
      known.set(account, store)
      return [provider, store]
    })
  )
}

/**
 * What keys are made of: the key of the configuration; or the credential, which every replica has; or what the process
 * has drawn, so that ids end with it. A client's own credential is its protection: nothing is to be hidden from it.
 */
function materialOf(
  { auth }: AiProvider,
  credential: string,
  key: Secret | null,
  secret: Uint8Array
): Uint8Array | string {
  if (key !== null) return reveal(key)
  if (auth.kind === 'client' || auth.kind === 'passthrough') return 'the credential of the client'
  return credential.length >= CREDENTIAL_CHARS_MIN ? credential : secret
}

function storeOf(account: string, material: Uint8Array | string): Store {
  const key = new Uint8Array(hkdfSync('sha256', material, 'weir', `llm stored ${account}`, KEY_BYTES))
  const digest = createHash('sha256').update(account).update(key).digest()
  return { tag: base32(digest).slice(0, TAG_CHARS), key }
}

function placeOf({ type, host, port, pathPrefix, path, cloud }: AiProvider): string {
  return JSON.stringify([type, host, port, pathPrefix ?? path, cloud])
}

/** All secrets of its authentication; '': there are none. */
function credentialOf({ auth }: AiProvider): string {
  const secrets: string[] = []
  const collect = (value: unknown): void => {
    if (isSecret(value)) secrets.push(reveal(value))
    else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) collect(one)
  }
  collect(auth)
  return secrets.join('\0')
}

/** The accounts and the tenant that ids of one exchange are read for. */
export interface StoreAccess {
  readonly stores: readonly Store[]
  /** '': unknown. */
  readonly tenant: string
}

/** What of a request is known without its body. Plain data. */
export interface StoredFacts {
  /** Of the account; null: the ids do not say. */
  readonly tag: string | null
  /** By the client's names. */
  readonly models: readonly string[]
  /** As of StoredBody. */
  readonly isUnseenBatch: boolean
  readonly readsAll: boolean
}

/** As an operation has them. */
export interface StoredSettings extends StoreAccess {
  /** Only models that the providers' aliases name are known: the others are not of this port. */
  readonly isClosed: boolean
  /** Whose the objects are; null or absent: nobody keeps that. */
  readonly owners?: ObjectOwners | null
  /** Of a large body, which another thread has read; absent: it is read here. */
  readonly facts?: StoredFacts | undefined
}

export const NO_STORES: StoredSettings = { stores: [], tenant: '', isClosed: false }

/** Whether clients get marks: one account that has one tenant needs none. */
export const hasMarks = ({ stores, tenant }: StoreAccess): boolean => tenant !== '' || stores.length > 1

export function sealFor({ tag, key }: Store, { tenant }: StoreAccess): Seal {
  return { tag, key, tenant }
}

/** Null: it is no id of this tenant's. An id without a mark is one where the client is unknown. */
export function openId(text: string, kind: StoredKind, access: StoreAccess): OpenedId | null {
  const marked = readMark(text)
  const store = marked === null ? undefined : access.stores.find(({ tag }) => tag === marked.tag)
  if (store !== undefined && isSealedWith(marked!, kind, sealFor(store, access))) return { raw: marked!.raw, store }
  return access.tenant === '' ? { raw: text, store: null } : null
}

/** Of one chat. */
export interface KeptIds {
  /** The account of what the request names; null: it names nothing. */
  readonly store: Store | null
  /** Null: answers have the provider's own ids. */
  readonly access: StoreAccess | null
  /** Any account will do that can, the first of the configuration ahead. */
  readonly isAny: boolean
  /** Of a large body about what is kept. */
  readonly facts?: StoredFacts
}

export const NO_KEPT_IDS: KeptIds = { store: null, access: null, isAny: false }
