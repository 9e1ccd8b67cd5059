/** Room on a connection of HTTP/2, and those who wait for it. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { Allowance } from '#engine/http2/allowance.ts'
import { DEFAULT_WINDOW } from '#engine/http2/protocol.ts'
import { PeerSettings } from '#engine/http2/settings.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { Http2Sender } from './sender.ts'
import type { Http2UpstreamStream } from './stream.ts'

it('a byte of room wakes one of many, in turn', () => {
  const wire = { congested: false, write() {}, writeBytes() {} } as unknown as Wire
  const sender = new Http2Sender(wire, new PeerSettings(), 'http', new Allowance(1000, 100, 0))
  const byte = Buffer.from('a')
  const served: number[] = []
  let looks = 0
  const waiting = Array.from({ length: 1000 }, (_, id) => {
    const stream = {
      id,
      isQueued: false,
      isOver: false,
      flush() {
        looks++
        if (sender.window > 0) {
          served.push(id)
          sender.data(id, byte, 0, 1, null)
        }
        sender.waitForWindow(stream)
      }
    } as unknown as Http2UpstreamStream
    return stream
  })
  sender.data(1, Buffer.alloc(DEFAULT_WINDOW), 0, DEFAULT_WINDOW, null)
  for (const stream of waiting) sender.waitForWindow(stream)
  for (let i = 0; i < 1001; i++) equal(sender.widen(1), true)
  ok(looks < 2000, `${looks} looks`)
  deepEqual(served, [...waiting.keys(), 0])
})
