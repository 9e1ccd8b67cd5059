import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { call, failureOf, urlOf, whyNot } from './client.ts'

test('an operation is found by its name, with parts of the path and of the query written for a URL', () => {
  equal(urlOf('getStatus'), '/api/v1/status')
  equal(urlOf('rotateKey', { names: { name: 'a/b c' } }), '/api/v1/keys/a%2Fb%20c/rotate')
  equal(
    urlOf('sumSpend', { query: { groupBy: 'day', key: ['a', 'b&c'], format: 'csv' } }),
    '/api/v1/spend?groupBy=day&key=a&key=b%26c&format=csv'
  )
})

test('a failure has the words of the API, or those of whoever has answered instead', () => {
  const known = failureOf(400, '{"error": {"code": "INVALID", "message": "name: must be text", "field": "name"}}')
  deepEqual([known.status, known.code, known.message, known.field], [400, 'INVALID', 'name: must be text', 'name'])
  const foreign = failureOf(502, 'Bad Gateway\n')
  deepEqual([foreign.status, foreign.code, foreign.message, foreign.field], [502, 'UNKNOWN', 'Bad Gateway', null])
  equal(failureOf(500, '').message, 'the answer was 500')
  equal(failureOf(500, '{"error": null}').code, 'UNKNOWN')
})

test('a gateway that has started again has another mark: the page asks for it once, and calls again', async (t) => {
  let csrf = 'first'
  const calls: string[] = []
  t.mock.method(globalThis, 'fetch', async (url: string, { headers = {} }: { headers?: Record<string, string> }) => {
    calls.push(url.replace('/api/v1', ''))
    if (url.endsWith('/session')) return Response.json({ name: 'local', role: 'test', csrf })
    const isMarked = headers['x-weir-csrf'] === csrf
    const code = isMarked ? 'FORBIDDEN' : 'CSRF'
    return Response.json({ error: { code, message: code } }, { status: 403 })
  })
  await rejects(call('armTrace'), { code: 'FORBIDDEN' })
  csrf = 'second'
  await rejects(call('armTrace'), { code: 'FORBIDDEN' })
  deepEqual(calls, ['/session', '/traces', '/traces', '/session', '/traces'])
  equal(whyNot('armTrace'), null)
  equal(whyNot('createKey'), 'This needs the role change; yours is test.')
})
