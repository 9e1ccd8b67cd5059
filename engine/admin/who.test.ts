import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { AdminSpec } from '#engine/ir/process.ts'
import { secret } from '#engine/kit/secret.ts'
import { parseAddress } from './address.ts'
import { startAdmin } from './admin.ts'
import { ROLES } from './api/operation.ts'
import { AuditLog } from './audit.ts'
import type { Request } from './server.ts'
import { Gate } from './who.ts'

const TOKENS = { see: 'token-of-see', test: 'token-of-test', change: 'token-of-change' }
const SPEC: AdminSpec = {
  hosts: [],
  tokens: ROLES.map((role) => ({
    name: `who-${role}`,
    hash: secret(createHash('sha256').update(TOKENS[role]).digest('hex')),
    role
  }))
}
const EVERYWHERE = parseAddress('0.0.0.0:1', 'adminAddr')

const request = (headers: Request['headers'], method = 'GET', path = '/api/v1/status'): Request => ({
  ...{ method, path, query: new URLSearchParams(), headers, from: '10.0.0.9' },
  body: async () => Buffer.of()
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

const outcome = (gate: Gate, of: Request, role: (typeof ROLES)[number]) => {
  const admitted = gate.admit(of, role)
  return admitted.caller?.name ?? (admitted.caller === null ? admitted.refused.status : 0)
}

test('each role may do what those before it may, and no more', () => {
  const gate = new Gate(SPEC, EVERYWHERE)
  const may = ROLES.map((own) => ROLES.map((wanted) => outcome(gate, request(bearer(TOKENS[own])), wanted)))
  deepEqual(may, [
    ['who-see', 403, 403],
    ['who-test', 'who-test', 403],
    ['who-change', 'who-change', 'who-change']
  ])
})

test('no token, another one, or half of one is a 401 that browsers ask by', () => {
  const gate = new Gate(SPEC, EVERYWHERE)
  const { change } = TOKENS
  for (const headers of [
    {},
    bearer('other'),
    bearer(change.slice(1)),
    bearer(`${change} `),
    bearer(''),
    { authorization: change },
    basic(change),
    basic('who-change:'),
    bearer(createHash('sha256').update(change).digest('hex')),
    { cookie: `token=${change}` }
  ]) {
    equal(outcome(gate, request(headers), 'see'), 401, JSON.stringify(headers))
  }
  const { refused } = gate.admit(request({}), 'see') as { refused: { headers: Record<string, string>; body: string } }
  match(refused.headers['www-authenticate']!, /^Basic/)
  match(refused.body, /config\.admin\.tokens/)
  equal(outcome(gate, request(basic(`anybody:${change}`)), 'change'), 'who-change')
  equal(outcome(gate, request({ authorization: `bearer ${change}` }), 'change'), 'who-change')
})

test('without tokens, and over a unix socket, everybody may', () => {
  equal(outcome(new Gate(undefined, parseAddress('localhost:1', 'a')), request({}), 'change'), 'local')
  equal(outcome(new Gate(SPEC, parseAddress('unix:/a', 'a')), request({}), 'change'), 'local')
})

test('a page needs the mark of its caller for all but GET, and a program does not', () => {
  const gate = new Gate(SPEC, EVERYWHERE)
  const own = bearer(TOKENS.change)
  const { csrf } = gate.session(request(own))
  const other = gate.session(request(bearer(TOKENS.test))).csrf
  ok(csrf !== other)
  for (const sign of [{ origin: 'http://10.0.0.1:1' }, { 'sec-fetch-site': 'same-origin' }, { cookie: 'a=b' }]) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const marked = (mark: object) => outcome(gate, request({ ...own, ...sign, ...mark }, method), 'change')
      deepEqual(
        [
          marked({}),
          marked({ 'x-weir-csrf': other }),
          marked({ 'x-weir-csrf': 'ä'.repeat(43) }),
          marked({ 'x-weir-csrf': csrf })
        ],
        [403, 403, 403, 'who-change']
      )
    }
    equal(outcome(gate, request({ ...own, ...sign }), 'see'), 'who-change')
  }
  equal(outcome(gate, request(own, 'DELETE'), 'change'), 'who-change')
  // Of another process.
  equal(new Gate(SPEC, EVERYWHERE).session(request(own)).csrf === csrf, false)
})

test('a line says who has changed what, and nothing secret; who tries tokens fills no log', () => {
  const lines: string[] = []
  const audit = new AuditLog((level, message, fields) => void lines.push(JSON.stringify([level, message, fields])))
  const token = 'sk-weir-0123456789abcdef0123456789abcdef'
  const call = request(bearer(token), 'DELETE', '/api/v1/keys/bot')
  audit.changed(call, { name: 'who-change', role: 'change' }, 'removeKey', 204)
  deepEqual(JSON.parse(lines[0]!), [
    'info',
    'who-change: removeKey',
    {
      ...{ who: 'who-change', what: 'removeKey', method: 'DELETE', path: '/api/v1/keys/bot' },
      ...{ from: '10.0.0.9', status: 204 }
    }
  ])
  for (let i = 0; i < 100; i++) audit.refused(call, 401)
  equal(lines.length, 21)
  equal(lines.join('').includes(token), false)
})

test('over HTTP: by the role of the operation, with a line for what changes; probes need no token', async (t) => {
  const lines: string[] = []
  let level = 'info'
  const admin = await startAdmin({
    ...{ adminAddr: '127.0.0.1:0', statsAddr: 'off', readinessAddr: 'off', admin: SPEC },
    state: () => ({
      ...{ version: '1', startedAt: '2026-01-02T03:04:05.000Z', snapshot: null, expanded: [], lastError: null },
      ...{ workers: [], pending: [], logLevel: level }
    }),
    endpoints: async () => [],
    metrics: () => '',
    setLogLevel: (wanted) => {
      level = wanted
    },
    quit: () => {
      lines.push('quit')
    },
    audit: (_, message, { status }) => lines.push(`${message} ${status}`)
  })
  t.after(() => admin.close())
  const ask = async (path: string, token: string | null, method = 'GET', body?: object) => {
    const headers = { 'content-type': 'application/json', ...(token === null ? {} : bearer(token)) }
    const url = `http://${admin.addresses.admin[0]!}${path}`
    const reply = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    await reply.text()
    return reply.status
  }
  equal(await ask('/healthz', null), 200)
  for (const path of ['/', '/ui/', '/config_dump', '/api/v1/status', '/api/v1/nothing', '/endpoints', '/trace/1'])
    equal(await ask(path, null), 401, path)
  const set = (token: string) => ask('/api/v1/logging', token, 'PUT', { level: 'debug' })
  deepEqual([await set(TOKENS.see), await set(TOKENS.test), level], [403, 403, 'info'])
  deepEqual([await set(TOKENS.change), level], [200, 'debug'])
  deepEqual(
    [await ask('/quitquitquit', TOKENS.test, 'POST'), await ask('/logging?level=off', TOKENS.test, 'POST')],
    [403, 403]
  )
  equal(await ask('/api/v1/traces', TOKENS.see, 'POST', {}), 403)
  equal(await ask('/trace', TOKENS.see, 'POST'), 403)
  equal(await ask('/api/v1/status', TOKENS.see), 200)
  const refused = 'a request was refused'
  deepEqual(
    lines.filter((line) => !line.startsWith(refused)),
    ['who-change: setLogging 200']
  )
  equal(lines.length, 14)
})
