/** Limits of size and time: 413, 414, 431 and 408, and what a flood of slow clients costs. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { llhttp } from '#engine/http/llhttp.ts'
import { type Origin, startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'

const HOST = 'Host: a.test\r\n'
const MB = 1024 * 1024
const fields = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: 1\r\n`).join('')

for (const sockets of ['handles', 'net'] as const) {
  describe(`limits, over ${sockets}`, () => {
    let origin: Origin
    let stack: Stack
    /** Heads and bodies end soon; connections without a request do not, so that every one is told. */
    let hasty: Stack
    before(async () => {
      origin = await startOrigin()
      const hurry = { headTimeoutMs: 100, bodyTimeoutMs: 100 }
      stack = await startStack({ upstream: origin.port, sockets, http: { bodyBytesMax: 10_000 } })
      hasty = await startStack({ upstream: origin.port, sockets, http: hurry })
    })
    after(() => {
      stack.close()
      hasty.close()
      origin.close()
    })

    const send = async (text: string) => statuses(await exchangeRaw(stack.port, text))

    it('refuses the 101st field: 431', async () => {
      deepEqual(await send(`GET / HTTP/1.1\r\n${HOST}${fields(100)}\r\n`), [431])
      deepEqual(await send(`GET / HTTP/1.1\r\n${HOST}Connection: close\r\n${fields(98)}\r\n`), [200])
    })

    it('refuses a head of 60 KB, in one piece and in many: 431', async () => {
      const big = `GET / HTTP/1.1\r\n${HOST}X: ${'a'.repeat(60_000)}\r\n\r\n`
      deepEqual(await send(big), [431])
      const client = await rawClient(stack.port)
      for (let at = 0; at < big.length; at += 5_000) client.send(big.slice(at, at + 5_000))
      deepEqual(statuses(await client.untilEnd()), [431])
      client.close()
    })

    it('refuses a head without end: 431', async () => {
      deepEqual(await send(`GET / HTTP/1.1\r\n${HOST}X: ${'a'.repeat(400_000)}`), [431])
    })

    it('refuses a long target: 414', async () => {
      deepEqual(await send(`GET /${'a'.repeat(16 * 1024)} HTTP/1.1\r\n${HOST}\r\n`), [414])
      deepEqual(await send(`GET /${'a'.repeat(200_000)}`), [414])
      deepEqual(await send(`GET /${'a'.repeat(16_000)} HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`), [200])
    })

    it('refuses a body over the limit, announced or not: 413', async () => {
      const before = origin.seen.length
      deepEqual(await send(`POST / HTTP/1.1\r\n${HOST}Content-Length: 10001\r\n\r\n`), [413])
      const chunk = `${(6_000).toString(16)}\r\n${'a'.repeat(6_000)}\r\n`
      const start = `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`
      deepEqual(await send(`${start}${chunk}${chunk}0\r\n\r\n`), [413])
      equal(origin.seen.length, before)
      const body = 'a'.repeat(10_000)
      const close = 'Connection: close\r\n'
      deepEqual(await send(`POST / HTTP/1.1\r\n${HOST}${close}Content-Length: 10000\r\n\r\n${body}`), [200])
    })

    it('refuses a flood of chunk extensions: 400', async () => {
      const flood = `1;${'a'.repeat(60_000)}`
      deepEqual(await send(`POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n${flood}${flood}`), [400])
    })

    it('refuses trailers without end: 431', async () => {
      const start = `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n`
      deepEqual(await send(start + 'X: 123456789\r\n'.repeat(20_000)), [431])
    })

    it('does not wait for a head that comes byte by byte: 408', async () => {
      const client = await rawClient(hasty.port)
      const bytes = `GET / HTTP/1.1\r\n${HOST}${fields(100)}`
      let at = 0
      const drip = setInterval(() => client.send(bytes[at++]!), 5)
      const answer = await client.untilEnd()
      clearInterval(drip)
      deepEqual(statuses(answer), [408])
      ok(at < bytes.length)
      client.close()
    })

    it('does not wait for a body that stops: 408', async () => {
      const before = origin.seen.length
      const answer = await exchangeRaw(hasty.port, `POST / HTTP/1.1\r\n${HOST}Content-Length: 10\r\n\r\nhello`)
      deepEqual(statuses(answer), [408])
      match(answer, /Connection: close/)
      equal(origin.seen.length, before)
    })

    it('closes connections on which nothing was ever sent as late heads, not as kept ones', async () => {
      const own = await startStack({
        upstream: origin.port,
        sockets,
        http: { headTimeoutMs: 60, idleTimeoutMs: 600_000 }
      })
      const kept = await rawClient(own.port)
      kept.send(`GET / HTTP/1.1\r\n${HOST}\r\n`)
      await kept.until('\r\n\r\n')
      const silent = await rawClient(own.port)
      equal(await silent.untilEnd(), '')
      equal(kept.ended, false)
      for (const client of [kept, silent]) client.close()
      own.close()
    })

    it('closes idle connections without a word', async () => {
      const own = await startStack({ upstream: origin.port, sockets, http: { idleTimeoutMs: 150 } })
      equal(await exchangeRaw(own.port, ''), '')
      const kept = await rawClient(own.port)
      kept.send(`GET / HTTP/1.1\r\n${HOST}\r\n`)
      // On a slow machine the connection may have been idle for too long before its first byte.
      const answer = await kept.untilEnd()
      deepEqual(statuses(answer), answer === '' ? [] : [200])
      own.close()
    })

    it('gives up an upload that the backend does not read: 504', async () => {
      // A connection that is given up without a word need not be deaf.
      const heard = (peer: RawClient) => peer.until('\r\n\r\n').catch(() => '')
      const deaf = await rawServer((peer) => void heard(peer).then(() => peer.socket.pause()))
      const own = await startStack({ upstream: deaf.port, sockets, http: { sendTimeoutMs: 100 } })
      const client = await rawClient(own.port)
      client.send(`POST / HTTP/1.1\r\n${HOST}Content-Length: ${64 * MB}\r\n\r\n`)
      client.socket.write(Buffer.alloc(64 * MB))
      deepEqual(statuses(await client.until('\r\n\r\n')), [504])
      client.close()
      const [record] = await own.recorded(1)
      equal(record?.error, 'UPSTREAM_TIMEOUT')
      deepEqual(own.upstream.counts(), { idle: 0, busy: 0 })
      own.close()
      deaf.close()
    })

    it('times out 2,000 clients that send one byte, and serves another one meanwhile', async () => {
      stack.upstream.closeIdle()
      const idleParsers = llhttp().busy
      const clients: RawClient[] = []
      for (let i = 0; i < 2_000; i++) {
        const client = await rawClient(hasty.port)
        client.send('G')
        clients.push(client)
      }
      const another = await exchangeRaw(stack.port, `GET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
      deepEqual(statuses(another), [200])
      const answers = await Promise.all(clients.map((client) => client.untilEnd()))
      const results = answers.map((answer) => statuses(answer).join())
      // On a busy machine a byte may come when the time is over already: such a connection ends without a word.
      deepEqual(
        results.filter((status) => status !== '408' && status !== ''),
        []
      )
      for (const client of clients) client.close()
      stack.upstream.closeIdle()
      equal(llhttp().busy, idleParsers)
      equal(hasty.connections.opened, hasty.connections.closed)
    })
  })
}
