/** Attacks on a connection of HTTP/2: each ends it with ENHANCE_YOUR_CALM, others are served meanwhile. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { frameHead, pingFrame, resetFrame, settingsFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { CONTINUATION, DATA, ENHANCE_YOUR_CALM, HEADERS, PRIORITY, PROTOCOL_ERROR } from '#engine/http2/protocol.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { answering, manyTurns, OK, upstream } from '#engine/testing/downstream-support.ts'
import { type H2Client, h2Client, requestFields } from '#engine/testing/h2-client.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'

const opened: { close(): void }[] = []
afterEach(() => {
  for (const one of opened.splice(0)) one.close()
})

async function stackFor(options: StackOptions): Promise<Stack> {
  const stack = await startStack(options)
  opened.push(stack)
  return stack
}

async function clientOf(stack: Stack, settings?: number[]): Promise<H2Client> {
  const client = await h2Client(stack.port, settings)
  opened.push(client)
  return client
}

const frame = (type: number, flags: number, stream: number, payload: string) =>
  frameHead(payload.length, type, flags, stream) + payload

/** What is repeated, a thousand times and more; `n` counts from 0. */
const FLOODS: Record<string, (client: H2Client, n: number) => string> = {
  PING: () => pingFrame(false, '12345678'),
  'answers to PINGs that were not sent': () => pingFrame(true, '12345678'),
  SETTINGS: () => settingsFrame([4, 65_535]),
  PRIORITY: () => frame(PRIORITY, 0, 1, '\0\0\0\0\x10'),
  'frames of unknown types': () => frame(77, 0, 1, 'a'),
  WINDOW_UPDATE: () => windowUpdateFrame(0, 1),
  'empty DATA': () => frame(DATA, 0, 1, ''),
  'empty padded DATA': () => frame(DATA, 8, 1, '\x01\0'),
  'resets of streams that are over': () => resetFrame(1, 8)
}

describe('attacks on a connection of HTTP/2', () => {
  for (const [name, make] of Object.entries(FLOODS)) {
    test(name, async () => {
      const server = await upstream(async (peer) => {
        if (/served/.test(await peer.until('\r\n\r\n'))) peer.send(OK)
      })
      const stack = await stackFor({ upstream: server.port })
      const client = await clientOf(stack)
      const other = await clientOf(stack)
      client.request(1, requestFields('POST', '/held'), false)
      if (name.startsWith('resets')) client.send(resetFrame(1, 8))
      for (let n = 0; n < 3000; n++) client.send(make(client, n))
      other.get(1, '/served')
      equal((await other.answer(1)).status, 200)
      await client.untilEnd()
      deepEqual(
        client.goaways.map(({ code }) => code),
        [ENHANCE_YOUR_CALM]
      )
      equal(stack.bind.connections(), 1)
    })
  }

  test('streams that their client makes us reset: more DATA than it announced', async () => {
    const server = await upstream(async (peer) => {
      if (/served/.test(await peer.until('\r\n\r\n'))) peer.send(OK)
    })
    const stack = await stackFor({ upstream: server.port })
    const client = await clientOf(stack)
    const other = await clientOf(stack)
    for (let id = 1; id < 1000; id += 2) {
      client.request(id, [...requestFields('POST', '/held'), ['content-length', '1']], false)
      client.send(frame(DATA, 0, id, 'ab'))
    }
    other.get(1, '/served')
    equal((await other.answer(1)).status, 200)
    await client.untilEnd()
    deepEqual(
      client.goaways.map(({ code }) => code),
      [ENHANCE_YOUR_CALM]
    )
  })

  test('rapid reset: streams that are opened and reset at once', async () => {
    const server = await upstream(async (peer) => {
      if (/served/.test(await peer.until('\r\n\r\n'))) peer.send(OK)
    })
    const stack = await stackFor({ upstream: server.port })
    const client = await clientOf(stack)
    const other = await clientOf(stack)
    for (let id = 1; id < 2000; id += 2) {
      client.get(id)
      client.send(resetFrame(id, 8))
    }
    other.get(1, '/served')
    equal((await other.answer(1)).status, 200)
    await client.untilEnd()
    deepEqual(
      client.goaways.map(({ code }) => code),
      [ENHANCE_YOUR_CALM]
    )
    ok(stack.records.length < 300, `${stack.records.length} requests`)
    equal(stack.bind.connections(), 1)
  })

  test('streams that make us reset them', async () => {
    const server = await upstream(() => {})
    const stack = await stackFor({ upstream: server.port })
    const client = await clientOf(stack)
    for (let id = 1; id < 2000; id += 2) {
      client.get(id)
      client.send(windowUpdateFrame(id, 0x7fffffff))
    }
    await client.untilEnd()
    deepEqual(
      client.goaways.map(({ code }) => code),
      [ENHANCE_YOUR_CALM]
    )
  })

  test('a client may reset what it likes in proportion to what it lets us answer', async () => {
    const server = await upstream(async (peer) => {
      if (!/slow/.test(await peer.until('\r\n\r\n'))) peer.send(OK.replace('\r\n', '\r\nConnection: close\r\n'))
    })
    const stack = await stackFor({ upstream: server.port })
    const client = await clientOf(stack)
    for (let id = 1; id < 1200; id += 4) {
      client.get(id, '/slow')
      client.send(resetFrame(id, 8))
      client.get(id + 2)
      equal((await client.answer(id + 2)).status, 200)
    }
    deepEqual(client.goaways, [])
  })

  test('CONTINUATION without end, and blocks without end', async () => {
    const server = await answering(OK)
    const stack = await stackFor({ upstream: server.port })
    for (const piece of ['', 'a', 'a'.repeat(16_000)]) {
      const client = await clientOf(stack)
      client.send(frame(HEADERS, 1, 1, ''))
      for (let n = 0; n < 200; n++) client.send(frame(CONTINUATION, 0, 1, piece))
      await client.untilEnd()
      deepEqual(client.goaways, [{ last: 0, code: ENHANCE_YOUR_CALM }])
    }
    equal(stack.bind.connections(), 0)
  })

  test('a small block that stands for a large list is answered 431, and the next block is understood', async () => {
    const server = await answering(OK)
    const stack = await stackFor({ upstream: server.port })
    const client = await clientOf(stack)
    const more: [string, string][] = Array.from({ length: 2 }, () => ['x-bomb', 'a'.repeat(400)])
    client.get(1, '/', ...more)
    equal((await client.answer(1)).status, 200)
    const bomb = client.block(requestFields('GET', '/')) + client.block([['x-bomb', 'a'.repeat(400)]]).repeat(16_000)
    client.send(frame(HEADERS, 5, 3, bomb))
    const { status, body } = await client.answer(3)
    deepEqual([status, body], [431, 'the request has too many or too large header fields\n'])
    client.get(5, '/', ['x-bomb', 'a'.repeat(400)])
    equal((await client.answer(5)).status, 200)
    equal((await stack.recorded(3))[1]!.error, 'HEADERS_TOO_LARGE')
  })

  test('a client that asks and does not read is cut off', async () => {
    const server = await answering(OK)
    const stack = await stackFor({ upstream: server.port })
    const client = await clientOf(stack)
    client.get(1)
    await client.answer(1)
    client.socket.pause()
    const before = process.memoryUsage().rss
    for (let n = 0; n < 300_000 && !client.socket.destroyed; n++) client.send(pingFrame(false, '12345678'))
    while (stack.bind.connections() > 0) await manyTurns()
    ok(process.memoryUsage().rss - before < 200 << 20)
  })
})

const BAD: readonly [string, [string, string][], number][] = [
  [
    'no path',
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':authority', 'a']
    ],
    400
  ],
  ['an empty path', [...requestFields('GET', '')], 400],
  ['a capital in a name', [...requestFields('GET', '/'), ['X-A', '1']], 400],
  ['a line end in a value', [...requestFields('GET', '/'), ['x-a', '1\r\nx-b: 2']], 400],
  ['a line end in the path', [...requestFields('GET', '/ HTTP/1.1\r\nx: y')], 400],
  ['a line end in the method', [...requestFields('GET / HTTP/1.1\r\nx: y', '/')], 400],
  ['a Host that differs', [...requestFields('GET', '/'), ['host', 'other.test']], 400],
  ['Connection', [...requestFields('GET', '/'), ['connection', 'x-a']], 400],
  ['Transfer-Encoding', [...requestFields('GET', '/'), ['transfer-encoding', 'chunked']], 400],
  ['TE other than trailers', [...requestFields('GET', '/'), ['te', 'gzip']], 400],
  ['two lengths', [...requestFields('POST', '/'), ['content-length', '0'], ['content-length', '0']], 400],
  ['a length without a body', [...requestFields('POST', '/'), ['content-length', '5']], 400],
  ['a pseudo-header field behind others', [['x-a', '1'], ...requestFields('GET', '/')], 400]
]

const REFUSED: readonly [string, [string, string][], number][] = [
  ['an absolute path', requestFields('GET', 'http://a/'), 400],
  ['a fragment', requestFields('GET', '/a#b'), 400],
  [
    'another scheme',
    [
      [':method', 'GET'],
      [':scheme', 'ftp'],
      [':path', '/'],
      [':authority', 'a']
    ],
    400
  ],
  [
    'no host',
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/']
    ],
    400
  ],
  [
    'user information',
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'u@a']
    ],
    400
  ],
  [
    'CONNECT',
    [
      [':method', 'CONNECT'],
      [':authority', 'a:1']
    ],
    405
  ],
  ['an unknown method', requestFields('FOO', '/'), 501],
  ['a long target', requestFields('GET', `/${'a'.repeat(17_000)}`), 414],
  ['an unknown expectation', [...requestFields('GET', '/'), ['expect', 'tea']], 417],
  ['a body that is too long', [...requestFields('POST', '/'), ['content-length', '1001']], 413],
  ['many fields', [...requestFields('GET', '/'), ...many(101)], 431],
  ['another protocol on CONNECT', [[':protocol', 'x'], ...requestFields('CONNECT', '/')], 400]
]

function many(count: number): [string, string][] {
  return Array.from({ length: count }, (_, i): [string, string] => [`x-${i}`, '1'])
}

test('requests that are refused as in HTTP/1, and those that break their stream', async () => {
  const server = await answering(OK)
  const stack = await stackFor({ upstream: server.port, http: { bodyBytesMax: 1000 } })
  const client = await clientOf(stack)
  let id = -1
  for (const [name, fields, status] of BAD) {
    id += 2
    client.requestRaw(id, fields)
    await client.until(() => client.stream(id).reset !== null)
    deepEqual([client.stream(id).status, client.stream(id).reset], [status, PROTOCOL_ERROR], name)
  }
  for (const [name, fields, status] of REFUSED) {
    id += 2
    const isLong = name === 'a body that is too long'
    client.requestRaw(id, fields, !isLong)
    equal((await client.answer(id)).status, status, name)
  }
  equal(server.accepted(), 0, 'the upstream must not see them')
  deepEqual(client.goaways, [])
  const open = id + 2
  client.request(open, [...requestFields('POST', '/'), ['content-length', '3']], false)
  client.data(open, 'ab', true)
  await client.until(() => client.stream(open).reset !== null)
  deepEqual([client.stream(open).status, client.stream(open).reset], [400, PROTOCOL_ERROR])
  client.request(open + 2, requestFields('POST', '/'), false)
  client.data(open + 2, 'a'.repeat(1001))
  equal((await client.answer(open + 2)).status, 413)
})

describe('times of HTTP/2', () => {
  let now = 0
  const startClock = () => {
    now = performance.now()
    return new TimerWheel(() => now)
  }
  /** What is armed meanwhile is armed by the real time, which a slow machine lets pass. */
  const pass = (timers: TimerWheel, ms: number) => {
    now = Math.max(now, performance.now()) + ms
    timers.advance()
  }
  const http2 = {
    windowBytes: 65_535,
    connectionWindowBytes: 65_535,
    frameBytesMax: 16_384,
    pingIntervalMs: 1000,
    pingTimeoutMs: 5000
  }

  test('an idle connection, half a head, a body that stops, a reader that stops', async () => {
    const server = await upstream(async (peer) => {
      const text = await peer.until('\r\n\r\n')
      if (text.startsWith('GET')) peer.send(`HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n${'a'.repeat(100_000)}`)
    })
    const timers = startClock()
    const http = { idleTimeoutMs: 600_000, headTimeoutMs: 30_000, bodyTimeoutMs: 60_000, sendTimeoutMs: 60_000 }
    const stack = await stackFor({ upstream: server.port, timers, http })
    const idle = await clientOf(stack)
    const half = await clientOf(stack)
    const body = await clientOf(stack)
    const reader = await clientOf(stack)
    reader.get(1)
    await reader.until(() => reader.bytes === 65_535)
    body.request(1, [...requestFields('POST', '/'), ['content-length', '10']], false)
    await manyTurns()
    half.send(frame(HEADERS, 0, 1, 'a'))
    await manyTurns()
    pass(timers, 31_000)
    await half.untilEnd()
    equal(half.goaways[0]!.code, ENHANCE_YOUR_CALM)
    pass(timers, 31_000)
    equal((await body.answer(1)).status, 408)
    await reader.until(() => reader.stream(1).reset === 8)
    equal(idle.ended, false)
    pass(timers, 600_000)
    await idle.untilEnd()
    deepEqual(idle.goaways, [{ last: 0, code: 0 }])
  })

  test('a silent client is asked whether it is there', async () => {
    const server = await answering(OK)
    const timers = startClock()
    const stack = await stackFor({ upstream: server.port, timers, frontend: { http2 } })
    const client = await clientOf(stack)
    client.get(1)
    await client.answer(1)
    pass(timers, 1500)
    await client.until(() => client.pings.length === 1)
    client.send(pingFrame(true, client.pings[0]!))
    await manyTurns()
    pass(timers, 1500)
    await client.until(() => client.pings.length === 2)
    equal(client.ended, false)
    pass(timers, 6000)
    await client.untilEnd()
  })
})
