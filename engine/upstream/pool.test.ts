/** Connections kept, shared, waited for and lost; addresses that are dead. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { answering } from '#engine/testing/downstream-support.ts'
import { type Origin, startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

for (const sockets of ['handles', 'net'] as const) {
  describe(`pools, over ${sockets}`, () => {
    it('a connection that the server closed while idle is not used', async () => {
      const server = await rawServer((upstream) => {
        upstream.socket.on('data', () => upstream.socket.write(OK, () => upstream.socket.end()))
      })
      const stack = await startStack({ upstream: server.port, sockets })
      for (let i = 1; i <= 3; i++) {
        deepEqual(statuses(await exchangeRaw(stack.port, POST)), [200])
        while (stack.upstream.counts().idle > 0) await turn()
      }
      equal(stack.records.at(-1)?.attempts, 1)
      stack.close()
      server.close()
    })

    for (const [name, request, expected, attempts, copies] of [
      ['a GET is sent once more', GET, 200, 2, 2],
      ['a POST with a body is not', POST, 502, 1, 1]
    ] as const) {
      it(`a connection dies exactly when it is reused: ${name}`, async () => {
        let connections = 0
        let copiesSeen = 0
        const server = await rawServer((upstream) => {
          const isFirst = connections++ === 0
          let requests = 0
          upstream.socket.on('data', () => {
            if (requests++ > 0 || !isFirst) copiesSeen++
            if (requests === 2 && isFirst) upstream.socket.resetAndDestroy()
            else upstream.send(OK)
          })
        })
        const stack = await startStack({ upstream: server.port, sockets })
        deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
        deepEqual(statuses(await exchangeRaw(stack.port, request)), [expected])
        equal(stack.records[1]?.attempts, attempts)
        equal(copiesSeen, copies)
        equal(stack.upstream.counts().busy, 0)
        stack.close()
        server.close()
      })
    }

    it('a retry happens once: an upstream that always hangs up gets no storm', async () => {
      let requests = 0
      const server = await rawServer((upstream) => {
        upstream.socket.on('data', () => {
          if (requests++ === 0) upstream.send(OK)
          else upstream.socket.destroy()
        })
      })
      const stack = await startStack({ upstream: server.port, sockets })
      await exchangeRaw(stack.port, GET)
      deepEqual(statuses(await exchangeRaw(stack.port, GET)), [502])
      equal(requests, 3)
      stack.close()
      server.close()
    })

    it('ten exchanges share two connections', async () => {
      const pending: RawClient[] = []
      const server = await rawServer((upstream) => {
        upstream.socket.on('data', () => pending.push(upstream))
      })
      const stack = await startStack({ upstream: server.port, sockets, poolMax: 2 })
      const answers = Array.from({ length: 10 }, (_, i) => exchangeRaw(stack.port, i % 2 === 0 ? GET : POST))
      for (let served = 0; served < 10; ) {
        ok(stack.upstream.counts().busy <= 2)
        const next = pending.shift()
        if (next === undefined) await turn()
        else {
          next.send(OK)
          served++
        }
      }
      for (const answer of await Promise.all(answers)) deepEqual(statuses(answer), [200])
      equal(server.accepted(), 2)
      deepEqual(stack.upstream.counts(), { idle: 2, busy: 0 })
      stack.close()
      server.close()
    })

    it('does not wait for ever for a connection: 503; a client that leaves the queue is forgotten', async () => {
      const server = await rawServer(() => {})
      const stack = await startStack({ upstream: server.port, sockets, poolMax: 1, connectTimeoutMs: 80 })
      const first = await rawClient(stack.port)
      first.send(GET)
      while (stack.upstream.counts().busy === 0) await turn()
      const leaver = await rawClient(stack.port)
      leaver.send(GET)
      leaver.socket.end()
      const [gone] = await stack.recorded(1)
      equal(gone?.error, 'CLIENT_GONE')
      deepEqual(statuses(await exchangeRaw(stack.port, GET)), [503])
      equal(stack.records[1]?.error, 'UPSTREAM_OVERFLOW')
      for (const client of [first, leaver]) client.close()
      await stack.recorded(3)
      deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
      stack.close()
      server.close()
    })

    it('keeps a body that came while a hook waited, also over a kept connection', async () => {
      const origin = await startOrigin()
      const stack = await startStack({
        upstream: origin.port,
        sockets,
        requestHooks: [() => new Promise((resolve) => setImmediate(() => resolve(0)))]
      })
      for (let i = 0; i < 3; i++) ok((await exchangeRaw(stack.port, POST)).endsWith('hello'))
      const chunked = POST.replace('Content-Length: 5', 'Transfer-Encoding: chunked').replace('hello', '')
      ok((await exchangeRaw(stack.port, `${chunked}5\r\nhello\r\n0\r\n\r\n`)).endsWith('hello'))
      stack.close()
      origin.close()
    })

    it('replaces a connection after so many requests, and closes idle ones in time', async () => {
      const origin = await startOrigin((response) => response.end('ok'))
      const stack = await startStack({ upstream: origin.port, sockets, requestsPerConnectionMax: 2, idleTimeoutMs: 60 })
      for (let i = 0; i < 3; i++) await exchangeRaw(stack.port, GET)
      deepEqual(stack.upstream.counts(), { idle: 1, busy: 0 })
      while (stack.upstream.counts().idle > 0) await turn()
      stack.close()
      origin.close()
    })

    for (const [hint, connections, idle] of [
      ['timeout=0', 3, 0],
      ['max=1', 2, 1],
      ['timeout=5, max=0', 3, 0],
      ['timeout=5', 1, 1],
      ['nonsense', 1, 1]
    ] as const) {
      it(`three requests to a server that says Keep-Alive: ${hint}`, async () => {
        const server = await answering(OK.replace('\r\n', `\r\nKeep-Alive: ${hint}\r\n`))
        const stack = await startStack({ upstream: server.port, sockets })
        for (let i = 0; i < 3; i++) deepEqual(statuses(await exchangeRaw(stack.port, POST)), [200])
        equal(server.accepted(), connections)
        deepEqual(stack.upstream.counts(), { idle, busy: 0 })
        stack.close()
      })
    }

    it('a connection is given up before its server closes it', async () => {
      const server = await answering(OK.replace('\r\n', '\r\nKeep-Alive: timeout=10\r\n'))
      let now = performance.now()
      const timers = new TimerWheel(() => now)
      const stack = await startStack({ upstream: server.port, sockets, timers, idleTimeoutMs: 90_000 })
      await exchangeRaw(stack.port, POST)
      now = performance.now() + 8_000
      timers.advance()
      deepEqual(stack.upstream.counts(), { idle: 1, busy: 0 })
      now += 1_100
      timers.advance()
      deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
      stack.close()
    })

    it('nor is it used when the loop was too busy to give it up in time', async () => {
      const server = await answering(OK.replace('\r\n', '\r\nKeep-Alive: timeout=1\r\n'))
      const frozen = performance.now()
      const stack = await startStack({ upstream: server.port, sockets, timers: new TimerWheel(() => frozen) })
      await exchangeRaw(stack.port, POST)
      const busyUntil = performance.now() + 520
      while (performance.now() < busyUntil);
      deepEqual(statuses(await exchangeRaw(stack.port, POST)), [200])
      equal(server.accepted(), 2)
      stack.close()
    })

    it('speaks to a unix socket, and names the error when there is none', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'weir-'))
      const path = join(folder, 'origin.sock')
      const origin: Origin = await startOrigin(undefined, { path })
      const stack = await startStack({ upstream: path, sockets })
      ok((await exchangeRaw(stack.port, POST)).endsWith('hello'))
      equal(stack.endpoint.name, `unix:${path}`)
      origin.close()
      stack.close()
      rmSync(folder, { recursive: true })
      const lost = await startStack({ upstream: path, sockets })
      deepEqual(statuses(await exchangeRaw(lost.port, GET)), [502])
      lost.close()
    })
  })
}
