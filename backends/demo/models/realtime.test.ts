/** The mock's Realtime API, through the demonstration gateway with OpenAI's own client; and its WebSocket, attacked. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:https'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime'
import { WebSocket } from 'ws'
import { demoConfig } from '#backends/demo/config.ts'
import { type DemoServer, startDemoServer } from '#backends/demo/server.ts'
import { startGateway } from '#engine/testing/gateway.ts'

async function demoOf(t: TestContext): Promise<DemoServer> {
  const demo = await startDemoServer()
  t.after(() => demo.close())
  return demo
}

test('a conversation with the SDK: session, question, pieces of the answer, usage', async (t) => {
  const demo = await demoOf(t)
  const gateway = await startGateway(
    demoConfig('0', demo.port, new URL('../../../engine/process/start.ts', import.meta.url)).replace(
      'level: info',
      'level: warn'
    )
  )
  t.after(() => gateway.close())
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${gateway.port}/v1`, apiKey: 'none' })
  // The client only speaks TLS: it gets a connection without.
  const agent = Object.assign(new Agent(), { createConnection: () => connect(gateway.port, '127.0.0.1') })
  const realtime = new OpenAIRealtimeWS({ model: 'demo', options: { agent } }, client)
  const heard: RealtimeServerEvent[] = []
  realtime.on('event', (event) => heard.push(event))
  await new Promise<void>((resolve, reject) => {
    realtime.once('error', reject)
    realtime.once('session.created', ({ session }) => {
      deepEqual([session.type, 'model' in session && session.model], ['realtime', 'demo'])
      resolve()
    })
  })
  const done = new Promise((resolve) => realtime.once('response.done', resolve))
  realtime.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be brief.' } })
  const content = [{ type: 'input_text' as const, text: 'Hi' }]
  realtime.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
  realtime.send({ type: 'response.create' })
  await done
  deepEqual(
    heard.map(({ type }) => type),
    [
      'session.created',
      'session.updated',
      'conversation.item.added',
      'conversation.item.done',
      'response.created',
      'response.output_item.added',
      'conversation.item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'conversation.item.done',
      'response.output_item.done',
      'response.done'
    ]
  )
  const text = heard.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
  const last = heard.at(-1)!
  ok(last.type === 'response.done')
  const { status, usage } = last.response
  deepEqual([text, status, usage?.input_tokens, usage?.output_tokens], ['Hello, world', 'completed', 12, 7])
  const failed = new Promise<Error>((resolve) => realtime.once('error', resolve))
  realtime.socket.send('{"type":"none.such","event_id":"e9"}')
  match((await failed).message, /does not know none\.such/)
  const closed = once(realtime.socket, 'close')
  realtime.close()
  equal((await closed)[0], 1000)
})

/** A WebSocket client of bytes. */
async function opened(t: TestContext, { port }: DemoServer): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  const fields = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
  socket.write(`GET /v1/realtime HTTP/1.1\r\nHost: h\r\n${fields}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`)
  let text = ''
  while (!text.includes('session.created')) text += String((await once(socket, 'data'))[0])
  // The example of RFC 6455, section 1.3.
  match(text, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/)
  return socket
}

/** A masked frame, its mask all zero. */
function frame(first: number, payload: string, second = 0x80 | payload.length): Buffer {
  return Buffer.concat([Buffer.from([first, second, 0, 0, 0, 0]), Buffer.from(payload, 'latin1')])
}

/** What the server says until it ends the connection: its last four bytes are the close and its code. */
async function codeOf(socket: Socket): Promise<number> {
  const chunks: Buffer[] = []
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  equal(bytes.readUInt16BE(bytes.length - 4), 0x8802)
  return bytes.readUInt16BE(bytes.length - 2)
}

test('fragments, bytes that come alone and pings; what is against the protocol ends the connection', async (t) => {
  const demo = await demoOf(t)
  const slow = await opened(t, demo)
  const ping = frame(0x89, 'pp')
  const text = Buffer.concat([frame(0x01, '{"type":'), ping, frame(0x00, ''), frame(0x80, '"x"}'), frame(0x88, '')])
  for (const byte of text) slow.write(Buffer.from([byte]))
  const frames: Buffer[] = []
  for await (const chunk of slow as AsyncIterable<Buffer>) frames.push(chunk)
  match(Buffer.concat(frames).toString('latin1'), /^\x8a\x02pp.*does not know x.*\x88\x02\x03\xe8$/s)
  const wrong: [Buffer, number][] = [
    [Buffer.from([0x81, 0x01, 0x41]), 1002], // not masked
    [frame(0xc1, 'a'), 1002], // an extension
    [frame(0x80, 'a'), 1002], // a continuation of nothing
    [frame(0x82, 'a'), 1002], // bytes
    [frame(0x09, 'a'), 1002], // half a ping
    [Buffer.concat([frame(0x01, 'a'), frame(0x81, 'b')]), 1002], // a message within a message
    [frame(0x88, 'a'), 1002], // half a code
    [Buffer.from([0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), 1009], // four gigabytes
    [frame(0x88, '\x03\xe9'), 1001]
  ]
  for (const [bytes, code] of wrong) {
    const socket = await opened(t, demo)
    socket.write(bytes)
    equal(await codeOf(socket), code, bytes.toString('hex'))
  }
})

test('big messages are read, bigger ones are refused, and other paths are no WebSocket', async (t) => {
  const demo = await demoOf(t)
  const url = `ws://127.0.0.1:${demo.port}`
  const socket = new WebSocket(`${url}/v1/realtime?model=big`, ['realtime', 'other'])
  const [first] = await once(socket, 'message')
  equal(socket.protocol, 'realtime')
  equal(JSON.parse(String(first)).session.model, 'big')
  const answered = once(socket, 'message')
  const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x'.repeat(100_000) }] }
  socket.send(JSON.stringify({ type: 'conversation.item.create', item }))
  equal(JSON.parse(String((await answered)[0])).item.content[0].text.length, 100_000)
  const closed = once(socket, 'close')
  socket.send('x'.repeat(2 * 1024 * 1024))
  equal((await closed)[0], 1009)
  const other = new WebSocket(`${url}/stream`)
  const [, response] = await once(other, 'unexpected-response')
  equal(response.statusCode, 404)
  response.resume()
})
