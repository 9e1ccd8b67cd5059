/** Whose requests without a session are whose: by what is verified, by credentials, and by nothing else. */
import { deepEqual, equal, notDeepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Exchange } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { isSensitive } from '#engine/kit/sensitive.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { CREDENTIALS, isPerRequest } from './forwarded-headers.ts'
import { identify } from './stateless-sessions.ts'

function verified(sub: string, rawToken: string, more: readonly (readonly [string, string])[] = []): Exchange {
  // Policies take credentials away; backendAuth passthrough gives them back.
  const ex = fakeExchange({ headers: [['Authorization', `Bearer ${rawToken}`], ...more] })
  identityOf(ex).jwt = { iss: 'https://issuer', sub }
  identityOf(ex).rawToken = rawToken
  return ex
}

test('a token that is refreshed is of the same caller', () => {
  const [first, second] = ['first', 'second'].map((token) => identify(verified('ann', token), ['authorization']))
  deepEqual(first, second)
  equal(first!.isAnonymous, false)
  notDeepEqual(identify(verified('bob', 'first'), ['authorization']).marks, first!.marks)
})

test('callers behind one verified identity are separated by their own credentials', () => {
  const marksOf = (key: string) =>
    identify(verified('app', 'token', [['X-Api-Key', key]]), ['authorization', 'x-api-key']).marks
  deepEqual(marksOf('ann'), marksOf('ann'))
  notDeepEqual(marksOf('ann'), marksOf('bob'))
})

test('credentials that no target gets do not identify a caller', () => {
  const ex = fakeExchange({ headers: [['Authorization', 'Bearer ann']] })
  equal(identify(ex, []).isAnonymous, true)
  equal(identify(ex, ['authorization']).isAnonymous, false)
})

test('credentials are secret wherever they are printed, and are of no single request', () => {
  for (const name of CREDENTIALS) {
    ok(isSensitive(name), name)
    ok(!isPerRequest(name), name)
  }
})
