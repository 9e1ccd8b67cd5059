/** Servers of HTTP/2 that refuse streams or leave: what they have not looked at is sent again, and nothing else. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HpackDecoder } from '#engine/http2/hpack-decoder.ts'
import { type FrameClient, frame, startFrameServer, startHttp2Origin } from '#engine/testing/h2-origin.ts'
import { answer, once, uint32, withServer } from '#engine/testing/h2-stack.ts'
import { statuses } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'

const HEADERS = 1
const RST_STREAM = 3
const GOAWAY = 7
const REFUSED_STREAM = '\0\0\0\x07'
const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'

describe('GOAWAY and REFUSED_STREAM', () => {
  for (const [name, request] of [
    ['GET', GET],
    ['POST with a body', POST]
  ] as const) {
    it(`a refused ${name} is sent once more`, () =>
      withServer(
        once((stream, client) => client.send(frame(RST_STREAM, 0, stream, REFUSED_STREAM))),
        {},
        async (stack) => {
          deepEqual(statuses(await exchangeRaw(stack.port, request)), [200])
          equal(stack.records[0]!.attempts, 2)
        }
      ))

    it(`a ${name} above the last stream of GOAWAY is sent once more, elsewhere`, () =>
      withServer(
        once((_stream, client) => client.send(frame(GOAWAY, 0, 0, uint32(0) + uint32(0)))),
        {},
        async (stack, server) => {
          deepEqual(statuses(await exchangeRaw(stack.port, request)), [200])
          equal(stack.records[0]!.attempts, 2)
          equal(server.accepted(), 2)
        }
      ))
  }

  it('a server that refuses everything is not asked for ever', async () => {
    let requests = 0
    const refusing = startFrameServer(({ type, stream }, client) => {
      if (type !== HEADERS) return
      requests++
      client.send(frame(RST_STREAM, 0, stream, REFUSED_STREAM))
    })
    await withServer(refusing, {}, async (stack) => {
      deepEqual(statuses(await exchangeRaw(stack.port, POST)), [502])
      equal(requests, 4)
    })
  })

  it('streams that the server accepted end normally after GOAWAY; a POST that it may have seen is not repeated', () => {
    let requests = 0
    const leaving = startFrameServer(({ type, stream }, client) => {
      if (type !== HEADERS) return
      requests++
      if (requests === 1) client.send(frame(GOAWAY, 0, 0, uint32(stream) + uint32(0)), answer(stream))
      else client.raw.socket.destroy()
    })
    return withServer(leaving, {}, async (stack) => {
      deepEqual(statuses(await exchangeRaw(stack.port, POST)), [200])
      deepEqual(statuses(await exchangeRaw(stack.port, POST)), [502])
      equal(requests, 2)
    })
  })

  it('a connection that dies under an idempotent request after it has worked is replaced once', async () => {
    let requests = 0
    const dying = startFrameServer(({ type, stream }, client) => {
      if (type !== HEADERS) return
      if (++requests === 2) client.raw.socket.resetAndDestroy()
      else client.send(answer(stream))
    })
    await withServer(dying, {}, async (stack, server) => {
      for (let i = 0; i < 2; i++) deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
      equal(server.accepted(), 2)
      equal(requests, 3)
    })
  })

  it('a server that dies of every request gets no storm', async () => {
    let requests = 0
    const dying = startFrameServer(({ type }, client) => {
      if (type !== HEADERS) return
      requests++
      client.raw.socket.destroy()
    })
    await withServer(dying, {}, async (stack) => {
      deepEqual(statuses(await exchangeRaw(stack.port, GET)), [502])
      equal(requests, 1)
    })
  })

  it('a server that leaves every 100 requests loses none and sees none twice', async () => {
    const seen = new Map<string, number>()
    const counts = new WeakMap<object, number>()
    const origin = await startHttp2Origin((stream, headers, session) => {
      const name = String(headers['x-id'])
      seen.set(name, (seen.get(name) ?? 0) + 1)
      const count = (counts.get(session) ?? 0) + 1
      counts.set(session, count)
      // Graceful: what is under way is answered.
      if (count === 100) session.close()
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        stream.respond({ ':status': 200 })
        stream.end(Buffer.concat(chunks))
      })
    })
    const stack = await startStack({ upstream: origin.port, spoken: { version: 'HTTP2' } })
    const TOTAL = 1200
    let next = 0
    const failures: string[] = []
    const worker = async () => {
      while (next < TOTAL) {
        const id = next++
        const request = `POST / HTTP/1.1\r\nHost: a.test\r\nX-Id: ${id}\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello`
        const received = await exchangeRaw(stack.port, request)
        if (!received.includes('hello')) failures.push(received)
      }
    }
    await Promise.all(Array.from({ length: 24 }, worker))
    deepEqual(failures, [])
    equal(seen.size, TOTAL)
    deepEqual(
      [...seen.values()].filter((times) => times !== 1),
      []
    )
    ok(origin.sessions.length >= 10, `${origin.sessions.length} connections`)
    stack.close()
    origin.close()
  })

  it('a server that leaves with streams that it has not begun gets them again, each once', async () => {
    const TOTAL = 600
    let next = 0
    const begun = new Map<string, number>()
    const waiting = new WeakMap<FrameClient, { id: number; name: string }[]>()
    const left = new WeakSet<FrameClient>()
    const readers = new WeakMap<FrameClient, HpackDecoder>()
    const server = await startFrameServer(({ type, stream, payload }, client) => {
      if (type !== HEADERS || left.has(client)) return
      const decoder = readers.get(client) ?? new HpackDecoder(4096)
      readers.set(client, decoder)
      let name = ''
      const bytes = Buffer.from(payload, 'latin1')
      decoder.decode(bytes, 0, bytes.length, {
        field(field) {
          if (field.name === 'x-id') name = field.value
        }
      })
      const batch = waiting.get(client) ?? []
      waiting.set(client, batch)
      batch.push({ id: stream, name })
      // Some at a time, as long as there are enough under way.
      if (batch.length < 4 && next < TOTAL - 24) return
      waiting.delete(client)
      const isLeaving = stream > 60 && batch.length > 1
      // The second half has arrived, and is not looked at.
      const taken = isLeaving ? batch.slice(0, Math.ceil(batch.length / 2)) : batch
      if (isLeaving) {
        left.add(client)
        client.send(frame(GOAWAY, 0, 0, uint32(taken.at(-1)!.id) + uint32(0)))
      }
      for (const one of taken) {
        begun.set(one.name, (begun.get(one.name) ?? 0) + 1)
        client.send(answer(one.id))
      }
    })
    const stack = await startStack({ upstream: server.port, spoken: { version: 'HTTP2' } })
    const failures: string[] = []
    const worker = async () => {
      while (next < TOTAL) {
        const received = await exchangeRaw(stack.port, POST.replace('\r\n\r\n', `\r\nX-Id: ${next++}\r\n\r\n`))
        if (statuses(received)[0] !== 200) failures.push(received)
      }
    }
    await Promise.all(Array.from({ length: 20 }, worker))
    deepEqual(failures, [])
    equal(begun.size, TOTAL)
    deepEqual(
      [...begun].filter(([, times]) => times !== 1),
      []
    )
    ok(stack.records.some(({ attempts }) => attempts > 1))
    ok(server.accepted() >= 10, `${server.accepted()} connections`)
    stack.close()
    server.close()
  })
})
