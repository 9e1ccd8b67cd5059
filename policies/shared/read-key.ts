/** A key that a request shows: where it is looked for, what refuses it, and what becomes of it. */

import { type Detail, placeOf } from '#engine/contract/detail.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Hook, Verdict } from '#engine/contract/filter.ts'
import { type Claims, identityOf } from '#engine/contract/identity.ts'
import { refuse } from '#engine/contract/refuse.ts'
import { credentialAt, credentialElsewhere, type Location, placeText, SEVERAL } from './credential.ts'
import { asNobody } from './nobody.ts'

export interface KeyReader<K> {
  /** For the log. */
  readonly policy: string
  readonly mode: 'Strict' | 'Optional'
  readonly location: Location
  /** No place is configured: that of the clients of a route's backends does too. */
  readonly isAnyPlace: boolean
  /** WWW-Authenticate of a 401. */
  readonly challenge: readonly string[]
  /** For the log: why a key is none that counts. Nothing of the key itself. */
  readonly unknown: string
  /** `text`: as the request shows it. How long it takes says nothing about the keys that are known. */
  readonly find: (text: string) => K | undefined
  readonly claimsOf: (key: K) => Claims
  /** The key is known, and its claims are part of the identity of the caller. */
  readonly accept: (ex: Exchange, key: K) => Verdict | Promise<Verdict>
  /** Where a key that is not known may be one all the same: null: it is none. */
  readonly refuseUnknown?: (ex: Exchange) => Verdict | null
}

/** The key does not reach the backend, whether or not it is known. */
export function readKey<K>(reader: KeyReader<K>): Hook {
  const { policy, mode, location: at, isAnyPlace, challenge, find, claimsOf, accept } = reader
  const usual = credentialAt(at)
  const missing = detailOf(policy, `no key in ${placeText(at)}`)
  const repeated = detailOf(policy, 'more than one key')
  const wrong = detailOf(policy, reader.unknown)
  return (ex) => {
    const inUsual = usual.find(ex)
    const elsewhere = inUsual === null && isAnyPlace ? credentialElsewhere(ex) : null
    const credential = elsewhere ?? usual
    const found = elsewhere === null ? inUsual : elsewhere.find(ex)
    if (found === null) return mode === 'Strict' ? refuse(ex, 'API_KEY_MISSING', challenge, missing) : asNobody(ex)
    if (found === SEVERAL) {
      credential.hide(ex)
      return refuse(ex, 'API_KEY_REPEATED', null, repeated)
    }
    const key = find(found)
    if (key === undefined) {
      // A key for the provider, which a client may bring along, stands in the same place.
      if (elsewhere !== null && mode === 'Optional') return asNobody(ex)
      // It may be right elsewhere, or by all but one character.
      credential.hide(ex)
      return reader.refuseUnknown?.(ex) ?? refuse(ex, 'API_KEY_INVALID', challenge, wrong)
    }
    credential.take(ex, found)
    const identity = identityOf(ex)
    identity.apiKey = claimsOf(key)
    identity.rawKey = found
    return accept(ex, key)
  }
}

export const detailOf =
  (policy: string, what: string): Detail =>
  (ex) =>
    `${placeOf(ex, policy)}: ${what}`
