import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientEvents } from '#engine/contract/exchange-events.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import type { Bind } from '#engine/ir/snapshot.ts'
import type { KeepAlive, SocketLayer } from '#engine/socket/socket-layer.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { FRONTEND } from '#engine/testing/stack.ts'
import { ConnectionLimiter } from './connection-limiter.ts'
import { openBind } from './listen.ts'

test('a reload changes the keepalive of the connections that come after it', async () => {
  const keepalives: KeepAlive[] = []
  const sockets: SocketLayer = {
    kind: 'net',
    listen(port, keepalive) {
      keepalives.push(keepalive)
      return Promise.resolve({ port, close() {} })
    },
    connect: () => assert.fail('nothing is dialled'),
    startTls: () => assert.fail('nothing speaks TLS')
  }
  const spec: Bind = { port: 1, listeners: [], transport: 'node' }
  const bind = await openBind(spec, {
    events: {} as ClientEvents,
    llhttp: llhttp(),
    sockets,
    timers: new TimerWheel(),
    frontend: FRONTEND,
    observer: { opened() {}, closed() {}, handshake() {} },
    limiter: new ConnectionLimiter(1),
    secret: new Uint8Array(32)
  })
  assert.deepEqual(keepalives, [{ timeMs: FRONTEND.tcp.keepalive.timeMs }])
  bind.prepare({ ...FRONTEND, tcp: { keepalive: { timeMs: 7_000 } } }, spec)()
  assert.deepEqual(keepalives, [{ timeMs: 7_000 }])
})
