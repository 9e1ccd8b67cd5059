/** Who calls, as far as policies have found out: a session belongs to one caller. */
import { createHash } from 'node:crypto'
import { clientKey } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Claims } from '#engine/contract/identity.ts'
import { Lru } from '#engine/kit/lru.ts'

const ANONYMOUS = ''
const CACHE_MAX = 4096

/** By key: the hash of the API key costs less than a microsecond, but each request asks for it. */
const keyHashes = new Lru<string, string>(CACHE_MAX)

/**
 * The same text for the same caller, in every replica; '' for an unknown one. Of a token, issuer and subject
 * count (RFC 7519 section 4.1), since a refreshed token is the same caller; of an API key, the key itself.
 */
export function callerOf({ identity }: Exchange): string {
  if (identity === null) return ANONYMOUS
  const { jwt, apiKey, rawKey, basicAuth } = identity
  if (jwt === null && apiKey === null && basicAuth === null) return ANONYMOUS
  const parts = [
    jwt === null ? null : (['jwt', jwt.iss ?? null, subjectOf(jwt)] as const),
    apiKey === null ? null : (['key', rawKey === null ? apiKey : hashOfKey(rawKey)] as const),
    basicAuth === null ? null : (['basic', basicAuth.username ?? null] as const)
  ]
  return hash(JSON.stringify(parts))
}

/** The party whose share of bounded resources it uses: the caller, or the network of an unknown one. */
export function partyOf(ex: Exchange): string {
  return callerOf(ex) || clientKey(ex)
}

/** A token without a subject is a caller by itself: two of them may be of different users. */
function subjectOf(jwt: Claims): unknown {
  return jwt.sub === undefined ? ['claims', jwt.client_id ?? null, jwt.azp ?? null, jwt.jti ?? null, jwt] : jwt.sub
}

function hashOfKey(key: string): string {
  const known = keyHashes.get(key)
  if (known !== undefined) return known
  const made = hash(key)
  keyHashes.set(key, made)
  return made
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
