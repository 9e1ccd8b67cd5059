/** The uws transport beside the contract: when it serves at all, and what is its own. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { BindContext } from '#engine/downstream/bind.ts'
import { ConnectionLimiter } from '#engine/downstream/connection-limiter.ts'
import { openBind } from '#engine/downstream/listen.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import type { Bind } from '#engine/ir/snapshot.ts'
import { openSockets } from '#engine/socket/open-sockets.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'
import { FRONTEND, type Stack, startStack } from '#engine/testing/stack.ts'
import { UWS_HTTP, UWS_STACK } from '#engine/testing/transports.ts'
import { unsupported } from './bind.ts'
import { uwsWith } from './capabilities.ts'
import { addressText, linesWithout } from './head.ts'
import { loadUws } from './library.ts'

const FITTING = { ...FRONTEND, http: { ...FRONTEND.http, ...UWS_HTTP }, tcp: UWS_STACK.tcp }
const RULES = { policies: {}, preRouting: {}, routes: [], tcpRoutes: [] }
const LISTENER: Bind['listeners'][number] = { name: 'l', hostname: '*', protocol: 'HTTP', tls: null, ...RULES }

function open(upstream: number, http = {}): Promise<Stack> {
  return startStack({ upstream, ...UWS_STACK, http: { ...UWS_HTTP, ...http } })
}

test('every setting that it cannot honour is named with its value', () => {
  assert.deepEqual(unsupported(FITTING, []), [])
  const http = { ...FITTING.http, headersMax: 100, idleTimeoutMs: 600_000, headTimeoutMs: 30_000, headBytesMax: 70_000 }
  const faults = unsupported({ ...FRONTEND, http }, [LISTENER])
  for (const part of [
    'http1MaxHeaders = 100:',
    'maxHeaderSize = 70000:',
    'http1IdleTimeout = 600000ms:',
    'http1HeaderTimeout = 30000ms:',
    'tcp.keepalives.time = 180000ms:'
  ]) {
    assert.ok(
      faults.some((fault) => fault.startsWith(part)),
      part
    )
  }
  assert.equal(faults.length, 5)
  assert.match(unsupported(FITTING, [{ ...LISTENER, protocol: 'TLS' }])[0]!, /^protocol = TLS: /)
  assert.match(unsupported(FITTING, [], uwsWith(4096))[0]!, /^maxHeaderSize = 49152: .* 4096 bytes/)
})

test('a bind whose settings it cannot honour is refused', async () => {
  await assert.rejects(
    startStack({ upstream: 1, transport: 'uws' }),
    /transport uws cannot serve it: http1IdleTimeout = 600000ms: .*http1MaxHeaders = 100: /
  )
})

test('where it has no binary the node transport serves, and says why', async () => {
  const parser = llhttp()
  const never = () => assert.fail('nothing is served here')
  const events = {
    onRequest: never,
    onRefused: never,
    onRequestBody: never,
    onRequestEnd: never,
    onClientWritable: never,
    onClientFault: never
  }
  const context: BindContext = {
    events,
    llhttp: parser,
    sockets: openSockets(parser.memory),
    timers: new TimerWheel(),
    frontend: FRONTEND,
    observer: { opened() {}, closed() {}, handshake() {} },
    limiter: new ConnectionLimiter(1),
    secret: new Uint8Array(32)
  }
  const missing = () => Promise.resolve({ missing: 'no binary for this Node' })
  const bind = await openBind({ port: 0, listeners: [], transport: 'uws' }, context, missing)
  assert.equal(bind.transport, 'node')
  assert.match(bind.detail, /uws is not available: no binary for this Node$/)
  bind.stopAccepting()
})

test('several binds share a port, and a taken port is an error', async () => {
  const loaded = await loadUws()
  assert.ok('uws' in loaded)
  const server = await rawServer(async (client) => {
    await client.until('\r\n\r\n')
    client.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok')
  })
  // The library shares a port only if it was asked for by number: this finds one and holds it.
  const holder = await openSockets(llhttp().memory).listen(0, { timeMs: 0 }, () => {})
  const { port } = holder
  const one = await startStack({ upstream: server.port, ...UWS_STACK, port })
  const two = await startStack({ upstream: server.port, ...UWS_STACK, port })
  holder.close()
  one.bind.stopAccepting()
  assert.deepEqual([one.port, two.port], [port, port])
  // Two turns of the loop: both close in the check phase of this one.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  for (let i = 0; i < 20; i++) {
    const answer = await exchangeRaw(two.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.match(answer, /^HTTP\/1.1 200 /)
  }
  await assert.rejects(startStack({ upstream: 1, ...UWS_STACK, port: server.port }), {
    code: 'EADDRINUSE'
  })
  one.close()
  two.close()
  server.close()
})

test('98 header fields and a head of 40 KB pass', async () => {
  const server = await rawServer(async (client) => {
    const head = await client.until('\r\n\r\n')
    const body = String(head.length)
    client.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  })
  const stack = await open(server.port)
  const client = await rawClient(stack.port)
  client.send(`GET / HTTP/1.1\r\nHost: a\r\n${`X-Long: ${'v'.repeat(400)}\r\n`.repeat(97)}\r\n`)
  assert.match(await client.until(/\d{5}$/), /^HTTP\/1.1 200 /)
  client.close()
  stack.close()
  server.close()
})

test('new settings hold from the next request on', async () => {
  const server = await rawServer(async (client) => {
    await client.until('\r\n\r\n')
    client.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
  })
  const stack = await open(server.port)
  const spec = { port: 0, listeners: [], transport: 'uws' as const }
  stack.bind.prepare({ ...FITTING, http: { ...FITTING.http, uriBytesMax: 4 } }, spec)()
  const client = await rawClient(stack.port)
  client.send('GET /long HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.match(await client.until('\r\n\r\n'), /^HTTP\/1.1 414 /)
  client.close()
  stack.close()
  server.close()
})

test('a handshake that is none is answered with 502', async () => {
  const server = await rawServer(async (client) => {
    await client.until('\r\n\r\n')
    const fields = 'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: wrong\r\n'
    client.send(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`)
  })
  const stack = await open(server.port)
  const head = 'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
  const answer = await exchangeRaw(stack.port, `GET / HTTP/1.1\r\nHost: a\r\n${head}Sec-WebSocket-Version: 13\r\n\r\n`)
  assert.match(answer, /^HTTP\/1.1 502 /)
  const [record] = await stack.recorded(1)
  assert.deepEqual([record!.status, record!.error], [502, 'UPSTREAM_PROTOCOL'])
  stack.close()
  server.close()
})

test('addresses are spelled as the operating system does', () => {
  const text = (...bytes: number[]) => addressText(new Uint8Array(bytes).buffer)
  assert.equal(text(127, 0, 0, 1), '127.0.0.1')
  assert.equal(text(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1), '::ffff:10.0.0.1')
  assert.equal(text(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), '::1')
  assert.equal(text(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), '::')
  assert.equal(text(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1), '2001:db8::1:0:0:1')
  assert.equal(text(0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4), 'fe80::1:2:3:4')
  assert.equal(text(), '')
})

test('lines are left out of the head and stay in the block', () => {
  const block = new HeaderBlock()
  for (const line of ['Date: a', 'X: b', 'Content-Length: 1', 'Y: c']) {
    block.receive(line.split(': ')[0]!, line.split(': ')[1]!)
  }
  block.append('date', 'd')
  block.append('Z', 'e')
  assert.equal(linesWithout(block, ['date', 'content-length']), 'X: b\r\nY: c\r\nZ: e\r\n')
  assert.equal(block.get('content-length'), '1')
  assert.equal(block.getAll('date'), 'a, d')
})

test('a request goes on while the backend wants it, though the answer has its length', async () => {
  const got = Promise.withResolvers<number>()
  const origin = createServer((request, response) => {
    response.setHeader('content-length', 5)
    response.write('hello')
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
    request.on('end', () => {
      response.end()
      got.resolve(bytes)
    })
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const { port } = origin.address() as AddressInfo
  const gateway = await startGateway(`
frontendPolicies:
  http: { http1IdleTimeout: 12s, http1HeaderTimeout: 12s, http1MaxHeaders: 98 }
  tcp: { keepalives: { time: 0s } }
binds:
- port: 0
  transport: uws
  listeners:
  - routes: [{ backends: [{ host: "127.0.0.1:${port}", policies: { http: { version: HTTP2 } } }] }]
`)
  const client = await rawClient(gateway.port)
  const half = 'b'.repeat(300_000)
  client.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 600000\r\n\r\n${half}`)
  await client.until('\r\n\r\nhell')
  client.send(half)
  await client.until('hello')
  assert.equal(await got.promise, 600_000)
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.until(/hello[\s\S]*hello/)
  client.close()
  await gateway.close()
  origin.close()
})
