import { deepEqual, equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { guardOutbound } from './outbound.ts'
import { fetchText } from './outbound-text.ts'

const BOUNDS = { bytesMax: 100, timeoutMs: 60_000 }

async function serverOf(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test('a text comes with its status, and others only where they are wanted', async (t) => {
  const url = await serverOf(t, ({ url = '' }, response) => {
    response.statusCode = Number(url.slice(1))
    response.end('text')
  })
  deepEqual(await fetchText(`${url}200`, {}, BOUNDS), { status: 200, text: 'text' })
  deepEqual(await fetchText(`${url}400`, {}, BOUNDS), { status: 400, text: '' })
  deepEqual(await fetchText(`${url}400`, {}, BOUNDS, () => true), { status: 400, text: 'text' })
})

test('a redirect is an answer', async (t) => {
  let count = 0
  const url = await serverOf(t, (_, response) => {
    count++
    response.writeHead(302, { location: '/' }).end()
  })
  deepEqual([(await fetchText(url, {}, BOUNDS)).status, count], [302, 1])
})

test('a text that is too long is given up, whole or in pieces', async (t) => {
  const url = await serverOf(t, (_, response) => {
    // Without an end.
    for (let i = 0; i < 3; i++) response.write('x'.repeat(50))
  })
  await rejects(fetchText(url, {}, BOUNDS), { kind: 'tooLong', message: 'the answer is longer than 100 bytes' })
})

test('a server that says nothing is not waited for', async (t) => {
  const url = await serverOf(t, () => {})
  const message = 'no complete answer within 20 ms'
  await rejects(fetchText(url, {}, { ...BOUNDS, timeoutMs: 20 }), { kind: 'timeout', message })
})

test('what cannot be reached says the code of the system; what is given up, that', async (t) => {
  const url = await serverOf(t, ({ socket }) => socket.destroy())
  const error = await fetchText(url, {}, BOUNDS).catch((one: unknown) => one)
  const { kind, code, message } = error as { kind: string; code: string; message: string }
  equal(kind, 'unreachable')
  equal(message, `fetch failed (${code})`)
  const signal = AbortSignal.abort()
  await rejects(fetchText(url, {}, { ...BOUNDS, signal }), { kind: 'unreachable' })
})

test('a guarded process asks no address that it may not dial, by any name, but those of its own', async (t) => {
  let count = 0
  const url = await serverOf(t, (request, response) => {
    count++
    request.pipe(response)
  })
  const port = Number(new URL(url).port)
  t.after(() => guardOutbound(null))
  guardOutbound((ip, at) => !(ip === '127.0.0.1' && at === port))
  const named = url.replace('127.0.0.1', 'localhost')
  for (const at of [url, named, `http://2130706433:${port}`]) {
    await rejects(fetchText(at, {}, BOUNDS), { kind: 'unreachable', code: 'ADDRESS_REFUSED' }, at)
  }
  equal(count, 0)
  const request = { method: 'POST', body: 'asked' }
  deepEqual(await fetchText(url, request, { ...BOUNDS, isOwn: true }), { status: 200, text: 'asked' })
  guardOutbound((ip, at) => ip !== '127.0.0.1' || at === port)
  deepEqual(await fetchText(named, request, BOUNDS), { status: 200, text: 'asked' })
  await rejects(fetchText(named, { ...request, body: 'x'.repeat(101) }, BOUNDS), { kind: 'tooLong' })
})

test('what a guarded process asks is given up in time, and redirects are answers', async (t) => {
  t.after(() => guardOutbound(null))
  guardOutbound(() => true)
  const silent = await serverOf(t, () => {})
  await rejects(fetchText(silent, {}, { ...BOUNDS, timeoutMs: 20 }), { kind: 'timeout' })
  const url = await serverOf(t, ({ url: path = '' }, response) => {
    response.writeHead(Number(path.slice(1)), { location: '/200' }).end()
  })
  for (const status of [204, 302, 304]) {
    equal((await fetchText(`${url}${status}`, {}, BOUNDS, () => true)).status, status)
  }
})
