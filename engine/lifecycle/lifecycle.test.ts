/** The life of a request: hooks that wait, timeouts at each step, memory that stays bounded both ways. */

import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Exchange } from '#engine/contract/exchange.ts'
import { signalOf } from '#engine/contract/exchange-signal.ts'
import { CONTINUE, type Hook, STOP, type Verdict } from '#engine/contract/filter.ts'
import { answer } from '#engine/contract/refuse.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import { startOrigin, startScript, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const KEEP = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

/** A hook that waits until `open` is called; `waiting` counts exchanges in it. */
function gate() {
  const open: ((verdict: Verdict) => void)[] = []
  return {
    hook: () => new Promise<Verdict>((resolve) => open.push(resolve)),
    get waiting() {
      return open.length
    },
    open: (verdict: Verdict = CONTINUE) => open.shift()!(verdict)
  }
}

describe('hooks', () => {
  it('run in order, may wait, and may stop the exchange with a reply', async () => {
    const seen: string[] = []
    const stack = await startStack({
      upstream: 1,
      requestHooks: [
        () => {
          seen.push('first')
          return CONTINUE
        },
        async (ex): Promise<Verdict> => {
          await turn()
          seen.push('second')
          ex.localReply = { status: 403, body: 'no', contentType: null, headers: ['X-Why', 'test'] }
          return STOP
        },
        () => {
          seen.push('never')
          return CONTINUE
        }
      ],
      responseHooks: [
        (ex) => {
          ex.response!.set('X-Seen', seen.join())
          return CONTINUE
        }
      ]
    })
    const received = await exchangeRaw(stack.port, GET)
    match(received, /^HTTP\/1\.1 403 [\s\S]*X-Why: test\r\n[\s\S]*X-Seen: first,second\r\n[\s\S]*\r\n\r\nno$/)
    stack.close()
  })

  it('a response that a hook holds keeps its headers and body while its connection serves others', async () => {
    let count = 0
    const server = await rawServer((upstream) => {
      upstream.socket.on('data', () => {
        count++
        upstream.send(`HTTP/1.1 200 OK\r\nX-Secret: ${count}\r\nContent-Length: 1\r\n\r\n${count}`)
      })
    })
    const held = gate()
    const stack = await startStack({ upstream: server.port, responseHooks: [held.hook] })
    const first = exchangeRaw(stack.port, GET)
    while (held.waiting < 1) await turn()
    const second = exchangeRaw(stack.port, GET)
    while (held.waiting < 2) await turn()
    equal(server.accepted(), 1)
    held.open()
    match(await first, /X-Secret: 1\r\n[\s\S]*\r\n\r\n1$/)
    held.open()
    match(await second, /X-Secret: 2\r\n[\s\S]*\r\n\r\n2$/)
    stack.close()
    server.close()
  })

  it('a hook that waited in vain does not hurry the one that followed it', async () => {
    const server = await startScript('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
    const held = gate()
    const settings = { backendTimeoutMs: 300 }
    const stack = await startStack({ upstream: server.port, settings, responseHooks: [held.hook] })
    const client = await rawClient(stack.port)
    client.send(GET)
    // The upstream takes too long while the hook looks at its response: the 504 goes through the hook as well.
    while (held.waiting < 2) await turn()
    held.open()
    await turns(20)
    equal(client.received, '')
    held.open()
    deepEqual(statuses(await client.untilEnd()), [504])
    client.close()
    stack.close()
    server.close()
  })

  it('of the phase PreRouting run first and once, may wait, and are followed by those of the route', async () => {
    const seen: string[] = []
    const note =
      (name: string): Hook =>
      (ex) => {
        seen.push(`${name} ${ex.route === null ? 'no route' : 'route'}`)
        return CONTINUE
      }
    const held = gate()
    const origin = await startOrigin()
    const stack = await startStack({
      upstream: origin.port,
      preRouting: { request: [note('a'), held.hook, note('b')] },
      requestHooks: [note('c'), held.hook, note('d')]
    })
    const answer = exchangeRaw(stack.port, GET)
    while (held.waiting === 0) await turn()
    deepEqual(seen, ['a no route'])
    held.open()
    while (held.waiting === 0) await turn()
    held.open()
    deepEqual(statuses(await answer), [200])
    deepEqual(seen, ['a no route', 'b no route', 'c route', 'd route'])
    stack.close()
    origin.close()
  })

  it('of the phase PreRouting see the answer where no route is found, and the listener records it', async () => {
    const mark: Hook = (ex) => {
      ex.response!.set('X-Pre', String(ex.status))
      return CONTINUE
    }
    const go: Hook = () => CONTINUE
    const preRouting = { request: [go], response: [mark] }
    const stack = await startStack({ upstream: 1, preRouting, refuse: () => 'ROUTE_NOT_FOUND' })
    match(await exchangeRaw(stack.port, GET), /^HTTP\/1\.1 404 [\s\S]*X-Pre: 404\r\n/)
    equal((await stack.recorded(1))[0]?.error, 'ROUTE_NOT_FOUND')
    stack.close()
  })

  it('a client that leaves while a hook waits ends the exchange: nothing goes upstream', async () => {
    const origin = await startOrigin()
    const held = gate()
    const stack = await startStack({ upstream: origin.port, requestHooks: [held.hook] })
    const client = await rawClient(stack.port)
    client.send(KEEP)
    while (held.waiting === 0) await turn()
    client.close()
    const [record] = await stack.recorded(1)
    equal(record?.error, 'CLIENT_GONE')
    held.open()
    await turns(5)
    equal(origin.seen.length, 0)
    deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
    stack.close()
    origin.close()
  })

  it('pending work of a hook is abandoned when the client has left', async () => {
    const begun = Promise.withResolvers<AbortSignal>()
    const waits: Hook = (ex) => {
      begun.resolve(signalOf(ex))
      return new Promise(() => undefined)
    }
    const stack = await startStack({ upstream: 1, requestHooks: [waits] })
    const client = await rawClient(stack.port)
    client.send(KEEP)
    const signal = await begun.promise
    equal(signal.aborted, false)
    client.close()
    await stack.recorded(1)
    equal(signal.aborted, true)
    stack.close()
  })

  it('a hook that waits too long is overtaken by the timeout: 504, once', async () => {
    const held = gate()
    const stack = await startStack({ upstream: 1, settings: { requestTimeoutMs: 50 }, requestHooks: [held.hook] })
    const answer = exchangeRaw(stack.port, GET)
    deepEqual(statuses(await answer), [504])
    held.open()
    await turns(5)
    equal(stack.records.length, 1)
    stack.close()
  })

  it('a hook that was overtaken adds nothing to the answer, and does not hold it up', async () => {
    const [late, held] = [gate(), gate()]
    const refusing: Hook = async (ex) => {
      await late.hook()
      return answer(ex, { status: 401, body: 'late', contentType: null, headers: null })
    }
    const answering: Hook = () => {
      // The timeout has answered: only now the first hook makes up its mind.
      late.open()
      return held.hook()
    }
    const stack = await startStack({
      upstream: 1,
      settings: { requestTimeoutMs: 50 },
      requestHooks: [refusing],
      responseHooks: [answering]
    })
    const client = exchangeRaw(stack.port, GET)
    while (held.waiting === 0) await turn()
    await turns(5)
    held.open()
    deepEqual(statuses(await client), [504])
    stack.close()
  })

  it('a hook that was overtaken does not see the next request of the connection', async () => {
    const seen: (string | undefined)[] = []
    const held: (() => void)[] = []
    const hook = (ex: Exchange): Verdict | Promise<Verdict> => {
      if (ex.path !== '/first') return CONTINUE
      return new Promise<void>((resolve) => held.push(resolve)).then((): Verdict => {
        seen.push(ex.request.get('x-caller'))
        return CONTINUE
      })
    }
    const origin = await startOrigin()
    const stack = await startStack({
      upstream: origin.port,
      settings: { requestTimeoutMs: 50 },
      requestHooks: [hook]
    })
    const client = await rawClient(stack.port)
    client.send('GET /first HTTP/1.1\r\nHost: a.test\r\nX-Caller: first\r\n\r\n')
    await client.until('504')
    client.send('GET /second HTTP/1.1\r\nHost: a.test\r\nX-Caller: second\r\n\r\n')
    await client.until('200')
    held[0]!()
    await turns(5)
    deepEqual(seen, ['first'])
    client.close()
    stack.close()
    origin.close()
  })
})

for (const sockets of ['handles', 'net'] as const) {
  describe(`memory, over ${sockets}`, () => {
    it('a slow reader holds the upstream back', async () => {
      const size = 64 * 1024 * 1024
      let written = 0
      const server = await rawServer(async (upstream) => {
        await upstream.until('\r\n\r\n')
        upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
        const piece = Buffer.alloc(256 * 1024, 'x')
        const more = () => {
          while (written < size) {
            written += piece.length
            if (!upstream.socket.write(piece)) break
          }
        }
        upstream.socket.on('drain', more)
        more()
      })
      const stack = await startStack({ upstream: server.port, sockets })
      const client = await rawClient(stack.port)
      client.socket.pause()
      const before = process.memoryUsage().arrayBuffers
      client.send(GET)
      for (let last = -1; last !== written || written === 0; ) {
        last = written
        await turns(200)
      }
      // What the kernel holds for four sockets on this machine, not what the gateway buffers.
      ok(written < 24 * 1024 * 1024, `${written} bytes were taken`)
      ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024)
      let received = 0
      client.socket.removeAllListeners('data')
      client.socket.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      client.socket.resume()
      await client.untilEnd()
      ok(received > size)
      client.close()
      await stack.recorded(1)
      equal(stack.records[0]?.error, null)
      await turns(5)
      equal(llhttp().memory.busy, 0)
      // A connection keeps its parser: those that are left are idle.
      equal(llhttp().busy, stack.upstream.counts().idle)
      stack.close()
      server.close()
    })

    it('a slow upstream holds the client back, and its upload arrives whole', async () => {
      const size = 64 * 1024 * 1024
      let received = 0
      let goOn = () => {}
      const server = await rawServer((upstream) => {
        upstream.socket.removeAllListeners('data')
        upstream.socket.once('data', (first: Buffer) => {
          received += first.length
          upstream.socket.pause()
          goOn = () => {
            upstream.socket.on('data', (chunk: Buffer) => {
              received += chunk.length
              if (received > size) upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
            })
            upstream.socket.resume()
          }
        })
      })
      const stack = await startStack({ upstream: server.port, sockets })
      const client = await rawClient(stack.port)
      client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`)
      let written = 0
      const piece = Buffer.alloc(256 * 1024, 'x')
      const more = () => {
        while (written < size) {
          written += piece.length
          if (!client.socket.write(piece)) break
        }
      }
      client.socket.on('drain', more)
      more()
      for (let last = -1; last !== written || received === 0; ) {
        last = written
        await turns(200)
      }
      ok(written < 24 * 1024 * 1024, `${written} bytes were taken`)
      goOn()
      deepEqual(statuses(await client.untilEnd()), [200])
      equal(stack.records[0]?.bytesReceived, size)
      client.close()
      await turns(5)
      equal(llhttp().memory.busy, 0)
      stack.close()
      server.close()
    })
  })
}
