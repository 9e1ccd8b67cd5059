/** Ids that clients get, and what opens them. */
import { deepEqual, equal, match, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { AiProvider } from '#backends/llm/config/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { readMark, type Seal, type StoredKind, sealId } from './seal.ts'
import { hasMarks, openId, storesOf } from './stores.ts'
import { tenantOf } from './tenant.ts'

const SECRET = Buffer.alloc(32, 7)
let shown = 0
const provider = (more: object): AiProvider =>
  ({
    name: 'a',
    type: 'openai',
    host: null,
    port: null,
    pathPrefix: null,
    path: null,
    cloud: null,
    auth: { kind: 'key', key: secret('sk-of-the-first-account'), location: null },
    ...more
  }) as AiProvider
const other = provider({ name: 'b', auth: { kind: 'key', key: secret('sk-of-the-second-account'), location: null } })
const backend = (...providers: AiProvider[]) => ({
  groups: [providers],
  stored: { key: secret('0123456789abcdef'), scope: 'key' as const }
})
const stores = (...providers: AiProvider[]) => [...new Set(storesOf(backend(...providers), SECRET).values())]

test('an id has its own beginning, one spelling, and opens for its tenant, its kind and its account alone', () => {
  const [first, second] = stores(provider({}), other) as [ReturnType<typeof stores>[0], ReturnType<typeof stores>[0]]
  const access = { stores: [first, second], tenant: 'ann' }
  for (const [raw, kind] of [
    ['file-JfKvMs6Xu2wGdCkC7xRxKt', 'file'],
    [`resp_${'0123456789abcdef'.repeat(3)}`, 'response'],
    ['msgbatch_01HkcTjaV5uDC8jWR4ZsDV8d', 'batch'],
    ['files/abc-123', 'file'],
    ['5a0c3cf1-7d6e-4c11-8a0e-6f0a4f3c2d10', 'file']
  ] as [string, StoredKind][]) {
    const id = sealId(raw, kind, { ...first, tenant: 'ann' })
    match(id.slice(raw.length), /^[a-z2-7]{28}$/)
    equal(id.startsWith(raw), true)
    equal(sealId(raw, kind, { ...first, tenant: 'ann' }), id)
    deepEqual(openId(id, kind, access), { raw, store: first })
    for (const wrong of [
      openId(id, kind, { ...access, tenant: 'bob' }),
      openId(id, kind === 'file' ? 'batch' : 'file', access),
      openId(id, kind, { ...access, stores: [second] }),
      openId(raw, kind, access),
      openId(`x${id}`, kind, access),
      openId(`${id}a`, kind, access),
      openId(id.slice(0, -1), kind, access),
      openId(id.slice(0, -1) + (id.endsWith('a') ? 'b' : 'a'), kind, access),
      // The tag of the other account.
      openId(raw + second.tag + readMark(id)!.mac, kind, access)
    ]) {
      equal(wrong, null)
    }
  }
})

test('what cannot be an id gets no mark', () => {
  const seal: Seal = { ...stores(provider({}))[0]!, tenant: '' }
  for (const text of ['', '..', '../files', 'a/../b', 'a//b', 'a b', 'é', `f${'x'.repeat(512)}`]) {
    equal(sealId(text, 'file', seal), text)
    equal(readMark(text + seal.tag + 'a'.repeat(24)), null)
  }
})

test('accounts: by place and credential, the same in every process, and after a rotation where there is one', () => {
  const tags = (...providers: AiProvider[]) => stores(...providers).map(({ tag }) => tag)
  const [first, second] = tags(provider({}), other)
  notEqual(first, second)
  deepEqual(tags(provider({}), provider({ name: 'c' })), tags(provider({})))
  deepEqual(tags(provider({})), tags(other))
  equal(tags(provider({}), provider({ host: 'b.test' })).length, 2)
  const keyOf = (one: AiProvider, secretOf: Buffer) =>
    storesOf({ groups: [[one]], stored: { key: null, scope: 'key' } }, secretOf).get(one)!.key
  // Without a key of the configuration: of the credential, and of the process where that is short.
  deepEqual(keyOf(provider({}), SECRET), keyOf(provider({}), Buffer.alloc(32, 8)))
  const short = provider({ auth: { kind: 'key', key: secret('short'), location: null } })
  notEqual(
    Buffer.from(keyOf(short, SECRET)).toString('hex'),
    Buffer.from(keyOf(short, Buffer.alloc(32, 8))).toString('hex')
  )
})

test('one account without tenants passes the ids of the provider as they are', () => {
  const one = stores(provider({}))
  equal(hasMarks({ stores: one, tenant: '' }), false)
  deepEqual(openId('file-abc', 'file', { stores: one, tenant: '' }), { raw: 'file-abc', store: null })
  equal(hasMarks({ stores: one, tenant: 'ann' }), true)
  equal(hasMarks({ stores: stores(provider({}), other), tenant: '' }), true)
})

test('tenants: keys by name, tokens by subject, teams where they share', () => {
  const of = (identity: object, scope: 'key' | 'team' | 'all' = 'key') =>
    tenantOf(
      {
        identity: {
          jwt: null,
          apiKey: null,
          basicAuth: null,
          rawKey: null,
          rawToken: null,
          credentials: null,
          ...identity
        }
      },
      scope
    )
  const key = (id: string, team?: string) => ({ apiKey: { id, team }, rawKey: `sk-${shown++}` })
  equal(of(key('a')), of(key('a')))
  notEqual(of(key('a')), of(key('b')))
  equal(of(key('a', 'x'), 'team'), of(key('b', 'x'), 'team'))
  notEqual(of(key('a', 'x'), 'team'), of(key('a', 'y'), 'team'))
  notEqual(of(key('a'), 'team'), of(key('b'), 'team'))
  equal(of({ jwt: { iss: 'i', sub: 's', exp: 1 } }), of({ jwt: { iss: 'i', sub: 's', exp: 2 } }))
  notEqual(of({ jwt: { iss: 'i', sub: 's' } }), of({ jwt: { iss: 'j', sub: 's' } }))
  equal(of(key('a'), 'all'), '')
  equal(tenantOf({ identity: null }, 'key'), '')
  // Who has shown nothing, where others show who they are.
  equal(of({}), '["nobody"]')
})
