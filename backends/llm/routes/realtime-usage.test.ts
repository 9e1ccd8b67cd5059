/** What sessions of the Realtime API cost, through a gateway and by themselves. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import type { Json } from '#backends/llm/conversation.ts'
import { FrameDecoder } from '#engine/http/websocket.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { DoneEvents, usageOf } from './realtime-usage.ts'

const USAGE = {
  total_tokens: 253,
  input_tokens: 132,
  output_tokens: 121,
  input_token_details: {
    text_tokens: 119,
    audio_tokens: 13,
    image_tokens: 0,
    cached_tokens: 64,
    cached_tokens_details: { text_tokens: 60, audio_tokens: 4, image_tokens: 0 }
  },
  output_token_details: { text_tokens: 30, audio_tokens: 91 }
}
const done = (usage: object | null = USAGE): string =>
  JSON.stringify({ type: 'response.done', event_id: 'e', response: { object: 'realtime.response', id: 'r', usage } })

/** A provider that sends what `script` says for each message of a client. */
async function realtime(t: TestContext, script: (socket: WebSocket, heard: string) => void) {
  const server = createServer()
  const sockets = new WebSocketServer({ server, perMessageDeflate: true })
  const extensions: unknown[] = []
  sockets.on('connection', (socket, request) => {
    extensions.push(request.headers['sec-websocket-extensions'])
    socket.on('message', (data) => script(socket, String(data)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, extensions }
}

/** What uWebSockets.js can honour. */
const FRONTEND = {
  http: { http1IdleTimeout: '12s', http1HeaderTimeout: '12s', http1MaxHeaders: 98 },
  tcp: { keepalives: { time: '0s' } }
}

async function sessions(t: TestContext, transport: string, port: number) {
  const file = join(mkdtempSync(join(tmpdir(), 'weir-realtime-')), 'log')
  const ai = { provider: { openai: {}, host: '127.0.0.1', port }, routes: { '*': 'Realtime' } }
  const policies = { rateLimit: { local: [{ tokens: 300, unit: 'Hours' }] } }
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      frontendPolicies: FRONTEND,
      binds: [{ port: 0, transport, listeners: [{ routes: [{ policies, backends: [{ ai }] }] }] }]
    }),
    { log: { format: 'json', fd: openSync(file, 'w') } }
  )
  t.after(() => gateway.close())
  const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return { lines, open: () => new WebSocket(`ws://127.0.0.1:${gateway.port}/v1/realtime?model=live`) }
}

for (const transport of ['node', 'uws']) {
  test(`each response is charged as it ends, and the sum is logged (${transport})`, async (t) => {
    const audio = JSON.stringify({ type: 'response.output_audio.delta', delta: 'A'.repeat(100_000) })
    const { port, extensions } = await realtime(t, (socket, heard) => {
      socket.send(audio)
      const text = done()
      if (heard === 'whole') socket.send(text)
      else for (let i = 0; i < text.length; i++) socket.send(text[i]!, { fin: i === text.length - 1 })
    })
    const { lines, open } = await sessions(t, transport, port)
    const socket = open()
    const messages: string[] = []
    socket.on('message', (data) => messages.push(String(data)))
    await once(socket, 'open')
    for (const [i, kind] of ['whole', 'cut'].entries()) {
      socket.send(kind)
      while (messages.length < 2 * (i + 1)) await once(socket, 'message')
    }
    ok(messages.join() === [audio, done(), audio, done()].join(), 'the frames have been changed')
    equal(extensions[0], undefined)
    // 506 of 300 tokens are spent while the first session is still open.
    const refused = open()
    const [, response] = await once(refused, 'unexpected-response')
    equal(response.statusCode, 429)
    response.resume()
    socket.close()
    await once(socket, 'close')
    while (lines().length < 2) await new Promise((resolve) => setImmediate(resolve))
    const line = lines()
      .map((text) => JSON.parse(text))
      .find((fields) => fields['http.status'] === 101)
    const { 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output } = line
    deepEqual([input, output, line['gen_ai.request.model']], [264, 242, 'live'])
  })
}

function eventsOf(frames: Buffer, size: number): Json[] {
  const found: Json[] = []
  const decoder = new FrameDecoder(new DoneEvents((event) => found.push(event)))
  for (let at = 0; at < frames.length; at += size) decoder.execute(frames, at, Math.min(at + size, frames.length))
  return found
}

/** An unmasked frame, as servers send them. */
function frame(text: string, first = 0x81): Buffer {
  const payload = Buffer.from(text)
  const head = Buffer.from([first, 127, 0, 0, 0, 0, 0, 0, 0, 0])
  if (payload.length < 126) return Buffer.concat([Buffer.from([first, payload.length]), payload])
  if (payload.length < 65_536) {
    head[1] = 126
    head.writeUInt16BE(payload.length, 2)
    return Buffer.concat([head.subarray(0, 4), payload])
  }
  head.writeUInt32BE(payload.length, 6)
  return Buffer.concat([head, payload])
}

test('an event is found however its frames are cut, and with pings between', () => {
  const text = done()
  const cut = Buffer.concat([
    frame('{"type":"session.created"}'),
    frame(text.slice(0, 10), 0x01),
    frame('ping', 0x89),
    frame(text.slice(10, 200), 0x00),
    frame(text.slice(200), 0x80),
    frame(text, 0x82),
    frame(text)
  ])
  for (const size of [1, 2, 7, 100, cut.length]) {
    deepEqual(
      eventsOf(cut, size).map((event) => JSON.stringify(event)),
      [text, text],
      `${size}`
    )
  }
})

test('long, compressed or masked messages are not read, and those that follow are, as far as possible', () => {
  const long = `${done().slice(0, -1)},"more":"${'x'.repeat(1024 * 1024)}"}`
  equal(eventsOf(Buffer.concat([frame(long), frame(done())]), 1 << 16).length, 1)
  equal(eventsOf(Buffer.concat([frame(long, 0x01), frame(done(), 0x80), frame(done())]), 1 << 20).length, 1)
  equal(eventsOf(Buffer.concat([frame(done(), 0xc1), frame(done())]), 64).length, 0)
  equal(eventsOf(Buffer.concat([frame(`${DONE_WORD} no json`), frame(done())]), 64).length, 1)
})

const DONE_WORD = '"response.done"'

test('usage adds up, and odd ones count as nothing', () => {
  deepEqual(usageOf(JSON.parse(done())), {
    input: 132,
    cacheRead: 64,
    cacheReadAudio: 4,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    inputAudio: 9,
    inputImage: 0,
    output: 121,
    reasoning: 0,
    outputAudio: 91,
    outputImage: 0
  })
  equal(usageOf(JSON.parse(done(null))), null)
  for (const odd of [null, 7, [], {}, { type: 'response.done' }, { type: 'response.done', response: [] }]) {
    equal(usageOf(odd as Json), null)
  }
  const negative = { input_tokens: -5, output_tokens: 1e300, input_token_details: 7, output_token_details: [] }
  deepEqual(Object.values(usageOf(JSON.parse(done(negative)))!), Array(10).fill(0))
})
