/** How active checks reach servers, and what they show: against real servers of Node. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createHttp2, type ServerHttp2Session } from 'node:http2'
import { createServer as createHttps, type ServerOptions } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { SignatureV4 } from '@smithy/signature-v4'
import { type ProxyHeader, readProxyHeader } from '#engine/socket/proxy-header.ts'
import { TestAuthority } from '#engine/testing/authority.ts'
import { Sha256 } from '#engine/testing/aws.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'

const ca = new TestAuthority()
after(() => ca.remove())

/** Whose events can be waited for, those of before included. */
class Log<T> {
  readonly all: T[] = []
  #wake: (() => void) | null = null

  add(one: T): void {
    this.all.push(one)
    this.#wake?.()
  }

  async until(isThere: (all: readonly T[]) => boolean): Promise<void> {
    while (!isThere(this.all)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

async function listening(t: TestContext, server: Server, where: { path?: string } = {}): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(where.path === undefined ? { port: 0, host: '127.0.0.1' } : where)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return where.path === undefined ? (server.address() as AddressInfo).port : 0
}

const config = (backend: string, policies: string, more = '') => `${more}
backends: [{ name: shop, ${backend}, policies: { ${policies} } }]
binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ backend: shop }] }] }] }]
`
const checkedBy = (kind: string, more = '') => `health: { active: { ${kind}, interval: 100ms${more} } }`
const HTTP = checkedBy('http: { path: /well }')

async function start(t: TestContext, yaml: string): Promise<TestGateway> {
  const gateway = await startGateway(yaml, { folder: ca.folder })
  t.after(() => gateway.close())
  return gateway
}

/** Over all servers. */
const count = (gateway: TestGateway, result: 'ok' | 'failed') => {
  const numbers = gateway.metrics().matchAll(new RegExp(`checks_total\\{[^}]*result="${result}"\\} (\\d+)`, 'g'))
  return [...numbers].reduce((sum, [, number]) => sum + Number(number), 0)
}

/** Those that went well, once `more` than before are over; none may have failed. */
async function good(gateway: TestGateway, more: number, before = 0): Promise<void> {
  await until(() => count(gateway, 'ok') + count(gateway, 'failed') >= before + more)
  equal(count(gateway, 'failed'), 0)
}

/** Lets others run until `isSo`. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

// --- credentials ---

/** A server that answers with 401 clients that do not show `Authorization: line`. */
async function guarded(t: TestContext) {
  const log = new Log<IncomingMessage['headers']>()
  const made = { line: '', log, port: 0 }
  const server = createHttp(({ headers }, response) => {
    response.writeHead(headers.authorization === made.line ? 200 : 401).end()
    log.add(headers)
  })
  made.port = await listening(t, server)
  return made
}

test('checks show the key of the backend, that of the configuration in force, and no other port sees it', async (t) => {
  const server = await guarded(t)
  server.line = 'Bearer first'
  const auth = (key: string) => `auth: { key: ${key} }, ${HTTP}`
  const gateway = await start(t, config(`host: "127.0.0.1:${server.port}"`, auth('first')))
  await good(gateway, 2)
  server.line = 'Basic dXNlcjpzZWNyZXQ='
  const basic = auth(`"${server.line}"`)
  await gateway.reload(config(`host: "127.0.0.1:${server.port}"`, basic))
  await server.log.until((all) => all.at(-1)!.authorization === server.line)
  // Another port of the same host may be anybody's.
  const other = await guarded(t)
  const elsewhere = basic.replace('interval', `port: ${other.port}, interval`)
  await gateway.reload(config(`host: "127.0.0.1:${server.port}"`, elsewhere))
  await other.log.until((all) => all.length > 1)
  // Nor does what clients show go there, or what the last configuration has.
  await gateway.reload(config(`host: "127.0.0.1:${server.port}"`, `auth: { passthrough: {} }, ${HTTP}`))
  await server.log.until((all) => all.at(-1)!.authorization === undefined)
  await gateway.reload(config(`host: "127.0.0.1:${server.port}"`, HTTP))
  const before = server.log.all.length
  await server.log.until((all) => all.length > before + 2)
  ok(server.log.all.slice(before + 1).every(({ authorization }) => authorization === undefined))
  ok(other.log.all.every(({ authorization }) => authorization === undefined))
})

test('backends of one server share its checks: it is well when it takes the credentials of one', async (t) => {
  const server = await guarded(t)
  server.line = 'Bearer good'
  const policies = ['auth: { key: bad },', 'auth: { key: good },', 'auth: { passthrough: {} },', '']
  const to = `host: "127.0.0.1:${server.port}"`
  for (const order of [policies, policies.toReversed()]) {
    const backends = order.map((own, i) => `{ name: b${i}, ${to}, policies: { ${own} ${HTTP} } }`)
    const served = order.map((_, i) => `{ matches: [{ path: { exact: /${i} } }], backends: [{ backend: b${i} }] }`)
    const gateway = await start(
      t,
      `{ backends: [${backends.join()}], binds: [{ port: 0, listeners: [{ routes: [${served.join()}] }] }] }`
    )
    await good(gateway, 3)
    ok(server.log.all.filter(({ authorization }) => authorization === 'Bearer bad').length <= 1)
    await gateway.close()
    server.log.all.length = 0
  }
})

test('checks are signed as requests are', async (t) => {
  const log = new Log<IncomingMessage>()
  const port = await listening(
    t,
    createHttp((request, response) => {
      response.end()
      log.add(request)
    })
  )
  const secrets = 'secrets: [{ name: aws, entries: { accessKey: AKIAEXAMPLE, secretKey: canary-of-aws } }]'
  const auth = 'auth: { aws: { secretRef: { name: aws }, region: eu-west-1, service: execute-api } }'
  await start(t, config(`host: "127.0.0.1:${port}"`, `${auth}, ${HTTP}`, secrets))
  await log.until((all) => all.length > 0)
  const { method = '', url = '', headers } = log.all[0]!
  const [, names = '', signature] = /SignedHeaders=([^,]+), Signature=(\w+)$/.exec(headers.authorization ?? '') ?? []
  equal(headers.host, `127.0.0.1:${port}`)
  ok(names.split(';').includes('host'))
  const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'canary-of-aws' }
  const at = String(headers['x-amz-date']).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const signer = new SignatureV4({
    ...{ service: 'execute-api', region: 'eu-west-1', sha256: Sha256, applyChecksum: false, credentials }
  })
  const kept = names.split(';').filter((name) => name !== 'x-amz-date')
  const again = await signer.sign(
    {
      ...{ method, protocol: 'http:', hostname: '', path: url, query: {} },
      headers: Object.fromEntries(kept.map((name) => [name, String(headers[name])]))
    },
    { signingDate: new Date(at) }
  )
  ok(again.headers.authorization?.endsWith(`Signature=${signature}`))
})

test('providers of models and MCP targets are shown what their requests show', async (t) => {
  const [provider, target] = [await guarded(t), await guarded(t)]
  provider.line = 'Bearer sk-provider'
  target.line = 'Bearer of-target'
  const gateway = await start(
    t,
    `
policies: { ${HTTP} }
binds:
  - port: 0
    listeners:
      - routes:
          - backends:
              - ai: { provider: { openai: {}, host: 127.0.0.1, port: ${provider.port} } }
                policies: { auth: { key: sk-provider } }
              - mcp:
                  targets:
                    - name: a
                      mcp: { host: "http://127.0.0.1:${target.port}/mcp" }
                      policies: { auth: { key: of-target } }
`
  )
  await Promise.all([provider, target].map(({ log }) => log.until((all) => all.length > 1)))
  await good(gateway, 4)
})

// --- TLS ---

/** Of HTTPS; it wants a certificate of clients. */
async function secured(t: TestContext, serve: RequestListener) {
  const [leaf, client] = [ca.leaf({ names: 'DNS:shop.test' }), ca.leaf({ usage: 'clientAuth' })]
  const names = new Log<string>()
  const options: ServerOptions = {
    ...{ key: readFileSync(leaf.key), cert: readFileSync(leaf.cert) },
    ...{ ca: ca.rootText, requestCert: true, rejectUnauthorized: true }
  }
  const server = createHttps(options, serve)
  server.on('secureConnection', (socket: TLSSocket) => names.add(String(socket.servername)))
  const port = await listening(t, server)
  const policy = `tls: { hostname: shop.test, root: ${ca.root}, cert: ${client.cert}, key: ${client.key} }`
  return { port, names, policy }
}

for (const [kind, check] of [
  ['HTTP', HTTP],
  ['TCP', checkedBy('tcp: {}')]
] as const) {
  test(`checks over ${kind} name the server, verify it, and show a certificate`, async (t) => {
    const log = new Log<string>()
    const { port, names, policy } = await secured(t, ({ url = '' }, response) => {
      response.end()
      log.add(url)
    })
    const gateway = await start(t, config(`host: "127.0.0.1:${port}"`, `${policy}, ${check}`))
    await names.until((all) => all.length > 0)
    await good(gateway, 1)
    equal(names.all[0], 'shop.test')
    if (kind === 'HTTP') equal(log.all[0], '/well')
    // A name that its certificate has not.
    const other = `${policy.replace('shop.test', 'other.test')}, ${check}`
    await gateway.reload(config(`host: "127.0.0.1:${port}"`, other))
    await until(() => count(gateway, 'failed') > 0)
  })
}

// --- PROXY headers ---

/** Wants a header on each connection and goes on with `inner`. */
async function headed(t: TestContext, inner: Server) {
  const headers = new Log<ProxyHeader>()
  const outer = createServer((socket) => {
    let bytes = Buffer.alloc(0)
    const take = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const read = readProxyHeader(bytes, 0, bytes.length, 'all')
      if (read === 'more') return
      socket.off('data', take)
      if (typeof read === 'string') {
        socket.destroy()
        return
      }
      socket.pause()
      if (read.end < bytes.length) socket.unshift(bytes.subarray(read.end))
      inner.emit('connection', socket)
      if (!('setSecureContext' in inner)) socket.resume()
      headers.add(read)
    }
    socket.on('data', take)
  })
  return { headers, port: await listening(t, outer) }
}

for (const version of ['v1', 'v2'] as const) {
  test(`checks begin with a header of ${version} that names nobody, where requests begin with one`, async (t) => {
    const tcp = `tcp: { proxyProtocol: ${version} }`
    const clear = await headed(
      t,
      createHttp((_, response) => response.end())
    )
    const gateway = await start(t, config(`host: "127.0.0.1:${clear.port}"`, `${tcp}, ${HTTP}`))
    await good(gateway, 1)
    equal(clear.headers.all[0]!.source, null)
    // Before TLS, without which its handshake would be the header.
    const leaf = ca.leaf({ names: 'DNS:shop.test' })
    const secure = createHttps({ key: readFileSync(leaf.key), cert: readFileSync(leaf.cert) })
    const { port, headers } = await headed(t, secure)
    const tls = `tls: { hostname: shop.test, root: ${ca.root} }`
    const before = count(gateway, 'ok')
    await gateway.reload(config(`host: "127.0.0.1:${port}"`, `${tls}, ${tcp}, ${checkedBy('tcp: {}')}`))
    await good(gateway, 2, before)
    ok(headers.all.length > 0)
  })
}

// --- unix sockets ---

test('checks reach a server behind a unix socket', async (t) => {
  const path = `${ca.folder}/checked.sock`
  const log = new Log<string>()
  await listening(
    t,
    createHttp(({ headers }, response) => {
      response.end()
      log.add(String(headers.host))
    }),
    { path }
  )
  const gateway = await start(t, config(`host: "unix:${path}"`, HTTP))
  await log.until((all) => all.length > 1)
  await gateway.reload(config(`host: "unix:${path}"`, checkedBy('tcp: {}')))
  const before = count(gateway, 'ok')
  await good(gateway, 2, before)
  deepEqual(new Set(log.all), new Set(['localhost']))
})

// --- HTTP/2 ---

test('a server of HTTP/2 alone is checked as the policy http says, and of gRPC by its own name', async (t) => {
  const seen = new Log<string>()
  const server = createHttp2()
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => sessions.push(session))
  server.on('stream', (stream, { ':path': path, ':authority': authority }) => {
    const isGrpc = path !== '/well'
    stream.resume()
    stream.respond(
      { ':status': 200, ...(isGrpc ? { 'content-type': 'application/grpc' } : {}) },
      { waitForTrailers: true }
    )
    stream.on('wantTrailers', () => stream.sendTrailers(isGrpc ? { 'grpc-status': '0' } : {}))
    stream.end(isGrpc ? Buffer.from([0, 0, 0, 0, 2, 8, 1]) : '')
    seen.add(`${authority}${path}`)
  })
  t.after(() => sessions.forEach((session) => void session.destroy()))
  const port = await listening(t, server as unknown as Server)
  const host = `host: "127.0.0.1:${port}"`
  const gateway = await start(t, config(host, `http: { version: HTTP2 }, ${HTTP}`))
  await good(gateway, 2)
  await gateway.reload(config(host, checkedBy('grpc: {}')))
  const before = count(gateway, 'ok')
  await good(gateway, 2, before)
  deepEqual([...new Set(seen.all)], [`127.0.0.1:${port}/well`, `127.0.0.1:${port}/grpc.health.v1.Health/Check`])
  // It does not know what HTTP/1.1 is.
  await gateway.reload(config(host, HTTP))
  await until(() => count(gateway, 'failed') > 0)
})
