/** Requests and answers of the gateway's own, over real sockets. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Call, CallEvents, InProcess } from '#engine/contract/in-process.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import { inProcess } from './in-process.ts'

describe('calls of the gateway', () => {
  let stack: Stack
  let lent: InProcess
  let upstream: Awaited<ReturnType<typeof rawServer>>
  let answer: (peer: Awaited<ReturnType<typeof rawClient>>) => void = () => {}

  before(async () => {
    upstream = await rawServer((peer) => answer(peer as never))
    stack = await startStack({ upstream: upstream.port })
    lent = inProcess({ events: stack.lifecycle, upstream: stack.upstream, timers: stack.lifecycle.timers })
  })
  after(() => {
    stack.close()
    upstream.close()
  })

  /** Calls, and gives what was told until the end. */
  function call(
    timeoutMs: number,
    heard: (call: Call, received: string[]) => void = () => {},
    field = 'text/plain',
    path = '/a'
  ): Promise<string[]> {
    const received: string[] = []
    return new Promise((resolve) => {
      const events: CallEvents = {
        head: (status) => void received.push(String(status)),
        body(chunk, start, end) {
          received.push(chunk.latin1Slice(start, end))
          heard(started, received)
          return true
        },
        end() {
          received.push('end')
          resolve(received)
        },
        failed(code) {
          received.push(code)
          resolve(received)
        }
      }
      const headers = new HeaderBlock()
      headers.append('Content-Type', field)
      const request = { method: 'POST', path, query: '?b=1', headers, body: Buffer.from('hello'), timeoutMs }
      const started = lent.call(stack.endpoint, request, events)
    })
  }

  it('go out whole, and their answers come piece by piece', async () => {
    answer = async (peer) => {
      const request = await peer.until('hello')
      match(request, /^POST \/a\?b=1 HTTP\/1\.1\r\n/)
      match(request, /\r\nContent-Length: 5\r\n/)
      match(request, /\r\nhost: /i)
      peer.send('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')
    }
    deepEqual(await call(0), ['200', 'ok', 'end'])
  })

  it('that break off within the answer, or get none, fail once', async () => {
    answer = async (peer) => {
      await peer.until('hello')
      peer.send('HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok')
      peer.close()
    }
    match((await call(0)).join(), /^200,ok,UPSTREAM_(?:CLOSED|RESET)$/)
    answer = async (peer) => {
      await peer.until('hello')
      peer.close()
    }
    equal((await call(0)).length, 1)
  })

  it('end with their time', async () => {
    answer = () => {}
    deepEqual(await call(50), ['UPSTREAM_TIMEOUT'])
  })

  it('never carry a field or a path that would be two lines', async () => {
    let seen = false
    answer = () => {
      seen = true
    }
    deepEqual(await call(0, () => {}, 'a\r\nX-Smuggled: 1'), ['INTERNAL'])
    deepEqual(await call(0, () => {}, 'text/plain', '/a HTTP/1.1\r\nX-Smuggled: 1\r\n'), ['INTERNAL'])
    equal(seen, false)
  })

  it('can be abandoned: the server sees it, and no event follows', async () => {
    const gone = Promise.withResolvers<void>()
    answer = async (peer) => {
      await peer.until('hello')
      peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n')
      await peer.untilEnd()
      gone.resolve()
    }
    const all: string[] = []
    void call(0, (started, received) => {
      started.abort()
      all.push(...received)
    })
    await gone.promise
    deepEqual(all, ['200', 'ok'])
  })
})

describe('answers of the gateway', () => {
  async function start(write: (own: ReturnType<InProcess['answer']>) => void, gone = () => {}) {
    const upstream = await rawServer(() => {})
    const lent = (): InProcess =>
      inProcess({ events: stack.lifecycle, upstream: stack.upstream, timers: stack.lifecycle.timers })
    const stack: Stack = await startStack({
      upstream: upstream.port,
      serve: (ex) => {
        const headers = new HeaderBlock()
        headers.append('Content-Type', 'text/event-stream')
        write(lent().answer(ex, 200, headers, { writable() {}, gone }))
      }
    })
    return { stack, upstream }
  }

  it('leave as they are written', async () => {
    const { stack, upstream } = await start((own) => {
      own.write(Buffer.from('data: 1\n\n'))
      setImmediate(() => {
        own.write(Buffer.from('data: 2\n\n'))
        own.end()
      })
    })
    const text = await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
    match(text, /^HTTP\/1\.1 200 OK\r\n/)
    match(text, /data: 1\n\n[\s\S]*data: 2\n\n[\s\S]*0\r\n\r\n$/)
    stack.close()
    upstream.close()
  })

  it('hear that the client has left', async () => {
    const gone = Promise.withResolvers<void>()
    const { stack, upstream } = await start((own) => void own.write(Buffer.from('data: 1\n\n')), gone.resolve)
    const client = await rawClient(stack.port)
    client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await client.until('data: 1')
    client.close()
    await gone.promise
    stack.close()
    upstream.close()
  })
})
