/** The end of a splice that uWebSockets.js frames: what waits for a slow server. */
import { equal, ok } from 'node:assert/strict'
import { it } from 'node:test'
import type { SpliceEnd } from '#engine/contract/transport.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { WebSocket } from './library.ts'
import { type WebSocketData, WebSocketEnd } from './websocket.ts'

it('many small messages for a server that does not read are passed on in few pieces', () => {
  const MESSAGES = 50_000
  let isFull = true
  let sends = 0
  let bytes = 0
  const server: SpliceEnd = {
    bytes: 0,
    join() {},
    send(_chunk, start, end) {
      sends++
      bytes += end - start
      return !isFull
    },
    finish() {},
    abort() {},
    resume() {}
  }
  const end = new WebSocketEnd(new TimerWheel())
  end.onOpen({ end() {}, close() {} } as unknown as WebSocket<WebSocketData>)
  end.join(server, () => {})
  const message = new Uint8Array([1]).buffer
  for (let i = 0; i < MESSAGES; i++) end.onClientMessage(message, true)
  equal(sends, 1)
  isFull = false
  end.resume()
  equal(bytes, end.bytes)
  ok(sends < 100, `${sends} pieces`)
})
