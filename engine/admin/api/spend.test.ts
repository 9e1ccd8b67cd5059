import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Request } from '#engine/admin/server.ts'
import type { SpendQuery } from '#engine/spend/query.ts'
import { Api } from './api.ts'
import { type AdminSpend, spendOperations } from './spend.ts'

const answerSpend = (spend: AdminSpend | undefined, request: Request) => new Api(spendOperations(spend)).answer(request)

function stand(next: string | null = null) {
  const queries: SpendQuery[] = []
  const spend = {
    query: async (query: SpendQuery) => {
      queries.push(query)
      return { body: 'body', type: 'text/csv; charset=utf-8', next }
    }
  }
  const call = async (target: string, more: { method?: string; accept?: string } = {}) => {
    const { pathname: path, searchParams: query } = new URL(target, 'http://x')
    const headers = more.accept === undefined ? {} : { accept: more.accept }
    return await answerSpend(spend, {
      method: more.method ?? 'GET',
      path,
      query,
      headers,
      body: async () => Buffer.of()
    })
  }
  return { queries, call }
}

test('each path has its query, and others are none of it', async () => {
  const { queries, call } = stand('1-2')
  const reply = await call('/api/v1/spend/records?key=a&key=b', { accept: 'text/csv' })
  assert.deepEqual(
    [reply?.status, reply?.type, reply?.headers],
    [200, 'text/csv; charset=utf-8', { 'x-weir-next-cursor': '1-2' }]
  )
  await call('/api/v1/spend?groupBy=key,team', { method: 'HEAD' })
  assert.deepEqual(
    queries.map(({ kind, format, filters }) => [kind, format, filters]),
    [
      ['records', 'csv', { key: ['a', 'b'] }],
      ['sums', 'json', {}]
    ]
  )
  assert.equal((await call('/api/v1/spender'))?.status, 404)
})

test('a bad parameter is a 400 that names it', async () => {
  const { call } = stand()
  const reply = await call('/api/v1/spend?groupBy=colour')
  assert.equal(reply?.status, 400)
  const { error } = JSON.parse(reply!.body)
  assert.deepEqual([error.code, error.field], ['INVALID', 'groupBy'])
})

test('nothing is changed here, and without a spend log there is nothing', async () => {
  const { call } = stand()
  assert.deepEqual((await call('/api/v1/spend', { method: 'DELETE' }))?.headers, { allow: 'GET, HEAD' })
  const request = {
    method: 'GET',
    path: '/api/v1/spend',
    query: new URLSearchParams(),
    headers: {},
    body: async () => Buffer.of()
  }
  const reply = await answerSpend(undefined, request)
  assert.equal(reply?.status, 404)
  assert.match(reply!.body, /set config\.spendLog/)
})

test('a file that cannot be read is a 503', async () => {
  const broken = { query: async () => Promise.reject(new Error('disk I/O error')) }
  const request = {
    method: 'GET',
    path: '/api/v1/spend',
    query: new URLSearchParams(),
    headers: {},
    body: async () => Buffer.of()
  }
  assert.equal((await answerSpend(broken, request))?.status, 503)
})
