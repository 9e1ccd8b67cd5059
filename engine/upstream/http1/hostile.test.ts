/** Upstreams that lie, stall, talk too much or hang up: each hurts its own exchange only. */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { llhttp } from '#engine/http/llhttp.ts'
import { startScript, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, type RawServer, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type StackOptions, startStack } from '#engine/testing/stack.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const KEEP = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Answers that are not valid HTTP: 502, and the connection is not used again. */
const INVALID: readonly (readonly [string, string])[] = [
  ['no HTTP at all', 'hello\r\n\r\n'],
  ['HTTP/0.9', '<html>hello</html>'],
  ['HTTP/0.9 spelled out', 'HTTP/0.9 200 OK\r\n\r\nhello'],
  ['HTTP/2.0', 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['ICE', 'ICE/1.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['RTSP', 'RTSP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a line end before the head', `\r\n${OK}`],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
  ['status 000', 'HTTP/1.1 000 Zero\r\nContent-Length: 0\r\n\r\n'],
  ['status 099', 'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n'],
  ['two blanks before the status', 'HTTP/1.1  200 OK\r\n\r\n'],
  ['LF in the reason', 'HTTP/1.1 200 O\nK\r\n\r\n'],
  ['bare LF line ends', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ['a folded field', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n'],
  ['NUL in a value', 'HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n'],
  ['a blank before the colon', 'HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 0\r\n\r\n'],
  ['length and coding', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['coding and length', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 2\r\n\r\nhello'],
  ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok'],
  ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok'],
  ['a huge length', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok'],
  ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok'],
  ['chunked in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['101 that nobody asked for', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ['1001 fields', `HTTP/1.1 200 OK\r\n${'X: 1\r\n'.repeat(1001)}Content-Length: 0\r\n\r\n`],
  ['a head of 70 KB', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}\r\nContent-Length: 0\r\n\r\n`],
  ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(500_000)}`],
  ['a reason without end', `HTTP/1.1 200 ${'O'.repeat(500_000)}`],
  ['seventeen interim answers', `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(17)}${OK}`],
  ['an interim answer with a body', 'HTTP/1.1 150 Odd\r\nContent-Length: 5\r\n\r\nhello']
]

/** Bodies that break behind a good head: the client must see a broken message, never a short whole one. */
const BROKEN: readonly (readonly [string, string])[] = [
  ['a body shorter than its length', 'Content-Length: 10\r\n\r\nhello'],
  ['chunks without an end', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'],
  ['a cut chunk', 'Transfer-Encoding: chunked\r\n\r\n9\r\nhello'],
  ['a bad chunk size', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n'],
  ['a chunk longer than its size', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello!!\r\n0\r\n\r\n']
]

for (const sockets of ['handles', 'net'] as const) {
  /** A stack in front of `server`; both end with `run`, which must leave nothing behind. */
  async function withStack(
    server: RawServer,
    options: Partial<StackOptions>,
    run: (stack: Awaited<ReturnType<typeof startStack>>) => Promise<void>
  ): Promise<void> {
    const stack = await startStack({ upstream: server.port, sockets, ...options })
    try {
      await run(stack)
      equal(stack.upstream.counts().busy, 0)
      // A connection has one parser, and none outlives it.
      const { opened, closed } = stack.connections
      ok(llhttp().busy <= stack.upstream.counts().idle + opened - closed)
    } finally {
      stack.close()
      server.close()
    }
  }

  describe(`hostile upstreams, over ${sockets}`, () => {
    for (const [name, answer] of INVALID) {
      it(`${name}: 502`, async () => {
        await withStack(await startScript(answer), {}, async (stack) => {
          const got = await exchangeRaw(stack.port, GET)
          equal(statuses(got).at(-1), 502)
          const [record] = await stack.recorded(1)
          equal(record?.error, 'UPSTREAM_PROTOCOL')
          deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
        })
      })
    }

    for (const [name, rest] of BROKEN) {
      it(`${name}: the client sees it`, async () => {
        await withStack(await startScript(`HTTP/1.1 200 OK\r\n${rest}`, true), {}, async (stack) => {
          const got = await exchangeRaw(stack.port, GET)
          deepEqual(statuses(got), [200])
          ok(got.includes('hello'))
          ok(!got.endsWith('0\r\n\r\n'))
          const [record] = await stack.recorded(1)
          match(record?.error ?? '', /UPSTREAM_(RESET|PROTOCOL)/)
          // An HTTP/1.0 client has no chunks: the connection must end with an error.
          const old = await rawClient(stack.port)
          const reset = new Promise<string>((resolve) => {
            old.socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
            old.socket.on('end', () => resolve('FIN'))
          })
          old.send('GET / HTTP/1.0\r\nHost: a.test\r\n\r\n')
          if (rest.startsWith('Content-Length')) equal(await reset, 'FIN')
          else if (sockets === 'handles') equal(await reset, 'ECONNRESET')
          else await reset
          old.close()
        })
      })
    }

    it('a closed port: 502', async () => {
      const gone = await rawServer(() => {})
      gone.close()
      await withStack(gone, {}, async (stack) => {
        deepEqual(statuses(await exchangeRaw(stack.port, GET)), [502])
        equal(stack.records[0]?.error, 'CONNECT_FAILURE')
      })
    })

    it('accepts and closes, or resets: 502', async () => {
      for (const act of [(s: { end(): void }) => s.end(), (s: { resetAndDestroy(): void }) => s.resetAndDestroy()]) {
        await withStack(await rawServer((client) => act(client.socket)), {}, async (stack) => {
          deepEqual(statuses(await exchangeRaw(stack.port, GET)), [502])
          // A reset may come while the connection is still being made.
          match(stack.records[0]?.error ?? '', /UPSTREAM_RESET|CONNECT_FAILURE/)
          equal(stack.records[0]?.attempts, 1)
        })
      }
    })

    it('never answers: 504 by either timeout', async () => {
      for (const [settings, error] of [
        [{ backendTimeoutMs: 60 }, 'UPSTREAM_TIMEOUT'],
        [{ requestTimeoutMs: 60 }, 'REQUEST_TIMEOUT']
      ] as const) {
        await withStack(await rawServer(() => {}), { settings }, async (stack) => {
          deepEqual(statuses(await exchangeRaw(stack.port, GET)), [504])
          equal(stack.records[0]?.error, error)
        })
      }
    })

    it('stops in the middle of its answer: the response is broken off', async () => {
      const server = await startScript('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
      // Long enough for the half that does come, also on a slow machine.
      await withStack(server, { settings: { backendTimeoutMs: 1500 } }, async (stack) => {
        const got = await exchangeRaw(stack.port, GET)
        ok(got.endsWith('hello'))
        equal(stack.records[0]?.error, 'UPSTREAM_TIMEOUT')
      })
    })

    it('an answer before the request costs one exchange, and none waits for ever', async () => {
      const server = await rawServer((upstream) => upstream.send(OK))
      await withStack(server, { settings: { backendTimeoutMs: 500 } }, async (stack) => {
        for (let i = 0; i < 3; i++) {
          const [status] = statuses(await exchangeRaw(stack.port, GET))
          ok(status === 200 || status === 504)
        }
      })
    })

    it('bytes behind a body reach neither this response nor the next', async () => {
      const server = await startScript(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen`)
      await withStack(server, {}, async (stack) => {
        const client = await rawClient(stack.port)
        for (let i = 1; i <= 2; i++) {
          client.received = ''
          client.send(KEEP)
          const got = await client.until('ok')
          doesNotMatch(got, /stolen/)
          equal(server.accepted(), i)
        }
        client.close()
      })
    })

    it('bytes on an idle connection are never taken for an answer', async () => {
      let poisoned = 0
      const server = await rawServer(async (upstream) => {
        await upstream.until('\r\n\r\n')
        upstream.send(OK)
        // The gateway has read the answer when its client has it; what comes then answers nothing.
        while (poisoned === 0) await new Promise((resolve) => setImmediate(resolve))
        upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen')
        await upstream.untilEnd()
        poisoned++
      })
      await withStack(server, {}, async (stack) => {
        const first = await exchangeRaw(stack.port, GET)
        ok(first.endsWith('ok'))
        equal(stack.upstream.counts().idle, 1)
        poisoned = 1
        while (poisoned === 1) await new Promise((resolve) => setImmediate(resolve))
        deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
        doesNotMatch(await exchangeRaw(stack.port, GET), /stolen/)
        equal(server.accepted(), 2)
      })
    })

    it('up to sixteen interim answers pass, without length and upgrade', async () => {
      const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 0\r\nUpgrade: x\r\n\r\n'
      await withStack(await startScript(interim.repeat(16) + OK), {}, async (stack) => {
        const got = await exchangeRaw(stack.port, GET)
        equal(statuses(got).filter((status) => status === 103).length, 16)
        doesNotMatch(got, /Upgrade|Content-Length: 0/)
        ok(got.endsWith('ok'))
        // HTTP/1.0 clients do not know them.
        deepEqual(statuses(await exchangeRaw(stack.port, 'GET / HTTP/1.0\r\n\r\n')), [200])
      })
    })

    it('passes trailers, without those that must not be trailers', async () => {
      const answer =
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\nEmpty:\r\n\r\n'
      await withStack(await startScript(answer), {}, async (stack) => {
        const asks = GET.replace('\r\n\r\n', '\r\nTE: trailers\r\n\r\n')
        match(await exchangeRaw(stack.port, asks), /\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nEmpty: \r\n\r\n$/)
      })
    })

    it('a body that ends with the connection: chunks for 1.1, the end of the connection for 1.0', async () => {
      await withStack(await startScript('HTTP/1.0 200 OK\r\n\r\nhello', true), {}, async (stack) => {
        match(
          await exchangeRaw(stack.port, GET),
          /Transfer-Encoding: chunked\r\n[\s\S]*\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/
        )
        const old = await exchangeRaw(stack.port, 'GET / HTTP/1.0\r\n\r\n')
        doesNotMatch(old, /chunked/)
        ok(old.endsWith('\r\n\r\nhello'))
        ok(stack.records.every(({ error }) => error === null))
      })
    })

    it('answers without content stay without, whatever their fields say', async () => {
      for (const [status, method] of [
        ['204 No Content', 'GET'],
        ['304 Not Modified', 'GET'],
        ['200 OK', 'HEAD']
      ] as const) {
        const server = await rawServer((upstream) => {
          upstream.socket.on('data', () => upstream.send(`HTTP/1.1 ${status}\r\nContent-Length: 5\r\n\r\n`))
        })
        await withStack(server, {}, async (stack) => {
          const client = await rawClient(stack.port)
          client.send(`${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`.repeat(2) + GET.replace('GET', method))
          const got = await client.untilEnd()
          equal(statuses(got).length, 3)
          equal(server.accepted(), 1)
          equal(/Content-Length: 5/.test(got), !status.startsWith('204'))
          ok(got.endsWith('\r\n\r\n'))
          client.close()
        })
      }
    })

    it('gives the same response wherever the answer is split', async () => {
      const answer =
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nEmpty:\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-A:  b \r\n' +
        'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n'
      let at = 0
      const server = await rawServer((upstream) => {
        upstream.socket.on('data', () => {
          const split = at++ % answer.length
          upstream.socket.write(answer.slice(0, split), 'latin1', () =>
            setImmediate(() => upstream.send(answer.slice(split)))
          )
        })
      })
      await withStack(server, {}, async (stack) => {
        const chunks = (text: string) => text.replace(/[0-9a-f]+\r\n(\w+)\r\n/g, '$1').replace('0\r\nX-T', 'X-T')
        const whole = chunks(await exchangeRaw(stack.port, GET))
        match(whole, /Empty:\r\nX-A: {2}b ?\r\n[\s\S]*hello/)
        await Promise.all(
          Array.from({ length: answer.length }, async () => {
            equal(chunks(await exchangeRaw(stack.port, GET.replace('close', 'close, x'))), whole)
          })
        )
      })
    })
  })
}
