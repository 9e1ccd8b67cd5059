/**
 * What has arrived from one client is not done to its end before others are heard. Floods lie in the kernel's buffer,
 * whole, when the request of another client comes: it counts how much of the flood is done before that is served.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import tls from 'node:tls'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE } from '#engine/contract/filter.ts'
import { frameHead, headersFrame, pingFrame, settingsFrame } from '#engine/http2/frame-writer.ts'
import { HpackEncoder } from '#engine/http2/hpack-encoder.ts'
import { DATA, END_STREAM, ENHANCE_YOUR_CALM, PREFACE } from '#engine/http2/protocol.ts'
import type { Bind } from '#engine/ir/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import { H2Client, requestFields } from '#engine/testing/h2-client.ts'
import { RawClient } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import { FloodLimits } from './http2/flood-limits.ts'

/** Of 4,000 to 8,000 pieces of work: nothing is lost by more, but one read alone can hold them all. */
const DONE_MAX = 600

const opened: { close(): void }[] = []
afterEach(() => {
  for (const one of opened.splice(0)) one.close()
})

/** Pieces of bodies that have come. */
let pieces = 0
/** The request of the other client is here. */
let onOther = () => {}

/** Requests for /body are read and never answered, others are refused at once. */
async function stackFor(sockets: 'handles' | 'net', listeners: Bind['listeners']): Promise<Stack> {
  const stack = await startStack({
    upstream: 1,
    sockets,
    listeners,
    refuse: (ex) => {
      if (ex.path === '/other') onOther()
      return ex.path === '/body' ? null : 'ROUTE_NOT_FOUND'
    },
    requestHooks: [count],
    http: { headBytesMax: 4096 },
    serve: () => {}
  })
  opened.push(stack)
  pieces = 0
  return stack
}

function count(ex: Exchange): typeof CONTINUE {
  const take = () => {
    pieces++
    return true
  }
  ex.requestCollector = { take, end() {} }
  return CONTINUE
}

const PAIR = selfSigned(['localhost'])

function secured(): Bind['listeners'] {
  const rest = { clientCa: null, minVersion: null, maxVersion: null, cipherSuites: null }
  const material = { cert: PAIR.cert, key: secret(PAIR.key), ...rest }
  const none = { routes: [], tcpRoutes: [], policies: {}, preRouting: {} }
  return [{ name: 'tls', hostname: '*', protocol: 'HTTPS', tls: material, ...none }]
}

async function dial(port: number, isTls: boolean, protocol: string): Promise<Socket> {
  if (!isTls) {
    const socket = connect({ port, host: '127.0.0.1' })
    await once(socket, 'connect')
    return socket
  }
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: [protocol] })
  await once(socket, 'secureConnect')
  return socket
}

const encoder = new HpackEncoder()

function head(id: number, path: string, flags: number, extra: readonly (readonly [string, string])[] = []): string {
  let block = encoder.begin()
  for (const [name, value] of [...requestFields('GET', path), ...extra]) block += encoder.field(name, value)
  return headersFrame(block, flags, id, 16_384)
}

const GET = 'GET /flood HTTP/1.1\r\nHost: a.test\r\n\r\n'
const CHUNKED = 'POST /body HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n'
const BEGINNING = PREFACE + settingsFrame([])
const many = (count: number, make: (id: number) => string) =>
  Array.from({ length: count }, (_, n) => make(2 * n + 1)).join('')

interface Flood {
  readonly protocol: 'http/1.1' | 'h2'
  /** Sent, and answered or taken, before the flood. */
  readonly first?: string
  readonly text: () => string
  /** How much of it is done. */
  readonly done: (stack: Stack) => number
}

const requests = (stack: Stack) => stack.records.filter(({ path }) => path !== '/other').length

const FLOODS: Record<string, Flood> = {
  'pipelined requests': { protocol: 'http/1.1', text: () => GET.repeat(4000), done: requests },
  'a body in chunks of a byte': {
    protocol: 'http/1.1',
    text: () => CHUNKED + '1\r\na\r\n'.repeat(30_000),
    // The first read is parsed whole: nothing tells before that it is of such pieces.
    done: () => pieces - (64 * 1024) / 6
  },
  'requests of HTTP/2': {
    protocol: 'h2',
    text: () => BEGINNING + many(4000, (id) => head(id, '/flood', END_STREAM)),
    done: requests
  },
  'requests with a body that nobody wants': {
    protocol: 'h2',
    text: () => BEGINNING + many(2000, (id) => `${head(id, '/flood', 0)}${frameHead(1, DATA, 0, id)}a`),
    done: requests
  },
  'heads with many fields': {
    protocol: 'h2',
    text: () => BEGINNING + many(500, (id) => head(id, '/flood', END_STREAM, FIELDS)),
    done: (stack) => requests(stack) * FIELDS.length
  },
  'DATA of a byte': {
    protocol: 'h2',
    text: () => BEGINNING + head(1, '/body', 0) + `${frameHead(1, DATA, 0, 1)}a`.repeat(6000),
    done: () => pieces - 1000
  }
}
const FIELDS = Array.from({ length: 50 }, (_, n) => [`x-${n}`, 'a'] as const)

for (const sockets of ['handles', 'net'] as const) {
  for (const isTls of [false, true]) {
    describe(`fairness, over ${sockets}${isTls ? ' with TLS' : ''}`, () => {
      for (const [name, { protocol, text, done }] of Object.entries(FLOODS)) {
        test(`${name}: another client is served in between`, async () => {
          const stack = await stackFor(sockets, isTls ? secured() : [])
          const socket = await dial(stack.port, isTls, protocol)
          opened.push({ close: () => socket.destroy() })
          socket.on('error', () => {})
          socket.resume()
          const other = new RawClient(await dial(stack.port, isTls, 'http/1.1'))
          opened.push(other)
          // A connection knows what its client speaks before the flood comes.
          other.send('GET /before HTTP/1.1\r\nHost: a.test\r\n\r\n')
          await other.until('404')
          let before = Number.POSITIVE_INFINITY
          const served = new Promise<void>((resolve) => {
            onOther = () => {
              before = done(stack)
              resolve()
            }
          })
          socket.write(text(), 'latin1')
          other.send('GET /other HTTP/1.1\r\nHost: a.test\r\n\r\n')
          await served
          ok(before < DONE_MAX, `${before} were done before`)
        })
      }
    })
  }
}

describe('errors of HTTP/2', () => {
  const BROKEN: Record<string, readonly (readonly [string, string])[]> = {
    'no path': [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':authority', 'a.test']
    ],
    'a path that is none': requestFields('GET', 'a b'),
    'a host that is none': [...requestFields('GET', '/'), ['host', 'other.test']],
    'a method that is none': requestFields('GE T', '/'),
    'an unknown method': requestFields('FETCH', '/'),
    'fields of a connection': [...requestFields('GET', '/'), ['connection', 'close']],
    'a head that is too large': [...requestFields('GET', '/'), ['a', 'a'.repeat(5_000)]]
  }
  for (const [name, fields] of Object.entries(BROKEN)) {
    test(`${name}: 256 are answered, then the connection ends`, async () => {
      const stack = await stackFor('handles', [])
      const client = new H2Client(await dial(stack.port, false, 'h2'))
      opened.push(client)
      client.send(BEGINNING)
      const startedAt = performance.now()
      for (let id = 1; id < 2400; id += 2) client.requestRaw(id, fields)
      await client.untilEnd()
      deepEqual(
        client.goaways.map(({ code }) => code),
        [ENHANCE_YOUR_CALM]
      )
      // 33 more in every second, however many of them it takes.
      const allowed = 257 + (33 * (performance.now() - startedAt)) / 1000
      ok(stack.records.length <= allowed, `${stack.records.length} were answered`)
    })
  }

  test('an error earns nothing: answered errors between resets', async () => {
    const stack = await stackFor('handles', [])
    const client = new H2Client(await dial(stack.port, false, 'h2'))
    opened.push(client)
    client.send(BEGINNING)
    for (let id = 1; id < 2400; id += 4) {
      client.get(id)
      client.requestRaw(id + 2, [[':method', 'GET']])
    }
    await client.untilEnd()
    deepEqual(
      client.goaways.map(({ code }) => code),
      [ENHANCE_YOUR_CALM]
    )
  })

  test('a window that opens by a byte does not pay for the next frame', async () => {
    const stack = await startStack({ upstream: 1, requestHooks: [], refuse: () => 'ROUTE_NOT_FOUND' })
    opened.push(stack)
    const client = new H2Client(await dial(stack.port, false, 'h2'))
    opened.push(client)
    client.send(PREFACE + settingsFrame([4, 0]))
    for (let id = 1; id < 200; id += 2) client.get(id)
    for (let n = 0; n < 3000; n++) client.send(`${frameHead(4, 8, 0, 2 * (n % 100) + 1)}\0\0\0\x01`)
    await client.untilEnd()
    deepEqual(
      client.goaways.map(({ code }) => code),
      [ENHANCE_YOUR_CALM]
    )
  })

  test('a client that reads none of its answers gets no more of them', async () => {
    const stack = await startStack({ upstream: 1, refuse: () => 'ROUTE_NOT_FOUND' })
    opened.push(stack)
    const socket = await dial(stack.port, false, 'h2')
    opened.push({ close: () => socket.destroy() })
    socket.on('error', () => {})
    socket.pause()
    const total = 150_000
    let sent = 0
    const isWritten = () => new Promise<void>((resolve) => socket.once('drain', resolve).once('close', () => resolve()))
    socket.write(BEGINNING, 'latin1')
    while (sent < total && !socket.destroyed) {
      const from = sent
      const heads = Array.from({ length: 1000 }, (_, n) => requestHead(2 * (from + n) + 1))
      sent += 1000
      if (!socket.write(heads.join(''), 'latin1')) await isWritten()
      if (stack.bind.connections() === 0) break
    }
    ok(stack.records.length < total, `${stack.records.length} were answered`)
  })
})

test('answers that have been read do not wait, though others always do', () => {
  const floods = new FloodLimits()
  for (let n = 0; n < 900; n++) equal(floods.reply(true), 0)
  floods.read()
  for (let n = 0; n < 900; n++) equal(floods.reply(true), 0)
  for (let n = 0; n < 100; n++) floods.reply(true)
  equal(floods.reply(true), ENHANCE_YOUR_CALM)
})

/** HEAD: an answer without DATA, which no window holds back. */
function requestHead(id: number): string {
  let block = encoder.begin()
  for (const [name, value] of requestFields('HEAD', '/')) block += encoder.field(name, value)
  return headersFrame(block, END_STREAM, id, 16_384)
}

test('PINGs between requests are answered, whatever is put off', async () => {
  const stack = await stackFor('handles', [])
  const client = new H2Client(await dial(stack.port, false, 'h2'))
  opened.push(client)
  client.send(BEGINNING)
  for (let n = 0; n < 400; n++) {
    client.get(2 * n + 1)
    client.send(pingFrame(false, String(n).padStart(8, '0')))
  }
  await client.answer(799)
  await client.until(({ pings }) => pings.length === 400)
  deepEqual(
    client.pings,
    Array.from({ length: 400 }, (_, n) => `ack ${String(n).padStart(8, '0')}`)
  )
  for (let n = 0; n < 400; n++) equal(client.stream(2 * n + 1).status, 404)
})
