import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rawClient, rawServer } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'
import { ConnectionLimiter, clientsMax } from './connection-limiter.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

for (const sockets of ['handles', 'net'] as const) {
  describe(`more clients than there may be, over ${sockets}`, () => {
    it('the connection that has been idle longest is closed, and none with an exchange under way', async () => {
      const server = await rawServer((upstream) => {
        upstream.until('GET').catch(() => undefined)
      })
      const stack = await startStack({ upstream: server.port, sockets, clientsMax: 3 })
      const served = await rawClient(stack.port)
      served.send(GET)
      while (server.accepted() === 0) await new Promise((resolve) => setImmediate(resolve))
      const [first, second] = [await rawClient(stack.port), await rawClient(stack.port)]
      const third = await rawClient(stack.port)
      assert.equal(await first.untilEnd(), '')
      const fourth = await rawClient(stack.port)
      assert.equal(await second.untilEnd(), '')
      for (const socket of server.sockets) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      await served.until('ok')
      assert.deepEqual([third.ended, fourth.ended, stack.bind.connections()], [false, false, 3])
      assert.deepEqual(stack.evicted, ['idle', 'idle'])
      for (const client of [served, first, second, third, fourth]) client.close()
      stack.close()
      server.close()
    })

    it('a client that was served and is idle gives way', async () => {
      const server = await rawServer(async (upstream) => {
        await upstream.until('GET')
        upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
      const stack = await startStack({ upstream: server.port, sockets, clientsMax: 1 })
      const idle = await rawClient(stack.port)
      idle.send(GET)
      await idle.until('ok')
      const late = await rawClient(stack.port)
      await idle.untilEnd()
      assert.deepEqual([late.ended, stack.bind.connections()], [false, 1])
      for (const client of [idle, late]) client.close()
      stack.close()
      server.close()
    })

    it('when everybody is being served the newcomer leaves', async () => {
      const server = await rawServer((upstream) => {
        upstream.until('GET').catch(() => undefined)
      })
      const stack = await startStack({ upstream: server.port, sockets, clientsMax: 1 })
      const served = await rawClient(stack.port)
      served.send(GET)
      while (server.accepted() === 0) await new Promise((resolve) => setImmediate(resolve))
      const late = await rawClient(stack.port)
      assert.equal(await late.untilEnd(), '')
      assert.deepEqual([served.ended, stack.bind.connections()], [false, 1])
      assert.deepEqual(stack.evicted, ['newcomer'])
      for (const client of [served, late]) client.close()
      stack.close()
      server.close()
    })
  })
}

it('workers share three quarters of the descriptors that the program does not need itself', () => {
  assert.equal(clientsMax(2, 1024), 360)
  assert.equal(clientsMax(64, 256), 16)
  assert.ok(clientsMax(1) > 0)
})

it('looks at a bounded number of connections, over all binds', () => {
  const limiter = new ConnectionLimiter(1)
  let looks = 0
  let cuts = 0
  const busy = () => ({
    closeIfIdle() {
      looks++
      return false
    },
    forceClose: () => cuts++
  })
  const [one, two] = [new Set([busy(), busy()]), new Set([busy()])]
  limiter.add(one)
  limiter.add(two)
  const newcomer = busy()
  two.add(newcomer)
  limiter.admit(newcomer)
  assert.equal(cuts, 1)
  assert.ok(looks > 0 && looks <= 64, String(looks))
})
