/**
 * The same bytes to Weir and to node:http2 (nghttp2), which HTTP/2 is spoken with most: what one of them serves,
 * refuses or ends a connection for, the other one does too, and answers are the same.
 */
import { deepEqual } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createServer2, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { frameHead, headersFrame, pingFrame, settingsFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  PADDED,
  PRIORITY,
  WITH_PRIORITY
} from '#engine/http2/protocol.ts'
import { type H2Client, h2Client, requestFields } from '#engine/testing/h2-client.ts'
import { FAULTS } from '#engine/testing/h2-faults.ts'
import { startStack } from '#engine/testing/stack.ts'

type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse

/** Tells what was asked, in the words of the test and nobody else's, and ends with as many bytes as were wanted. */
function answer(request: AnyRequest, response: AnyResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { method, url, headers, trailers } = request
    const body = Buffer.concat(chunks).toString('latin1')
    const echoed = JSON.stringify([
      method,
      url,
      headers[':authority'] ?? headers.host,
      own(headers),
      body,
      own(trailers)
    ])
    response.setHeader('x-told', String(echoed.length))
    response.statusCode = Number(headers['x-status'] ?? 200)
    if (headers['x-trailer'] !== undefined && method !== 'HEAD') {
      response.setHeader('trailer', 'x-sum')
      response.addTrailers({ 'x-sum': String(body.length) })
    }
    response.end(echoed + '.'.repeat(Number(headers['x-length'] ?? 0)))
  })
  // Broken connections are the other test's matter.
  request.on('error', () => {})
}

function own(headers: IncomingHttpHeaders): [string, unknown][] {
  return Object.entries(headers)
    .filter(([name]) => name.startsWith('x-') || name === 'cookie' || name === 'content-length')
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

const closed: (() => void)[] = []
after(() => {
  for (const close of closed) close()
})

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  closed.push(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const origin = createServer({ keepAliveTimeout: 0 }, answer)
const stack = await startStack({ upstream: await listening(origin) })
closed.push(() => {
  stack.close()
  origin.closeAllConnections()
})
const node = createServer2(answer)
// A connection that is broken on purpose is no news.
node.on('sessionError', () => {})
const PORTS = { node: await listening(node), weir: stack.port }

/** More than all answers together: the client asks for no more. */
const WINDOW = 1 << 24

async function withClient<T>(port: number, run: (client: H2Client) => Promise<T>): Promise<T> {
  const client = await h2Client(port, [INITIAL_WINDOW_SIZE, WINDOW])
  client.send(windowUpdateFrame(0, WINDOW))
  try {
    return await run(client)
  } finally {
    client.close()
  }
}

/** When this is answered all that was sent before has been read, or the connection is over. */
async function settled(client: H2Client): Promise<void> {
  client.send(pingFrame(false, 'settled?'))
  await client.until(() => client.pings.includes('ack settled?') || client.ended)
}

/** Where the two differ, Weir first, and what RFC 9113 says. */
const DIFFERENT: Readonly<Record<string, { outcomes: [string, string]; rfc: string }>> = {
  'a field name with a space': { outcomes: ['refused', 'answered'], rfc: '8.2.1: malformed' },
  'an empty field name': { outcomes: ['refused', 'answered'], rfc: '8.2.1: malformed, a name is a token' },
  'a value with a line end': { outcomes: ['refused', 'answered'], rfc: '8.2.1: malformed' },
  'a value with NUL': { outcomes: ['refused', 'answered'], rfc: '8.2.1: malformed' },
  'a body longer than content-length': { outcomes: ['refused', 'connection error'], rfc: '8.1.1: a stream error' },
  'a lower stream than before': { outcomes: ['connection error', 'nothing'], rfc: '5.1.1: a connection error' },
  'a stream that depends on itself': { outcomes: ['refused', 'nothing'], rfc: '5.3.1 of RFC 7540: a stream error' },
  'WINDOW_UPDATE of nothing': { outcomes: ['refused', 'connection error'], rfc: '6.9: a stream error' },
  'a window beyond 2^31-1': { outcomes: ['refused', 'connection error'], rfc: '6.9.1: the stream, or the connection' },
  'PRIORITY of four bytes': { outcomes: ['refused', 'connection error'], rfc: '6.3: a stream error' },
  'PRIORITY on stream 0': { outcomes: ['connection error', 'nothing'], rfc: '6.3: a connection error' }
}

interface Ask {
  readonly method: string
  readonly path: string
  readonly fields: readonly (readonly [string, string])[]
  /** Null: no body. */
  readonly body: readonly string[] | null
  readonly isSized: boolean
  readonly trailer: string | null
  readonly blockBytes: number
  readonly padding: number
  readonly hasPriority: boolean
  readonly noise: 'priority' | 'unknown' | 'ping' | 'settings' | 'window' | null
}

const TEXT = fc.string({ unit: fc.constantFrom(...'abcXYZ019 -_.,;="%/\t\xe9'), maxLength: 40 })
const ASK: fc.Arbitrary<Ask> = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'QUERY'),
  path: fc.string({ unit: fc.constantFrom(...'abc019-_~?&=+'), maxLength: 30 }).map((text) => `/p${text}`),
  fields: fc.array(
    fc.oneof(
      fc.tuple(
        fc.constantFrom('x-a', 'x-b', 'x-a-long-name-that-repeats', 'cookie'),
        TEXT.map((text) => `v${text.trim()}`)
      ),
      fc.tuple(fc.constant('x-status'), fc.constantFrom('200', '404', '503')),
      fc.tuple(fc.constant('x-length'), fc.constantFrom('0', '1', '70000')),
      fc.constant(['x-trailer', '1'] as const)
    ),
    { maxLength: 6 }
  ),
  body: fc.option(fc.array(fc.string({ maxLength: 300 }).map(latin1), { maxLength: 4 })),
  isSized: fc.boolean(),
  trailer: fc.option(TEXT.map((text) => `v${text.trim()}`)),
  // Frames of one block are bounded.
  blockBytes: fc.constantFrom(24, 60, 16_384),
  padding: fc.constantFrom(0, 0, 1, 255),
  hasPriority: fc.boolean(),
  noise: fc.constantFrom('priority', 'unknown', 'ping', 'settings', 'window', null)
})

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}

const NOISE: Readonly<Record<NonNullable<Ask['noise']>, string>> = {
  priority: `${frameHead(5, PRIORITY, 0, 99)}\0\0\0\0\x10`,
  unknown: `${frameHead(4, 0xbe, 0xff, 1)}news`,
  ping: pingFrame(false, 'whatever'),
  settings: settingsFrame([3, 50, 0x99, 7]),
  window: windowUpdateFrame(0, 1000)
}

/** Without it the gateway keeps trailers to itself. */
const TRAILERS = ['te', 'trailers'] as const

function send(client: H2Client, id: number, ask: Ask): void {
  const { method, path, body, trailer, padding } = ask
  const length = (body ?? []).reduce((sum, part) => sum + part.length, 0)
  // Behind a body with a length HTTP/1, which Weir speaks to the backend, has no place for trailers.
  const sized: [string, string][] =
    ask.isSized && body !== null && trailer === null ? [['content-length', String(length)]] : []
  // Once each: what servers make of repeated ones is not the protocol's matter.
  const fields = ask.fields.filter(
    ([name], i) => name === 'cookie' || ask.fields.findIndex(([one]) => one === name) === i
  )
  const block = client.block([...requestFields(method, path), ...fields, TRAILERS, ...sized])
  const isOver = body === null
  client.send(head(block, isOver ? END_STREAM : 0, id, ask))
  if (ask.noise !== null) client.send(NOISE[ask.noise])
  if (isOver) return
  for (const [i, part] of body.entries()) {
    const isLast = i === body.length - 1 && trailer === null
    const pad = padding === 0 ? '' : String.fromCharCode(padding)
    const flags = (isLast ? END_STREAM : 0) | (padding === 0 ? 0 : PADDED)
    client.send(frameHead(pad.length + part.length + padding, DATA, flags, id) + pad + part + '\0'.repeat(padding))
  }
  if (trailer !== null) client.send(headersFrame(client.block([['x-end', trailer]]), END_STREAM, id, ask.blockBytes))
  else if (body.length === 0) client.data(id, '', true)
}

/** HEADERS, with a priority where the ask has one; the rest of the block in CONTINUATIONs. */
function head(block: string, flags: number, id: number, { hasPriority, padding, blockBytes }: Ask): string {
  if (!hasPriority) return headersFrame(block, flags, id, blockBytes)
  const pad = padding === 0 ? '' : String.fromCharCode(padding)
  const payload = `${pad}\0\0\0\0\x0f${block}${'\0'.repeat(padding)}`
  const all = flags | END_HEADERS | WITH_PRIORITY | (padding === 0 ? 0 : PADDED)
  return frameHead(payload.length, HEADERS, all, id) + payload
}

async function converse(port: number, requests: readonly Ask[]): Promise<unknown[]> {
  return withClient(port, async (client) => {
    for (const [i, ask] of requests.entries()) send(client, 2 * i + 1, ask)
    const answers = await Promise.all(requests.map((_, i) => client.answer(2 * i + 1)))
    await settled(client)
    return answers.map(({ status, body, reset, trailers, fields }) => [
      status,
      reset,
      body,
      trailers,
      fields.find(([name]) => name === 'x-told')
    ])
  })
}

/** What a fault leads to. */
async function outcomeOf(port: number, fault: (client: H2Client) => void): Promise<string> {
  return withClient(port, async (client) => {
    // The connection is in use: what follows is not judged as its beginning.
    await settled(client)
    client.pings.length = 0
    fault(client)
    await settled(client)
    if (client.ended || client.goaways.some(({ code }) => code !== 0)) return 'connection error'
    const stream = client.streams.get(1)
    if (stream !== undefined && stream.status === 0 && stream.reset === null) await client.answer(1)
    if (stream === undefined) return 'nothing'
    return stream.reset !== null || stream.status >= 400 ? 'refused' : 'answered'
  })
}

describe('HTTP/2 as node:http2 speaks it', () => {
  test('the same requests get the same answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ASK, { minLength: 1, maxLength: 5 }), async (requests) => {
        deepEqual(await converse(PORTS.weir, requests), await converse(PORTS.node, requests))
      }),
      { numRuns: 50 }
    )
  })

  for (const { name, send: fault } of FAULTS) {
    test(name, async () => {
      const [weir, node] = [await outcomeOf(PORTS.weir, fault), await outcomeOf(PORTS.node, fault)]
      deepEqual([weir, node], DIFFERENT[name]?.outcomes ?? [node, node])
    })
  }

  test('the comparison finds a difference', () => {
    const names = new Set(FAULTS.map(({ name }) => name))
    deepEqual(
      Object.keys(DIFFERENT).filter((name) => !names.has(name)),
      []
    )
  })
})
