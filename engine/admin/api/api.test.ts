/** The admin API by its own document: each operation answers as the document says, and nothing else is there. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { KeyApi } from '#engine/accounts/key-api.ts'
import type { Reply } from '#engine/admin/server.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import type { Story } from '#engine/story/story.ts'
import { Api } from './api.ts'
import { API_PATH, type Operation } from './operation.ts'
import { type ApiParts, operationsOf } from './operations.ts'

const AT = '2026-01-02T03:04:05.000Z'
const CANARY = 'canary-in-the-configuration'

const snapshot = {
  ...{ version: 3, hash: '0123456789ab', acceptedAt: AT },
  gateway: { policies: { jwt: { shared: secret(CANARY) } } },
  binds: [{ port: 8080, listeners: [{ protocol: 'HTTP' }] }]
} as unknown as Snapshot

const KEY = { name: 'bot', source: 'api', team: 'ml', createdAt: AT, changedAt: AT }
const BUDGET = { account: 'key bot', period: 'per day', amount: '5', spent: '1.5', reserved: '0', resetsAt: AT }

const keys = {
  list: () => [KEY],
  get: () => KEY,
  create: async () => ({ ...KEY, key: 'sk-weir-x' }),
  change: async () => KEY,
  rotate: async () => ({ ...KEY, key: 'sk-weir-y' }),
  remove: async () => {}
} as unknown as KeyApi

const PAGE = { keepsPrompts: false, records: [], next: null }

const parts: ApiParts = {
  state: () => ({
    ...{ version: '1.2.3', startedAt: AT, snapshot, expanded: [], pending: [], logLevel: 'info' },
    lastError: { at: AT, message: `weir.yaml:1:1: must be text, not "Bearer ${CANARY}"` },
    workers: [{ id: 0, state: 'serving', startedAt: AT }]
  }),
  check: async () => ({ errors: [], warnings: [], isInForce: false }),
  texts: {
    shown: () => ({ file: 'weir.yaml', text: 'binds: []', textHash: '00', isWritable: true, why: null }),
    apply: async () => ({ kind: 'applied', textHash: '01', hash: '0123456789ab', warnings: [] }),
    versions: () => [{ id: '1', replacedAt: AT, bytes: 9 }],
    version: (id) => (id === '1' ? 'binds: []' : null)
  },
  session: () => ({ name: 'local', role: 'change', csrf: 'x' }),
  endpoints: async () => [
    {
      destination: 'shop',
      addresses: [{ address: '10.0.0.1:80', host: 'a', weight: 1, state: 'healthy', reason: '', forMs: 0, requests: 7 }]
    }
  ],
  setLogLevel: (level) => {
    if (level !== 'debug') throw new Error('there is no such level')
  },
  explain: async () => ({
    found: {
      ...{ request: { method: 'GET', url: '/' }, listener: null, route: null },
      ...{ policies: [], outcome: { kind: 'upstream' }, notes: [] }
    }
  }),
  traces: {
    arm: async () => ({ id: '1', token: '1.2.3.x', expires: Date.parse(AT) }),
    stories: (id) => (id === '1' ? [{ requestId: 'req_1' } as unknown as Story] : [])
  },
  figures: {
    names: ['requests'],
    past: (_, __, step) => ({ step, firstAt: Date.parse(AT), series: new Map([['requests', [1, Number.NaN]]]) })
  },
  traffic: () => ({
    ...{ seconds: 300, leftOut: 0 },
    routes: [{ port: 8080, listener: 'a', route: 'b', requests: 3, refused: 1, failed: 0, total: 9 }]
  }),
  models: () => ({
    ...{ seconds: 300, leftOut: 0 },
    models: [
      {
        ...{ provider: 'openai', model: 'gpt', calls: 2, failed: 1, errors: [{ type: '429', calls: 1 }] },
        ...{ firstTokenMs: { p50: 200, p99: 400 }, perTokenMs: null }
      }
    ]
  }),
  keys: { keys, budgets: async () => [BUDGET] },
  spend: {
    query: async ({ kind }) => {
      const answer = kind === 'sums' ? { from: AT, to: AT, isComplete: true, sums: [] } : PAGE
      return { type: 'application/json', body: JSON.stringify(answer), next: null }
    }
  }
}

/** What makes each operation succeed that has a body. */
const BODIES: Readonly<Record<string, unknown>> = {
  createKey: { name: 'bot', team: 'ml', budgets: [{ amount: 5, period: 'Day' }] },
  changeKey: { revoked: true },
  rotateKey: { gracePeriod: '0s' },
  setLogging: { level: 'debug' },
  explain: { method: 'GET', url: 'http://a/' },
  armTrace: { uses: 2 },
  setConfigurationText: { text: 'binds: []', textHash: '00' },
  restoreConfigurationVersion: { textHash: '00' },
  checkConfiguration: { text: 'binds: []' },
  tryExpression: { expression: 'request.path', sample: { request: { url: 'http://a/b' } } },
  tryGuard: { text: 'a@b.de', builtins: ['Email'] },
  sendRequest: { method: 'GET', url: 'http://localhost:8080/' }
}

const operations = operationsOf(parts)
const api = new Api(operations)

function ask(method: string, target: string, body: unknown, type = 'application/json'): Promise<Reply | null> {
  const { pathname: path, searchParams: query } = new URL(target, 'http://x')
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { 'content-type': type }
  return api.answer({ method, path, query, headers, body: async () => Buffer.from(text) })
}

const pathOf = ({ path, names = {} }: Operation) =>
  API_PATH + Object.keys(names).reduce((all, name) => all.replace(`{${name}}`, '1'), path)

const errorOf = (reply: Reply | null) => JSON.parse(reply!.body).error

test('each operation answers with a status and a body of the document', async () => {
  for (const operation of operations) {
    const reply = await ask(operation.method, pathOf(operation), BODIES[operation.id])
    const rule = operation.replies[reply!.status]
    ok(rule !== undefined, `${operation.id}: ${reply!.status} ${reply!.body}`)
    if (rule.schema === undefined) equal(reply!.body, '', operation.id)
    else rule.schema.parse(JSON.parse(reply!.body))
    if (operation.body !== undefined) operation.body.schema.parse(BODIES[operation.id])
  }
})

test('the document has every operation, with its role, parameters, and schemas without loose ends', async () => {
  const document = JSON.parse((await ask('GET', '/api/v1/openapi.json', undefined))!.body)
  const listed = Object.entries<Record<string, { operationId: string; 'x-weir-role': string }>>(document.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [method, path, operationId].join(' '))
  )
  deepEqual(
    listed.toSorted(),
    operations.map(({ method, path, id }) => `${method.toLowerCase()} ${API_PATH}${path} ${id}`).toSorted()
  )
  equal(document.paths['/api/v1/keys/{name}'].delete['x-weir-role'], 'change')
  equal(document.paths['/api/v1/keys/{name}'].get.parameters[0].name, 'name')
  const { properties } = document.paths['/api/v1/keys'].post.requestBody.content['application/json'].schema
  ok('budgets' in properties && 'models' in properties)
  for (const [reference] of JSON.stringify(document).matchAll(/"\$ref":"[^"]+"/g))
    match(reference, /"#\/components\/schemas\/Error"|"#\/\$defs\//)
})

test('names of operations are there once, and each path has its names described', () => {
  equal(new Set(operations.map(({ id }) => id)).size, operations.length)
  for (const { id, path, names = {} } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    deepEqual(Object.keys(names), inPath, id)
  }
})

test('what changes or asks for work needs a content type that no form of another site can send', async () => {
  for (const operation of operations.filter(({ method }) => method !== 'GET' && method !== 'DELETE')) {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data', '']) {
      const reply = await ask(operation.method, pathOf(operation), BODIES[operation.id], type)
      equal(reply!.status, 415, `${operation.id} with ${type}`)
    }
  }
})

test('what is not there, or not so, is an error that says what is', async () => {
  equal(await ask('GET', '/api/v2/keys', undefined), null)
  equal(await ask('GET', '/api/v1x', undefined), null)
  for (const path of [
    '/api/v1',
    '/api/v1/',
    '/api/v1/nothing',
    '/api/v1/keys/a/b/c',
    '/api/v1/keys/%zz',
    '/api/v1/keys/'
  ])
    deepEqual(
      [(await ask('GET', path, undefined))!.status, errorOf(await ask('GET', path, undefined)).code],
      [404, 'NOT_FOUND']
    )
  const wrong = await ask('DELETE', '/api/v1/keys', undefined)
  deepEqual([wrong!.status, wrong!.headers], [405, { allow: 'GET, HEAD, POST' }])
  const parameter = errorOf(await ask('GET', '/api/v1/spend?groupby=key', undefined))
  equal(parameter.field, 'groupby')
  match(parameter.message, /did you mean "groupBy"/)
  equal(errorOf(await ask('GET', '/api/v1/status?x=1', undefined)).message, 'there is no such parameter; it takes none')
  equal(errorOf(await ask('PUT', '/api/v1/logging', '{"level":')).message, 'the body must be JSON')
  equal(errorOf(await ask('PUT', '/api/v1/logging', { level: 'loud' })).field, 'level')
  equal(errorOf(await ask('PUT', '/api/v1/logging', { level: 'debug', more: 1 })).code, 'INVALID')
  equal((await ask('GET', '/api/v1/traces/2', undefined))!.status, 404)
  equal((await ask('HEAD', '/api/v1/status', undefined))!.status, 200)
})

test('no answer has what is secret', async () => {
  for (const operation of operations) {
    const reply = await ask(operation.method, pathOf(operation), BODIES[operation.id])
    ok(!reply!.body.includes(CANARY), operation.id)
  }
})

test('bodies have bounds by path, and other paths none', () => {
  equal(api.bodyBytesMax('/api/v1/explain'), 1024 * 1024)
  equal(api.bodyBytesMax('/api/v1/keys/bot/rotate'), 64 * 1024)
  equal(api.bodyBytesMax('/api/v1/status'), undefined)
  equal(api.bodyBytesMax('/explain'), undefined)
})

test('the page has a row for each operation', () => {
  const page = readFileSync(new URL('../../../docs/admin-api.md', import.meta.url), 'utf8')
  const rows = operations.map(
    ({ method, path, role, summary }) => `| \`${method} ${API_PATH}${path}\` | ${role} | ${summary} |`
  )
  deepEqual([...page.matchAll(/^\| `[A-Z]+ \/api\/v1.*$/gm)].map(String), rows)
})
