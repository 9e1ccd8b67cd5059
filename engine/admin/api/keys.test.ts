/** The admin API of keys, over a store in a folder. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KeyApi } from '#engine/accounts/key-api.ts'
import { KeyStore } from '#engine/accounts/key-store.ts'
import { keyDigest } from '#engine/accounts/schema.ts'
import { reveal } from '#engine/kit/secret.ts'
import { Api } from './api.ts'
import { keyOperations } from './keys.ts'

const CONFIGURED = {
  keys: [],
  teams: [{ name: 'ml', organisation: null, budgets: [], limits: [], concurrency: null, models: null }],
  organisations: []
}

function stand(t: TestContext, hasStore = true) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const audit: string[] = []
  const logged: string[] = []
  const clock = { now: Date.parse('2026-11-23T12:00:00Z') }
  let store = hasStore ? new KeyStore(folder, () => {}) : null
  const api = new KeyApi({
    store: () => store,
    configured: () => CONFIGURED,
    changed: () => {},
    audit: (message) => audit.push(message),
    now: () => clock.now
  })
  const call = async (method: string, path: string, body?: unknown, type = 'application/json') => {
    const reply = await new Api(keyOperations({ keys: api, budgets: async () => [] })).answer({
      method,
      path,
      query: new URLSearchParams(),
      headers: { 'content-type': type },
      body: async () => Buffer.from(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body))
    })
    return { status: reply!.status, json: reply!.body === '' ? null : JSON.parse(reply!.body) }
  }
  const restart = () => {
    store = new KeyStore(folder, (_, message) => logged.push(message))
  }
  return { api, audit, call, clock, file: join(folder, 'keys.jsonl'), logged, restart }
}

const ALICE = { name: 'alice', team: 'ml', budgets: [{ amount: 5, period: 'Month' }], expires: '2027-01-01T00:00:00Z' }

test('a key is made, shown without its value, changed, rotated, removed, and outlives the process', async (t) => {
  const { api, audit, call, clock, file, restart } = stand(t)
  const made = await call('POST', '/api/v1/keys', ALICE)
  equal(made.status, 201)
  match(made.json.key, /^sk-weir-[\w-]{43}$/)
  const { key: _, ...shown } = made.json
  deepEqual((await call('GET', '/api/v1/keys/alice')).json, shown)
  equal(readFileSync(file, 'utf8').includes(made.json.key), false)
  restart()
  deepEqual((await call('GET', '/api/v1/keys')).json, { keys: [shown] })
  equal((await call('PATCH', '/api/v1/keys/alice', { revoked: true, team: null })).status, 200)
  equal(api.specs[0]!.isRevoked, true)
  equal(api.specs[0]!.team, null)
  const rotated = await call('POST', '/api/v1/keys/alice/rotate', { gracePeriod: '1h' })
  notEqual(rotated.json.key, made.json.key)
  equal(rotated.json.previousValidUntil, '2026-11-23T13:00:00.000Z')
  restart()
  const values = api.specs[0]!.values.map(({ hash, validUntil }) => [reveal(hash), validUntil])
  deepEqual(values, [
    [keyDigest(rotated.json.key), null],
    [keyDigest(made.json.key), clock.now + 3_600_000]
  ])
  equal((await call('POST', '/api/v1/keys/alice/rotate', { gracePeriod: '0s' })).status, 200)
  equal(api.specs[0]!.values.length, 1)
  equal((await call('DELETE', '/api/v1/keys/alice')).status, 204)
  equal((await call('GET', '/api/v1/keys/alice')).status, 404)
  restart()
  deepEqual(api.specs, [])
  equal(audit.length, 5)
  for (const line of audit) ok(line.startsWith('key alice ') && !line.includes('sk-weir'), line)
})

test('mistakes are JSON with code and field, and change nothing', async (t) => {
  const { api, call } = stand(t)
  const refused = async (...request: Parameters<typeof call>) => {
    const { status, json } = await call(...request)
    return [status, json.error.code, json.error.field]
  }
  deepEqual(await refused('POST', '/api/v1/keys', { ...ALICE, team: 'none' }), [400, 'INVALID', 'team'])
  deepEqual(await refused('POST', '/api/v1/keys', { name: 'a b' }), [400, 'INVALID', 'name'])
  deepEqual(await refused('POST', '/api/v1/keys', { name: 'a', key: 'of-my-own' }), [400, 'INVALID', 'key'])
  deepEqual(await refused('POST', '/api/v1/keys', '{'), [400, 'INVALID', undefined])
  deepEqual(await refused('POST', '/api/v1/keys', [1]), [400, 'INVALID', undefined])
  deepEqual(await refused('POST', '/api/v1/keys', ALICE, 'text/plain'), [415, 'UNSUPPORTED_MEDIA_TYPE', undefined])
  deepEqual(await refused('PATCH', '/api/v1/keys/nobody', {}), [404, 'NOT_FOUND', undefined])
  deepEqual(await refused('PUT', '/api/v1/keys'), [405, 'METHOD_NOT_ALLOWED', undefined])
  equal((await call('POST', '/api/v1/keys', ALICE)).status, 201)
  deepEqual(await refused('POST', '/api/v1/keys', ALICE), [409, 'CONFLICT', 'name'])
  deepEqual(await refused('PATCH', '/api/v1/keys/alice', { name: 'x' }), [400, 'INVALID', undefined])
  deepEqual(await refused('PATCH', '/api/v1/keys/alice', { concurrency: 0 }), [400, 'INVALID', 'concurrency'])
  deepEqual(await refused('POST', '/api/v1/keys/alice/rotate', { gracePeriod: '9999h' }), [
    400,
    'INVALID',
    'gracePeriod'
  ])
  equal(api.specs.length, 1)
  const { call: without } = stand(t, false)
  deepEqual((await without('POST', '/api/v1/keys', ALICE)).json.error.code, 'NO_STATE')
})

test('a mistake in a field names its place and what is allowed there', async (t) => {
  const { call } = stand(t)
  const errorOf = async (fields: object) => (await call('POST', '/api/v1/keys', { ...ALICE, ...fields })).json.error
  const period = await errorOf({ budgets: [{ amount: 5, period: 'Daily' }] })
  equal(period.field, 'budgets[0].period')
  match(period.message, /^must be one of Hour, Day, /)
  const unknown = await errorOf({ budget: 5 })
  equal(unknown.field, 'budget')
  match(unknown.message, /^is no field of a key; did you mean "budgets"\? allowed: name, .*limits/)
  const deep = await errorOf({ budgets: [{ amount: 5, period: 'Day', max: 5 }] })
  deepEqual([deep.field, deep.message], ['budgets[0].max', 'is not a known field'])
})

test('a line that was being written is left out, and one that is damaged is an error', async (t) => {
  const { call, file, logged, restart } = stand(t)
  await call('POST', '/api/v1/keys', ALICE)
  appendFileSync(file, '{"set":{"name":"bo')
  restart()
  match(logged.join(), /the last line of .*keys\.jsonl is no whole one/)
  equal((await call('GET', '/api/v1/keys')).json.keys.length, 1)
  appendFileSync(file, 'nonsense\n')
  try {
    restart()
    ok(false, 'it was read')
  } catch (error) {
    match((error as Error).message, /keys\.jsonl: line 2 is no change of a key/)
  }
})
