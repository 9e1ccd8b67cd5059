/** Servers of HTTP/2 that refuse, leave, lie, flood or speak something else: what each does to its exchanges. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { frame, literals, OK_HEAD, SETTINGS_FRAME, startFrameServer } from '#engine/testing/h2-origin.ts'
import { answer, once, uint32, withServer } from '#engine/testing/h2-stack.ts'
import { startOrigin, startScript, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'

const HEADERS = 1
const RST_STREAM = 3
const GOAWAY = 7
const END_STREAM = 1
const END_HEADERS = 4
const WHOLE = END_STREAM | END_HEADERS
const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const HEAD = 'HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'

const head = (...fields: readonly (readonly [string, string])[]): string => literals([[':status', '200'], ...fields])
/** What is sent for the stream at hand. */
type Say = (stream: number) => string

/** Answers that are none: 502 for their exchange, and the connection goes on. */
const STREAM_FAULTS: readonly (readonly [string, Say])[] = [
  ['no status', (id) => frame(HEADERS, WHOLE, id, literals([['x-a', 'b']]))],
  ['two statuses', (id) => frame(HEADERS, WHOLE, id, head([':status', '200']))],
  ['a status that is no number', (id) => frame(HEADERS, WHOLE, id, literals([[':status', '2x0']]))],
  ['a status of two digits', (id) => frame(HEADERS, WHOLE, id, literals([[':status', '20']]))],
  ['status 000', (id) => frame(HEADERS, WHOLE, id, literals([[':status', '000']]))],
  ['101', (id) => frame(HEADERS, END_HEADERS, id, literals([[':status', '101']]))],
  ['an interim answer that ends', (id) => frame(HEADERS, WHOLE, id, literals([[':status', '103']]))],
  [
    'seventeen interim answers',
    (id) => frame(HEADERS, END_HEADERS, id, literals([[':status', '103']])).repeat(17) + answer(id)
  ],
  ['a pseudo-header field of requests', (id) => frame(HEADERS, WHOLE, id, head([':path', '/']))],
  ['an unknown pseudo-header field', (id) => frame(HEADERS, WHOLE, id, head([':x', '/']))],
  [
    'a status behind a field',
    (id) =>
      frame(
        HEADERS,
        WHOLE,
        id,
        literals([
          ['a', 'b'],
          [':status', '200']
        ])
      )
  ],
  ['a name with capitals', (id) => frame(HEADERS, WHOLE, id, head(['X-A', 'b']))],
  ['a name with a blank', (id) => frame(HEADERS, WHOLE, id, head(['x a', 'b']))],
  ['an empty name', (id) => frame(HEADERS, WHOLE, id, head(['', 'b']))],
  ['a value with a line end', (id) => frame(HEADERS, WHOLE, id, head(['x-a', 'b\r\nset-cookie: c']))],
  ['a value with NUL', (id) => frame(HEADERS, WHOLE, id, head(['x-a', 'b\0']))],
  ['Connection', (id) => frame(HEADERS, WHOLE, id, head(['connection', 'close']))],
  ['Transfer-Encoding', (id) => frame(HEADERS, WHOLE, id, head(['transfer-encoding', 'chunked']))],
  ['two lengths', (id) => frame(HEADERS, WHOLE, id, head(['content-length', '0'], ['content-length', '0']))],
  ['a length that is none', (id) => frame(HEADERS, WHOLE, id, head(['content-length', '-1']))],
  ['a length and no body', (id) => frame(HEADERS, WHOLE, id, head(['content-length', '5']))],
  ['1001 fields', (id) => frame(HEADERS, WHOLE, id, head(...Array(1001).fill(['a', 'b'])))],
  ['a list of 64 KB', (id) => bomb(id)],
  ['a body before its head', (id) => frame(0, END_STREAM, id, 'hello')],
  ['a window that is too large', (id) => frame(8, 0, id, uint32(0x7fffffff))],
  ['a window update of nothing', (id) => frame(8, 0, id, uint32(0))],
  ['a reset', (id) => frame(RST_STREAM, 0, id, uint32(2))]
]

/** One field of 4 KB that the table keeps, and references to it. */
function bomb(id: number): string {
  const field = `\x40\x01a\x7f${String.fromCharCode(128 + ((3800 - 127) % 128), Math.floor((3800 - 127) / 128))}`
  return frame(HEADERS, WHOLE, id, `\x88${field}${'a'.repeat(3800)}${'\xbe'.repeat(12_000)}`)
}

/** Frames that end the connection: 502, and the next exchange has a new one. */
const CONNECTION_FAULTS: readonly (readonly [string, Say])[] = [
  ['a field that cannot be decoded', (id) => frame(HEADERS, WHOLE, id, '\xff\xff\xff\xff\xff\xff')],
  ['an index beyond the table', (id) => frame(HEADERS, WHOLE, id, '\xfe')],
  ['a frame that is too long', (id) => frame(0, 0, id, 'a'.repeat(16_385))],
  ['a promise', (id) => frame(5, END_HEADERS, id, `${uint32(2)}${OK_HEAD}`)],
  ['DATA of no stream', () => frame(0, 0, 0, 'a')],
  ['HEADERS of a stream that nobody opened', () => frame(HEADERS, WHOLE, 99, OK_HEAD)],
  ['HEADERS of a stream of the server', () => frame(HEADERS, WHOLE, 2, OK_HEAD)],
  ['a reset of a stream that nobody opened', () => frame(RST_STREAM, 0, 99, uint32(0))],
  ['SETTINGS of a stream', (id) => frame(4, 0, id)],
  ['SETTINGS of five bytes', () => frame(4, 0, 0, '12345')],
  ['a window that no stream can have', () => frame(4, 0, 0, `\0\x04${uint32(0x80000000)}`)],
  ['a connection window that is too large', () => frame(8, 0, 0, uint32(0x7fffffff))],
  ['a CONTINUATION of nothing', (id) => frame(9, END_HEADERS, id, OK_HEAD)],
  ['something between HEADERS and CONTINUATION', (id) => frame(HEADERS, 0, id, OK_HEAD) + frame(6, 0, 0, '12345678')],
  [
    'CONTINUATION without end',
    (id) => frame(HEADERS, 0, id, OK_HEAD) + frame(9, 0, id, literals([['a', 'b']])).repeat(10_000)
  ],
  ['a flood of PING', () => frame(6, 0, 0, '12345678').repeat(10_000)],
  ['a flood of SETTINGS', () => SETTINGS_FRAME.repeat(10_000)],
  ['a flood of empty DATA', (id) => frame(HEADERS, END_HEADERS, id, OK_HEAD) + frame(0, 0, id).repeat(10_000)],
  ['a flood of PRIORITY', (id) => frame(2, 0, id, '\0\0\0\0\0').repeat(10_000)],
  ['a flood of window updates', () => frame(8, 0, 0, uint32(1)).repeat(10_000)],
  ['a flood of unknown frames', () => frame(77, 0, 0, 'x').repeat(10_000)]
]

/** Bodies that break behind a good head: the client must see a broken message. */
const BROKEN: readonly (readonly [string, Say])[] = [
  [
    'a body longer than its length',
    (id) => frame(HEADERS, END_HEADERS, id, head(['content-length', '3'])) + frame(0, 1, id, 'hello')
  ],
  [
    'a body shorter than its length',
    (id) => frame(HEADERS, END_HEADERS, id, head(['content-length', '9'])) + frame(0, 1, id, 'hello')
  ],
  ['a second head', (id) => frame(HEADERS, END_HEADERS, id, OK_HEAD) + frame(0, 0, id, 'a') + answer(id)],
  [
    'trailers that do not end',
    (id) => frame(HEADERS, END_HEADERS, id, OK_HEAD) + frame(HEADERS, END_HEADERS, id, literals([['a', 'b']]))
  ],
  ['trailers with a status', (id) => frame(HEADERS, END_HEADERS, id, OK_HEAD) + answer(id)],
  [
    'a reset in the body',
    (id) => frame(HEADERS, END_HEADERS, id, OK_HEAD) + frame(0, 0, id, 'a') + frame(3, 0, id, uint32(8))
  ]
]

describe('hostile servers of HTTP/2', () => {
  for (const [name, say] of STREAM_FAULTS) {
    it(`${name}: its exchange gets 502, the connection goes on`, () =>
      withServer(
        once((stream, client) => client.send(say(stream))),
        {},
        async (stack, server) => {
          deepEqual(statuses(await exchangeRaw(stack.port, GET)).at(-1), 502)
          deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
          equal(server.accepted(), 1)
        }
      ))
  }

  for (const [name, say] of CONNECTION_FAULTS) {
    it(`${name}: 502 or a broken answer, and a new connection`, () =>
      withServer(
        once((stream, client) => client.send(say(stream))),
        {},
        async (stack, server) => {
          await exchangeRaw(stack.port, GET)
          equal(stack.records[0]!.error, 'UPSTREAM_PROTOCOL')
          deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
          equal(server.accepted(), 2)
        }
      ))
  }

  for (const [name, say] of BROKEN) {
    it(`${name}: the client's message is not whole`, () =>
      withServer(
        once((stream, client) => client.send(say(stream))),
        {},
        async (stack, server) => {
          const received = await exchangeRaw(stack.port, GET)
          ok(!received.endsWith('0\r\n\r\n') && !received.includes('hellohello'), received)
          // Nothing passes that was not promised.
          if (name.includes('longer')) ok(!received.includes('hello'), received)
          ok(stack.records[0]!.error !== null)
          deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
          equal(server.accepted(), 1)
        }
      ))
  }

  it('more than the window of a stream allows breaks the stream', () => {
    const much = (id: number) =>
      frame(HEADERS, END_HEADERS, id, OK_HEAD) + frame(0, 0, id, 'a'.repeat(16_384)).repeat(17)
    return withServer(
      once((stream, client) => client.send(much(stream))),
      {},
      async (stack) => {
        // Nothing is taken before the hook has decided, so nothing is given back.
        const waits = new Promise<number>(() => {})
        const held = await startStack({
          upstream: Number(stack.endpoint.name.split(':')[1]),
          spoken: { version: 'HTTP2' },
          responseHooks: [(ex) => (ex.localReply === null ? (waits as Promise<0>) : 0)]
        })
        deepEqual(statuses(await exchangeRaw(held.port, GET)), [502])
        held.close()
      }
    )
  })

  it('an answer to HEAD has no body, whatever it says', () =>
    withServer(
      once((stream, client) =>
        client.send(frame(HEADERS, END_HEADERS, stream, head(['content-length', '5'])), frame(0, 1, stream))
      ),
      {},
      async (stack) => {
        const received = await exchangeRaw(stack.port, HEAD)
        match(received, /content-length: 5\r\n/)
        deepEqual(statuses(received), [200])
      }
    ))

  it('a server of HTTP/1.1 is recognised, and gets no request', async () => {
    const origin = await startOrigin()
    const stack = await startStack({ upstream: origin.port, spoken: { version: 'HTTP2' } })
    for (const request of [GET, POST]) {
      const received = await exchangeRaw(stack.port, request)
      deepEqual(statuses(received), [502])
      match(received, /the backend does not speak HTTP\/2, which gRPC or its policy http asks for/)
    }
    deepEqual(origin.seen, [])
    equal(stack.endpoint.usable, true)
    stack.close()
    origin.close()
  })

  for (const [name, started] of [
    ['says something else', () => startScript('220 mail.test ESMTP\r\n')],
    ['closes before its SETTINGS', () => rawServer((client) => client.socket.end())],
    ['sends something else than SETTINGS first', () => startScript(frame(6, 0, 0, '12345678'))],
    ['sends GOAWAY first', () => startScript(frame(GOAWAY, 0, 0, uint32(0) + uint32(0)))]
  ] as const) {
    it(`a server that ${name} does not speak HTTP/2`, () =>
      withServer(started(), {}, async (stack) => {
        await exchangeRaw(stack.port, GET)
        equal(stack.records[0]!.error, 'UPSTREAM_NOT_HTTP2')
      }))
  }

  it('a server that says nothing is given up in time', () =>
    withServer(
      rawServer(() => {}),
      { connectTimeoutMs: 50 },
      async (stack) => {
        deepEqual(statuses(await exchangeRaw(stack.port, GET)), [504])
        equal(stack.records[0]!.error, 'CONNECT_TIMEOUT')
      }
    ))

  it('a server that takes no streams gets no crowd of connections', () =>
    withServer(
      startFrameServer(() => {}, frame(4, 0, 0, `\0\x03${uint32(0)}`)),
      { connectTimeoutMs: 80 },
      async (stack, server) => {
        const answers = await Promise.all(Array.from({ length: 20 }, () => exchangeRaw(stack.port, GET)))
        deepEqual(answers.flatMap(statuses), Array(20).fill(503))
        ok(server.accepted() <= 2, `${server.accepted()} connections`)
      }
    ))
})
