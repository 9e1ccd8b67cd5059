import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP, type Verdict } from '#engine/contract/filter.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, problemsOf, runRequest } from '#engine/testing/policy.ts'
import { apiKeyAuthentication } from './api-key-authentication.ts'

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

function ask(config: object, options: ExchangeOptions = {}): [Verdict, Exchange] {
  const ex = fakeExchange(options)
  return [runRequest(compilePolicy(apiKeyAuthentication, config), ex), ex]
}

const bearer = (key: string): ExchangeOptions => ({
  headers: [
    ['a', '1'],
    ['Authorization', `Bearer ${key}`]
  ]
})

const KEYS = [
  { key: 'first-key', metadata: { team: 'blue', limits: [1, 2] } },
  { keyHash: `sha256:${sha256('second-key').slice(7).toUpperCase()}`, metadata: 'gold' },
  { key: 'clé €' }
]

describe('requests', () => {
  test('a key opens the door: its metadata is known, the line is gone and kept aside', () => {
    const [verdict, ex] = ask({ keys: KEYS }, bearer('first-key'))
    assert.deepEqual([verdict, identityOf(ex).apiKey], [CONTINUE, { team: 'blue', limits: [1, 2] }])
    assert.notEqual(identityOf(ex).rawKey, null)
    assert.deepEqual(
      [ex.request.lines(), identityOf(ex).credentials],
      ['a: 1\r\n', ['authorization', 'Bearer first-key']]
    )
  })

  test('a key given by its hash, metadata that is no object, none at all, and bytes that are no ASCII', () => {
    assert.deepEqual(identityOf(ask({ keys: KEYS }, bearer('second-key'))[1]).apiKey, { metadata: 'gold' })
    const bytes = Buffer.from('clé €').toString('latin1')
    assert.deepEqual(identityOf(ask({ keys: KEYS }, bearer(bytes))[1]).apiKey, {})
  })

  test('a missing, wrong or repeated key is refused with a challenge', () => {
    const refusal = (options: ExchangeOptions, config: object = { keys: KEYS }) => {
      const [verdict, ex] = ask(config, options)
      assert.deepEqual([verdict, identityOf(ex).apiKey, identityOf(ex).credentials], [STOP, null, null])
      return [ex.error, ex.refusalHeaders?.[1]]
    }
    const challenge = 'Bearer realm="Restricted"'
    assert.deepEqual(refusal({}), ['API_KEY_MISSING', challenge])
    assert.deepEqual(refusal({ headers: [['authorization', 'Basic YTpi']] }), ['API_KEY_MISSING', challenge])
    for (const wrong of ['first-ke', 'First-key', 'first-key2', sha256('first-key'), sha256('first-key').slice(7)]) {
      assert.deepEqual(refusal(bearer(wrong)), ['API_KEY_INVALID', challenge])
      assert.deepEqual(refusal(bearer(wrong), { keys: KEYS, mode: 'optional' }), ['API_KEY_INVALID', challenge])
    }
    const twice = [...bearer('first-key').headers!, ...bearer('first-key').headers!]
    assert.deepEqual(refusal({ headers: twice }), ['API_KEY_REPEATED', undefined])
  })

  test('Optional lets requests without a key pass', () => {
    const [verdict, ex] = ask({ keys: KEYS, mode: 'Optional' })
    assert.deepEqual([verdict, identityOf(ex).apiKey], [CONTINUE, null])
  })

  test('other places; the challenge names a scheme that fits', () => {
    const at = (location: object, options: ExchangeOptions) => {
      const [verdict, ex] = ask({ keys: KEYS, location }, options)
      const [, missing] = ask({ keys: KEYS, location })
      return [verdict, ex.query, ex.request.lines(), missing.refusalHeaders![1]]
    }
    assert.deepEqual(at({ header: { name: 'X-API-Key' } }, { headers: [['x-api-key', 'first-key']] }), [
      CONTINUE,
      '',
      '',
      'ApiKey realm="Restricted"'
    ])
    const token = { header: { name: 'authorization', prefix: 'Token ' } }
    assert.deepEqual(at(token, { headers: [['authorization', 'token first-key']] }), [
      CONTINUE,
      '',
      '',
      'Token realm="Restricted"'
    ])
    assert.deepEqual(at({ queryParameter: { name: 'k' } }, { target: '/?a=%20&k=cl%C3%A9%20%e2%82%AC&&b' }), [
      CONTINUE,
      '?a=%20&&b',
      '',
      'ApiKey realm="Restricted"'
    ])
    assert.deepEqual(at({ cookie: { name: 'k' } }, { headers: [['Cookie', 'a=1;k=first-key; b']] }), [
      CONTINUE,
      '',
      'cookie: a=1; b\r\n',
      'ApiKey realm="Restricted"'
    ])
  })
})

describe('configuration', () => {
  test('the key becomes its hash at once', () => {
    const config = apiKeyAuthentication.schema.parse({ keys: KEYS })
    assert.doesNotMatch(JSON.stringify(config), /first-key|clé/)
    assert.ok(JSON.stringify(config).includes(`{"hash":{"$secret":"${sha256('first-key').slice(7)}"}`))
  })

  test('messages of mistakes have their place and show no secret', () => {
    const config = { key: 'canary' }
    const many = Array.from({ length: 10_001 }, (_, i) => ({ key: `${i}` }))
    const cases: readonly (readonly [object, RegExp])[] = [
      [{}, /^: must have exactly one of keys, secretRef, secretSelector$/],
      [{ keys: [config], secretRef: { name: 'x' } }, /^: must have exactly one of keys, secretRef, secretSelector/],
      [{ keys: [] }, /^keys: must have 1 to 10000 entries$/],
      [{ keys: many }, /^keys: must have 1 to 10000 entries$/],
      [{ keys: [{}] }, /^keys\.0: must have exactly one of key, keyHash$/],
      [{ keys: [{ key: 'canary', keyHash: sha256('canary') }] }, /^keys\.0: must have exactly one of key, keyHash/],
      [{ keys: [config, config] }, /^keys\.1: is the same key as entry 0/],
      [{ keys: [config, { key: 'x' }, { keyHash: sha256('canary') }] }, /^keys\.2: is the same key as entry 0/],
      [{ keys: [{ key: '' }] }, /^keys\.0\.key: /],
      [{ keys: [{ key: 'canary'.repeat(200) }] }, /^keys\.0\.key: /],
      [{ keys: [{ key: 'canary\n' }] }, /^keys\.0\.key: must not have control characters/],
      [{ keys: [{ key: ' canary' }] }, /^keys\.0\.key: must not begin or end with a blank/],
      [{ keys: [{ keyHash: 'canary' }] }, /^keys\.0\.keyHash: must be "sha256:" and 64/],
      [{ keys: [{ keyHash: sha256('canary').slice(7) }] }, /^keys\.0\.keyHash: must be "sha256:" and 64/],
      [{ keys: [{ key: 'canary', allowedModels: ['a'] }] }, /^keys\.0\.allowedModels: .*not in this version/],
      [{ keys: [config], mode: 'Permissive' }, /^mode: /],
      [{ keys: [config], location: {} }, /^location: must have exactly one of/],
      [{ secretRef: {} }, /^secretRef\.name: /],
      [{ secretSelector: {} }, /^secretSelector\.matchLabels: /]
    ]
    for (const [config, expected] of cases) {
      const problems = problemsOf(apiKeyAuthentication, config)
      assert.match(problems[0] ?? '', expected, JSON.stringify(config).slice(0, 200))
      assert.doesNotMatch(problems.join(), /canary/)
    }
  })
})
