/** A kept connection that dies under a request: what may be sent once more, and what must not be. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const post = (more: string) => `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n${more}`
const SIZED = post('Content-Length: 5\r\n\r\nhello')
const CHUNKED = post('Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n')
const LONG = post(`Content-Length: 6000\r\n\r\n${'x'.repeat(6_000)}`)
const LARGE = post(`Content-Length: 40000\r\n\r\n${'x'.repeat(40_000)}`)

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

interface Case {
  readonly stack: Stack
  /** What the server has read on its connections, the first GET on the first one left out. */
  readonly heard: string[]
  /** Sends `request` in the round in which the kept connection ends. */
  race(request: string, how: 'end' | 'resetAndDestroy'): Promise<string>
  close(): void
}

/** A gateway with one idle connection to a server. `dies`: the server ends it on the second request, not before. */
async function start(sockets: 'handles' | 'net', dies: boolean): Promise<Case> {
  const heard: string[] = []
  const connections: RawClient[] = []
  const server = await rawServer((upstream) => {
    const n = connections.push(upstream) - 1
    let answered = 0
    upstream.socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1')
      if (n > 0 || answered > 0) heard[n] = (heard[n] ?? '') + text
      if (n === 0 && answered > 0 && dies) upstream.socket.resetAndDestroy()
      else if (/\r\n\r\n(hello|5\r\nhello\r\n0\r\n\r\n|x{6000}|x{40000})?$/.test(heard[n] ?? text)) upstream.send(OK)
      answered++
    })
  })
  const stack = await startStack({ upstream: server.port, sockets })
  deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
  return {
    stack,
    heard,
    async race(request, how) {
      const client = await rawClient(stack.port)
      // Until the gateway reads from it: then what follows is two events of one poll, in this order.
      while (stack.connections.opened < 2) await turn()
      await turn()
      await turn()
      client.send(request)
      connections[0]!.socket[how]()
      return client.untilEnd()
    },
    close() {
      stack.close()
      server.close()
    }
  }
}

for (const sockets of ['handles', 'net'] as const) {
  describe(`connections that die when they are reused, over ${sockets}`, () => {
    for (const [name, request] of [
      ['a POST without body', post('Content-Length: 0\r\n\r\n')],
      ['a POST whose short body waits with its head', SIZED],
      ['a POST whose longer body waits with its head', LONG]
    ] as const) {
      for (const how of ['end', 'resetAndDestroy'] as const) {
        it(`${name} is repeated when nothing of it has left: ${how}`, async () => {
          const { stack, heard, race, close } = await start(sockets, false)
          const answer = await race(request, how)
          close()
          // Over node:net a body leaves at once, so that nobody knows how much of it has arrived.
          const isRepeated = sockets === 'handles' || request.endsWith('\r\n\r\n')
          deepEqual([statuses(answer), stack.records[1]?.attempts], isRepeated ? [[200], 2] : [[502], 1])
          if (!isRepeated) return
          equal(heard[0], undefined)
          equal(heard[1]!.slice(heard[1]!.indexOf('\r\n\r\n')), request.slice(request.indexOf('\r\n\r\n')))
        })
      }
    }

    for (const [name, request] of [
      ['with a short body', SIZED],
      ['in chunks', CHUNKED],
      ['with a body that leaves at once', LARGE]
    ] as const) {
      it(`a POST ${name} is not when it may have arrived`, async () => {
        const { stack, heard, close } = await start(sockets, true)
        deepEqual(statuses(await exchangeRaw(stack.port, request)), [502])
        close()
        deepEqual([stack.records[1]?.attempts, heard.length], [1, 1])
      })
    }
  })
}
