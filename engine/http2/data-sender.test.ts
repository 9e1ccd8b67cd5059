/** Windows of a connection of HTTP/2, and the streams that wait for them. */
import { deepEqual, ok } from 'node:assert/strict'
import { it } from 'node:test'
import type { Wire } from '#engine/socket/wire.ts'
import { DataSender, type SendingStream } from './data-sender.ts'
import { DEFAULT_WINDOW } from './protocol.ts'

it('a byte of window wakes one of many, in turn', () => {
  const wire = { congested: false, write() {}, writeBytes() {} } as unknown as Wire
  const sender = new DataSender(wire, 1)
  const byte = Buffer.from('a')
  const served: number[] = []
  let looks = 0
  const streamOf = (id: number): SendingStream => ({
    id,
    sendWindow: DEFAULT_WINDOW,
    get hasUnsent() {
      looks++
      return true
    },
    sendPending() {
      if (sender.sendFrame(this, byte, 0, 1, null) > 0) served.push(id)
    },
    onSent() {}
  })
  const waiting = Array.from({ length: 1000 }, (_, id) => streamOf(id))
  sender.send(streamOf(-1), Buffer.alloc(DEFAULT_WINDOW), 0, DEFAULT_WINDOW, null)
  for (const stream of waiting) sender.wait(stream)
  for (let i = 0; i < 1001; i++) {
    sender.window++
    sender.flush()
  }
  ok(looks < 3000, `${looks} looks`)
  deepEqual(served, [...waiting.keys(), 0])
})
