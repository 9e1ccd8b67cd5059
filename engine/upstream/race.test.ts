/** Names with several addresses over real sockets: what is answered, and that no socket stays behind. */

import { equal, match, ok } from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer as createHttp2 } from 'node:http2'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { SPOKEN_DEFAULT } from '#engine/contract/endpoint.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import { openSockets } from '#engine/socket/open-sockets.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { TlsSettings } from '#engine/socket/tls.ts'
import { statuses } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import { DestinationState } from './destination.ts'
import { EndpointState } from './endpoint.ts'
import { MeshTls } from './mesh.ts'
import { Resolver } from './resolver.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'
/** Each behaviour has an address of its own, all have the same port. */
const ADDRESS = {
  good: '127.0.0.2',
  resets: '127.0.0.3',
  silent: '127.0.0.4',
  hangs: '127.0.0.5',
  refuses: '127.0.0.6',
  http2: '127.0.0.7'
}
type Kind = keyof typeof ADDRESS

/** Nobody accepts here: it is stopped, and its queue is full, so the system drops what asks for a connection. */
const STOPPED = `
const server = require('node:net').createServer(() => {})
server.listen({ port: +process.argv[1], host: '${ADDRESS.hangs}', backlog: 1 }, () => console.log('listening'))`

const CASES: readonly (readonly [Kind[], number, RegExp])[] = [
  [['hangs', 'good'], 200, /ok$/],
  [['refuses', 'good'], 200, /ok$/],
  [['refuses', 'hangs', 'good'], 200, /ok$/],
  [['hangs', 'refuses', 'good'], 200, /ok$/],
  [['resets'], 502, /refused|reset/],
  [['refuses'], 502, /connect|reach/],
  [['hangs'], 504, /connect|time/],
  [['hangs', 'refuses'], 504, /connect|time/]
]
const SECURE: TlsSettings = { serverName: 'a.test', ca: null }

function descriptors(): number {
  return readdirSync('/proc/self/fd').length
}

async function listen(port: number, host: string, serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

describe('addresses that hang, refuse and reset, over real sockets', () => {
  const servers: Server[] = []
  const waiting: Socket[] = []
  let stopped: ChildProcess
  let port = 0
  before(async () => {
    const good = await listen(0, ADDRESS.good, (socket) => socket.once('data', () => socket.end(OK)))
    port = (good.address() as { port: number }).port
    servers.push(good)
    servers.push(await listen(port, ADDRESS.resets, (socket) => socket.resetAndDestroy()))
    servers.push(await listen(port, ADDRESS.silent, (socket) => socket.resume()))
    const http2 = createHttp2((_request, response) => response.end('ok'))
    http2.listen(port, ADDRESS.http2)
    await once(http2, 'listening')
    servers.push(http2)
    stopped = spawn(process.execPath, ['-e', STOPPED, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(stopped.stdout!, 'data')
    stopped.kill('SIGSTOP')
    // The queue holds one more than it says.
    for (let i = 0; i < 2; i++) {
      const socket = connect(port, ADDRESS.hangs)
      socket.on('error', () => {})
      waiting.push(socket)
      await once(socket, 'connect')
    }
  })
  after(() => {
    for (const socket of waiting) socket.destroy()
    for (const server of servers) server.close()
    stopped.kill('SIGKILL')
  })

  async function withAddresses(
    kinds: readonly Kind[],
    options: { sockets: 'handles' | 'net'; tls?: TlsSettings; version?: 'HTTP2'; connectTimeoutMs?: number },
    run: (stack: Stack) => Promise<void>
  ): Promise<void> {
    const parser = llhttp()
    const timers = new TimerWheel()
    let endpoint: EndpointState | null = null
    const stack = await startStack({ upstream: 1, timers, serve: (ex) => endpoint!.send(ex) })
    const addresses = kinds.map((kind) => ({ ip: ADDRESS[kind], family: 4 as const }))
    const resolver = new Resolver('several.test', () => Promise.resolve({ addresses, ttlMs: 60_000 }))
    const http = options.version === undefined ? {} : { http: { ...SPOKEN_DEFAULT, version: options.version } }
    const site = new DestinationState(
      { host: 'several.test', port, unixPath: null },
      {
        guarded: false,
        allow: [],
        connectTimeoutMs: options.connectTimeoutMs ?? 600,
        tls: options.tls ?? null,
        ...http
      },
      { resolver }
    )
    endpoint = new EndpointState(site, {
      sockets: openSockets(parser.memory, options.sockets),
      mesh: new MeshTls(),
      llhttp: parser,
      timers,
      events: stack.lifecycle,
      idleTimeoutMs: 90_000,
      poolMax: 1024,
      requestsPerConnectionMax: 0,
      observer: { connected() {}, connectFailed() {}, retried() {} }
    })
    const before = descriptors()
    await run(stack)
    endpoint.closeIdle()
    equal(endpoint.busy, 0)
    equal(endpoint.total, 0)
    // What was closed in the last turn is closed when the loop comes round; clients of the test end as they like.
    for (let turns = 0; descriptors() > before && turns < 10_000; turns++) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    ok(descriptors() <= before, `${descriptors()} descriptors, ${before} before`)
    stack.close()
  }

  for (const sockets of ['handles', 'net'] as const) {
    for (const [kinds, status, text] of CASES) {
      it(`${kinds.join(', ')}: ${status} (${sockets})`, () =>
        withAddresses(kinds, { sockets }, async (stack) => {
          for (let round = 0; round < 3; round++) {
            const answers = await Promise.all(Array.from({ length: 10 }, () => exchangeRaw(stack.port, GET)))
            for (const answer of answers) {
              equal(statuses(answer)[0], status, answer)
              match(answer, text)
            }
          }
        }))
    }

    // Long before a dial would be given up, and again with what the first ones have learned.
    for (const kinds of [
      ['hangs', 'http2'],
      ['refuses', 'hangs', 'http2'],
      ['hangs', 'refuses', 'http2']
    ] as const) {
      const options = { sockets, version: 'HTTP2', connectTimeoutMs: 60_000 } as const
      it(`${kinds.join(', ')} by HTTP/2: the others are tried beside (${sockets})`, () =>
        withAddresses(kinds, options, async (stack) => {
          for (let round = 0; round < 2; round++) {
            const answers = await Promise.all(Array.from({ length: 10 }, () => exchangeRaw(stack.port, GET)))
            for (const answer of answers) match(answer, /^HTTP\/1\.1 200/)
          }
        }))
    }

    for (const [name, options] of [
      ['a handshake that nobody answers', { tls: SECURE }],
      ['a preface that nobody answers', { version: 'HTTP2' }],
      ['both', { tls: SECURE, version: 'HTTP2' }]
    ] as const) {
      it(`${name} is given up in time (${sockets})`, () =>
        withAddresses(['silent', 'hangs'], { sockets, ...options }, async (stack) => {
          const answers = await Promise.all(Array.from({ length: 10 }, () => exchangeRaw(stack.port, GET)))
          for (const answer of answers) equal(statuses(answer)[0], 504, answer)
        }))
    }
  }
})
