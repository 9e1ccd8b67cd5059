/** Servers that refuse streams, because they have not done with those that were cancelled. */
import { deepEqual, equal } from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { resetFrame, settingsFrame } from '#engine/http2/frame-writer.ts'
import {
  CANCEL,
  ENHANCE_YOUR_CALM,
  HEADERS,
  PING,
  PREFACE,
  REFUSED_STREAM,
  RST_STREAM
} from '#engine/http2/protocol.ts'
import { H2Client } from '#engine/testing/h2-client.ts'
import {
  type Frame,
  type FrameClient,
  frame,
  pong,
  startFrameServer,
  startHttp2Origin
} from '#engine/testing/h2-origin.ts'
import { answer, uint32 } from '#engine/testing/h2-stack.ts'
import { statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'

const GET = 'GET /short HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const POST = 'POST /short HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi'
const spoken = { version: 'HTTP2' } as const
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('streams that are cancelled, at the limit of a server', () => {
  it('a server of Node with much to write: what is asked next is answered', async () => {
    const STREAMS = 64
    const long = Buffer.alloc(2 * 1024 * 1024, 'x')
    const origin = await startHttp2Origin(
      (stream, { ':path': path }) => {
        stream.respond({ ':status': 200 })
        stream.end(path === '/long' ? long : 'ok')
      },
      { maxConcurrentStreams: STREAMS }
    )
    const stack = await startStack({ upstream: origin.port, spoken, poolMax: 1 })
    for (let round = 0; round < 3; round++) {
      const socket = connect({ port: stack.port, host: '127.0.0.1' })
      await once(socket, 'connect')
      const client = new H2Client(socket)
      client.send(PREFACE + settingsFrame([4, 0]))
      for (let i = 0; i < STREAMS; i++) client.get(1 + 2 * i, '/long')
      const begun = () => [...client.streams.values()].filter(({ status }) => status > 0).length
      while (begun() < STREAMS - STREAMS / 16 - 2) await turn()
      for (let i = 0; i < STREAMS; i++) client.send(resetFrame(1 + 2 * i, CANCEL))
      const answers = await Promise.all(Array.from({ length: 20 }, () => exchangeRaw(stack.port, GET)))
      deepEqual(answers.flatMap(statuses), Array(20).fill(200))
      socket.destroy()
    }
    stack.close()
    origin.close()
  })

  it('a reset stream counts until the server has answered the PING after it', async () => {
    const heard: string[] = []
    let opened = 0
    let onPing: () => void = () => {}
    const serve = (sent: Frame, client: FrameClient) => {
      const { type, stream } = sent
      if (type === HEADERS) heard.push(`HEADERS ${stream}`)
      if (type === RST_STREAM) heard.push(`RST_STREAM ${stream}`)
      if (type === HEADERS && ++opened > 2) client.send(answer(stream))
      if (type !== PING) return
      heard.push('PING')
      onPing = () => client.send(pong(sent))
    }
    const server = await startFrameServer(serve, settingsFrame([3, 2]), false, false)
    const stack = await startStack({ upstream: server.port, spoken, poolMax: 1 })
    const [one, two] = await Promise.all([rawClient(stack.port), rawClient(stack.port)])
    one.send(GET)
    two.send(GET)
    while (heard.length < 2) await turn()
    one.close()
    two.close()
    const answered = exchangeRaw(stack.port, GET)
    while (!heard.includes('PING')) await turn()
    for (let i = 0; i < 100; i++) await turn()
    deepEqual(
      heard.filter((one) => one.startsWith('HEADERS')),
      ['HEADERS 1', 'HEADERS 3']
    )
    const original = onPing
    original()
    // The other one was reset behind that PING.
    while (heard.filter((one) => one === 'PING').length + heard.filter((one) => one === 'HEADERS 5').length < 2)
      await turn()
    onPing()
    deepEqual(statuses(await answered), [200])
    stack.close()
    server.close()
  })

  for (const [code, name, request, expected] of [
    [REFUSED_STREAM, 'REFUSED_STREAM', GET, 200],
    [REFUSED_STREAM, 'REFUSED_STREAM', POST, 200],
    [ENHANCE_YOUR_CALM, 'ENHANCE_YOUR_CALM', GET, 200],
    [ENHANCE_YOUR_CALM, 'ENHANCE_YOUR_CALM', POST, 502]
  ] as const) {
    it(`${name} for a ${request.slice(0, 4).trim()}: ${expected}, and nothing more is sent before a PING is answered`, async () => {
      const heard: string[] = []
      const serve = (sent: Frame, client: FrameClient) => {
        const { type, stream } = sent
        if (type === PING) {
          heard.push('PING')
          client.send(pong(sent))
        }
        if (type !== HEADERS) return
        heard.push('HEADERS')
        client.send(stream === 1 ? frame(RST_STREAM, 0, 1, uint32(code)) : answer(stream))
      }
      const server = await startFrameServer(serve, settingsFrame([]), false, false)
      const stack = await startStack({ upstream: server.port, spoken, poolMax: 1 })
      deepEqual(statuses(await exchangeRaw(stack.port, request)), [expected])
      while (!heard.includes('PING')) await turn()
      deepEqual(heard, expected === 200 ? ['HEADERS', 'PING', 'HEADERS'] : ['HEADERS', 'PING'])
      equal(stack.records[0]?.attempts, expected === 200 ? 2 : 1)
      stack.close()
      server.close()
    })
  }
})
