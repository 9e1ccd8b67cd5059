import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from './api.ts'
import { type AdminChecks, checkOperation } from './check.ts'

async function post(checks: AdminChecks, body: unknown, api = new Api([checkOperation(checks)])) {
  const reply = await api.answer({
    ...{ method: 'POST', path: '/api/v1/configuration/check', query: new URLSearchParams() },
    headers: { 'content-type': 'application/json' },
    body: async () => Buffer.from(JSON.stringify(body))
  })
  return { status: reply!.status, json: JSON.parse(reply!.body) }
}

const mistake = (line: number) => ({ line, column: 1, path: 'binds', message: 'is missing' })

test('mistakes come with their places, so many of them', async () => {
  const errors = [{ ...mistake(1), hint: 'add it' }, ...Array.from({ length: 300 }, (_, i) => mistake(i + 2))]
  const { status, json } = await post({ check: async () => ({ errors, warnings: [], isInForce: false }) }, { text: '' })
  deepEqual([status, json.isValid, json.errorCount, json.errors.length], [200, false, 301, 200])
  deepEqual(json.errors.slice(0, 2), [
    { ...mistake(1), hint: 'add it' },
    { ...mistake(2), hint: null }
  ])
})

test('what is no text, and what nobody can check, says so', async () => {
  const never = { check: () => Promise.reject(new Error('not to be called')) }
  for (const body of [{}, { text: 1 }, { text: '', more: 1 }, []])
    deepEqual([(await post(never, body)).status, (await post(never, body)).json.error.field], [400, 'text'])
  equal((await post({}, { text: '' })).status, 409)
})

test('four are checked at a time, and a failed one makes room', async () => {
  const { promise, resolve, reject } = Promise.withResolvers<never>()
  const api = new Api([checkOperation({ check: () => promise })])
  const waiting = Array.from({ length: 4 }, () => post({}, { text: '' }, api))
  equal((await post({}, { text: '' }, api)).status, 429)
  reject(new Error('broken'))
  equal((await Promise.allSettled(waiting)).filter(({ status }) => status === 'rejected').length, 4)
  void resolve
  equal((await Promise.allSettled([post({}, { text: '' }, api)]))[0]!.status, 'rejected')
})
