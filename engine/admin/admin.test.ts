import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as http from 'node:http'
import * as net from 'node:net'
import * as os from 'node:os'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import type { EndpointReport } from '#engine/contract/endpoint.ts'
import { PROTOCOL_DEFAULTS } from '#engine/ir/plain.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { type Admin, type AdminOptions, startAdmin } from './admin.ts'
import type { AdminState } from './state.ts'

interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

interface Ask {
  readonly method?: string
  readonly headers?: http.OutgoingHttpHeaders
}

/** `at`: an address as startAdmin reports it. */
function ask(at: string, target: string, { method = 'GET', headers = {} }: Ask = {}): Promise<Answer> {
  const where = at.startsWith('unix:')
    ? { socketPath: at.slice(5) }
    : { host: new URL(`http://${at}`).hostname.replace(/^\[|\]$/g, ''), port: new URL(`http://${at}`).port }
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const request = http.request({ ...where, path: target, method, headers, agent: false }, (response) => {
    let body = ''
    response.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }))
  })
  request.on('error', reject)
  request.end()
  return promise
}

const ENDPOINTS: readonly EndpointReport[] = [
  {
    destination: 'shop',
    addresses: [
      { address: '10.0.0.1:80', host: 'a:80', weight: 2, state: 'healthy', reason: '', forMs: 0, requests: 7 },
      {
        ...{ address: '10.0.0.2:80', host: 'b:80', weight: 1, state: 'ejected', reason: 'consecutive_5xx' },
        ...{ forMs: 29_001, requests: 0 }
      }
    ]
  }
]

const ROUTE = '<script>alert("route")</script>'

const snapshot: Snapshot = {
  version: 3,
  hash: '0123456789ab',
  acceptedAt: '2026-01-02T03:04:05.000Z',
  gateway: { policies: {}, preRouting: {}, frontend: {} },
  binds: [
    {
      port: 8080,
      transport: 'auto',
      listeners: [
        {
          name: 'main',
          hostname: '*',
          protocol: 'HTTP',
          tls: null,
          tcpRoutes: [],
          policies: {},
          preRouting: {},
          routes: [
            {
              name: ROUTE,
              hostnames: [],
              matches: [
                {
                  path: { prefix: '/' },
                  headers: [{ name: 'authorization', value: { exact: 'Bearer canary' } }],
                  query: [{ name: 'api_key', value: { exact: 'canary' } }]
                }
              ],
              policies: {
                headerModifiers: { request: { set: { Authorization: 'Bearer canary', 'x-api-key': 'canary' } } },
                jwt: { shared: secret('canary') }
              },
              backends: [{ backend: 'web', weight: 1, policies: {} }]
            }
          ]
        }
      ]
    }
  ],
  backends: { web: { ...{ host: 'web.internal', port: 80, unixPath: null }, kind: 'static', policies: {} } },
  frontend: {
    http: {
      maxBufferBytes: 1,
      headersMax: 1,
      idleTimeoutMs: 1,
      headTimeoutMs: 1,
      bodyTimeoutMs: 1,
      sendTimeoutMs: 1,
      headBytesMax: 1,
      uriBytesMax: 1,
      bodyBytesMax: 0
    },
    tcp: { keepalive: { timeMs: 1 } },
    ...PROTOCOL_DEFAULTS
  },
  process: {
    adminAddr: 'off',
    statsAddr: 'off',
    readinessAddr: 'off',
    workerThreads: 1,
    bufferedBytesMax: 1,
    logging: { level: 'info', format: 'text' },
    terminationDeadlineMs: 1,
    terminationMinDeadlineMs: 1,
    upstream: { connectTimeoutMs: 1, poolIdleTimeoutMs: 1, poolMaxSize: 1, requestsPerConnectionMax: 0 }
  }
}

const calm: AdminState = {
  version: '1.2.3',
  startedAt: '2026-01-01T00:00:00.000Z',
  snapshot,
  expanded: [],
  lastError: null,
  workers: [{ id: 0, state: 'serving', startedAt: '2026-01-01T00:00:01.000Z' }],
  pending: [],
  logLevel: 'info'
}

const silent: AdminOptions = {
  adminAddr: '127.0.0.1:0',
  statsAddr: 'off',
  readinessAddr: 'off',
  state: () => calm,
  endpoints: async () => ENDPOINTS,
  metrics: () => '',
  setLogLevel: () => {},
  quit: () => {}
}

async function start(t: TestContext, changed: Partial<AdminOptions> = {}): Promise<Admin> {
  const admin = await startAdmin({ ...silent, ...changed })
  t.after(() => admin.close())
  return admin
}

const hasIpv6 = Object.values(os.networkInterfaces()).some((list) => list?.some((i) => i.address === '::1'))

test('localhost means every loopback address, on one port', async (t) => {
  const { addresses } = await start(t, { adminAddr: 'localhost:0' })
  assert.equal(addresses.admin.length, hasIpv6 ? 2 : 1)
  assert.equal(new Set(addresses.admin.map((at) => new URL(`http://${at}`).port)).size, 1)
  for (const at of addresses.admin) assert.equal((await ask(at, '/healthz')).status, 200)
})

test('the admin endpoints answer, and unknown ones and wrong methods do not', async (t) => {
  const { addresses } = await start(t)
  const at = addresses.admin[0]!
  assert.equal((await ask(at, '/')).headers.location, '/ui/')
  assert.equal((await ask(at, '/nothing')).status, 404)
  assert.equal((await ask(at, '/__proto__')).status, 404)
  assert.equal((await ask(at, '/quitquitquit')).status, 405)
  assert.equal((await ask(at, '/config_dump', { method: 'DELETE' })).headers.allow, 'GET, HEAD')
  const head = await ask(at, '/config_dump', { method: 'HEAD' })
  assert.deepEqual([head.status, head.body], [200, ''])
})

test('the dump is the whole configuration without its secrets', async (t) => {
  const lastError = { at: '2026-02-03T00:00:00.000Z', message: 'cannot reach https://u:canary@example.com' }
  const { addresses } = await start(t, { state: () => ({ ...calm, lastError }) })
  const { body, headers } = await ask(addresses.admin[0]!, '/config_dump')
  assert.equal(headers['content-type'], 'application/json')
  assert.ok(!body.includes('canary'), body)
  const dump = JSON.parse(body)
  assert.equal(dump.hash, '0123456789ab')
  assert.equal(dump.acceptedAt, '2026-01-02T03:04:05.000Z')
  assert.equal(dump.version, 3)
  assert.match(dump.lastError.message, /cannot reach/)
  assert.equal(dump.snapshot.backends.web.host, 'web.internal')
  const [route] = dump.snapshot.binds[0].listeners[0].routes
  assert.equal(route.policies.headerModifiers.request.set.Authorization, '<redacted>')
  assert.equal(route.policies.jwt.shared, '<redacted>')
})

test('only loopback names and the configured address are answered (DNS rebinding)', async (t) => {
  const { addresses } = await start(t)
  const at = addresses.admin[0]!
  const status = async (host: string) => (await ask(at, '/config_dump', { headers: { host } })).status
  for (const host of ['localhost', 'LOCALHOST:15000', '127.0.0.1', '127.0.0.2:80', '[::1]:15000']) {
    assert.equal(await status(host), 200, host)
  }
  const bad = [
    'evil.example',
    'localhost.evil.example',
    'localhost.',
    '127.0.0.1.evil.example',
    '127.1',
    '10.0.0.1',
    '::1',
    '[::2]',
    'localhost:x',
    'a@localhost',
    '[localhost]'
  ]
  for (const host of bad) assert.equal(await status(host), 403, host)
})

test('bound to every address, any literal is answered, but no name', async (t) => {
  const { addresses } = await start(t, { adminAddr: '0.0.0.0:0' })
  const at = `127.0.0.1:${addresses.admin[0]!.split(':')[1]}`
  assert.equal((await ask(at, '/healthz', { headers: { host: '10.0.0.1:15000' } })).status, 200)
  assert.equal((await ask(at, '/healthz', { headers: { host: 'evil.example' } })).status, 403)
})

test('a name of config.admin.hosts is answered, with an origin of its own, and no other one', async (t) => {
  const token = 'of-the-proxy-0000'
  const hash = secret(createHash('sha256').update(token).digest('hex'))
  const admin = { hosts: ['weir.example'], tokens: [{ name: 'ann', hash, role: 'change' as const }] }
  const { addresses } = await start(t, { admin })
  const at = addresses.admin[0]!
  const own = { authorization: `Bearer ${token}` }
  const status = async (host: string, more: Record<string, string> = {}) =>
    (await ask(at, '/logging?level=debug', { method: 'POST', headers: { ...own, host, ...more } })).status
  for (const host of ['weir.example', 'WEIR.example:8443']) assert.equal(await status(host), 200, host)
  for (const host of ['a.weir.example', 'weir.example.evil', 'weir.example:x', 'weir.example@evil'])
    assert.equal(await status(host), 403, host)
  const { csrf } = JSON.parse((await ask(at, '/api/v1/session', { headers: { ...own, host: 'weir.example' } })).body)
  const page = { 'x-weir-csrf': String(csrf), 'sec-fetch-site': 'same-origin' }
  for (const origin of ['https://weir.example', 'http://weir.example'])
    assert.equal(await status('weir.example', { ...page, origin }), 200, origin)
  for (const origin of ['https://evil.example', 'https://weir.example:1', 'null'])
    assert.equal(await status('weir.example', { ...page, origin }), 403, origin)
})

test('a request without Host, with an absolute target or with a long body is refused', async (t) => {
  const { addresses } = await start(t)
  const [host, port] = addresses.admin[0]!.split(':')
  const raw = async (text: string) => {
    const socket = net.connect(Number(port), host)
    let answer = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk
    })
    socket.write(text)
    await new Promise((resolve) => socket.once('close', resolve))
    return answer.split('\r\n')[0]
  }
  assert.equal(await raw('GET /config_dump HTTP/1.0\r\n\r\n'), 'HTTP/1.1 403 Forbidden')
  assert.equal(
    await raw('GET http://localhost/config_dump HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    'HTTP/1.1 400 Bad Request'
  )
  const big = 'POST /logging HTTP/1.1\r\nHost: localhost\r\n'
  assert.equal(await raw(`${big}Content-Length: 4097\r\n\r\n`), 'HTTP/1.1 413 Payload Too Large')
  assert.equal(await raw(`${big}Transfer-Encoding: chunked\r\n\r\n`), 'HTTP/1.1 413 Payload Too Large')
})

test('a page of another origin cannot post', async (t) => {
  let quits = 0
  const levels: string[] = []
  const { addresses } = await start(t, { quit: () => quits++, setLogLevel: (level) => levels.push(level) })
  const at = addresses.admin[0]!
  const attempts = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: `https://${at}` },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' }
  ]
  for (const headers of attempts) {
    for (const target of ['/quitquitquit', '/logging?level=off']) {
      assert.equal((await ask(at, target, { method: 'POST', headers })).status, 403, JSON.stringify(headers))
    }
  }
  assert.equal(quits, 0)
  const own = { origin: `http://${at}`, 'sec-fetch-site': 'same-origin' }
  const post = async (csrf: string) =>
    (await ask(at, '/logging?level=debug', { method: 'POST', headers: { ...own, 'x-weir-csrf': csrf } })).status
  assert.equal((await ask(at, '/logging?level=debug', { method: 'POST', headers: own })).status, 403)
  assert.equal(await post('x'.repeat(43)), 403)
  assert.equal(await post(JSON.parse((await ask(at, '/api/v1/session')).body).csrf), 200)
  assert.deepEqual(levels, ['debug'])
})

test('the log level is shown and changed, and a malformed one says why', async (t) => {
  let logLevel = 'info'
  const setLogLevel = (level: string) => {
    if (level === 'loud') throw new Error('log level: "loud" is not LEVEL or TARGET=LEVEL')
    logLevel = level
  }
  const { addresses } = await start(t, { setLogLevel, state: () => ({ ...calm, logLevel }) })
  const post = (target: string) => ask(addresses.admin[0]!, target, { method: 'POST' })
  assert.equal((await post('/logging')).body, 'log level: info\n')
  assert.equal((await post('/logging?level=warn,upstream%3Ddebug')).body, 'log level: warn,upstream=debug\n')
  const bad = await post('/logging?level=loud')
  assert.deepEqual([bad.status, bad.body], [400, 'log level: "loud" is not LEVEL or TARGET=LEVEL\n'])
})

test('quitquitquit answers and then starts the drain', async (t) => {
  const { promise: quit, resolve } = Promise.withResolvers<void>()
  const { addresses } = await start(t, { quit: resolve })
  assert.equal((await ask(addresses.admin[0]!, '/quitquitquit', { method: 'POST' })).body, 'shutdown now\n')
  await quit
})

test('metrics stand at both paths, with the content type of the text format', async (t) => {
  const { addresses } = await start(t, { statsAddr: '127.0.0.1:0', metrics: async () => 'weir_workers 2\n' })
  for (const target of ['/metrics', '/stats/prometheus?x=1']) {
    const answer = await ask(addresses.stats[0]!, target, { headers: { host: 'weir.monitoring.svc' } })
    assert.equal(answer.body, 'weir_workers 2\n')
    assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  }
  assert.equal((await ask(addresses.stats[0]!, '/config_dump')).status, 404)
})

test('what fails inside does not go out', async (t) => {
  const metrics = () => {
    throw new Error('canary')
  }
  const { addresses } = await start(t, { statsAddr: '127.0.0.1:0', metrics })
  const answer = await ask(addresses.stats[0]!, '/metrics')
  assert.deepEqual([answer.status, answer.body], [500, 'internal error\n'])
})

test('readiness flips with what is pending', async (t) => {
  let pending: string[] = ['configuration', 'worker 1']
  const { addresses } = await start(t, { readinessAddr: '127.0.0.1:0', state: () => ({ ...calm, pending }) })
  const ready = async () => {
    const { status, body } = await ask(addresses.readiness[0]!, '/healthz/ready')
    return [status, body]
  }
  assert.deepEqual(await ready(), [503, 'not ready, pending: configuration, worker 1'])
  pending = []
  assert.deepEqual(await ready(), [200, 'ready'])
  pending = ['drain']
  assert.deepEqual(await ready(), [503, 'not ready, pending: drain'])
})

test('a taken port names the setting and the remedy, and leaves nothing listening', async (t) => {
  const first = await start(t)
  const taken = first.addresses.admin[0]!
  const free = net.createServer()
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
  const { port } = free.address() as net.AddressInfo
  await new Promise((resolve) => free.close(resolve))
  await assert.rejects(startAdmin({ ...silent, adminAddr: `127.0.0.1:${port}`, statsAddr: taken }), {
    message: `statsAddr: ${taken} is in use by another program. Stop it, or set config.statsAddr to another address or to "off"`
  })
  await assert.rejects(ask(`127.0.0.1:${port}`, '/healthz'), { code: 'ECONNREFUSED' })
  await assert.rejects(startAdmin({ ...silent, adminAddr: 'nonsense' }), /adminAddr: "nonsense" is not an address/)
})

test('with shared ports a new process can listen before the old one has gone', async (t) => {
  const old = await start(t, { sharePorts: true })
  const heir = await start(t, { sharePorts: true, adminAddr: old.addresses.admin[0]! })
  await old.close()
  assert.equal((await ask(heir.addresses.admin[0]!, '/healthz')).status, 200)
})

test('a unix socket serves its owner, replaces a dead one and not a live one', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'admin-'))
  t.after(() => fs.rmSync(dir, { recursive: true }))
  const file = path.join(dir, 's')
  const admin = await start(t, { adminAddr: `unix:${file}` })
  assert.deepEqual(admin.addresses.admin, [`unix:${file}`])
  assert.equal(fs.statSync(file).mode & 0o777, 0o600)
  assert.equal((await ask(`unix:${file}`, '/healthz', { headers: { host: 'any.thing' } })).status, 200)
  await assert.rejects(startAdmin({ ...silent, adminAddr: `unix:${file}` }), /adminAddr: unix:.* is in use/)
  // A killed process leaves its file behind: a second name of the socket outlives its close.
  const dead = net.createServer()
  const left = path.join(dir, 'left')
  await new Promise<void>((resolve) => dead.listen(path.join(dir, 'dying'), resolve))
  fs.linkSync(path.join(dir, 'dying'), left)
  await new Promise((resolve) => dead.close(resolve))
  const heir = await start(t, { adminAddr: `unix:${left}` })
  assert.equal((await ask(heir.addresses.admin[0]!, '/healthz')).status, 200)
})

test('a server that is off does not listen', async (t) => {
  const { addresses } = await start(t, { adminAddr: 'off' })
  assert.deepEqual(addresses, { admin: [], stats: [], readiness: [] })
})

test('addresses of backends are told as JSON, with why one is left out and for how long', async (t) => {
  const { addresses } = await start(t, {})
  const { status, body } = await ask(addresses.admin[0]!, '/endpoints')
  assert.equal(status, 200)
  assert.deepEqual(JSON.parse(body), { endpoints: ENDPOINTS })
})
