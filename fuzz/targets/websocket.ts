/** The frame decoder: any bytes, cut anywhere, give the same messages, and never more bytes than came in. */
import assert from 'node:assert/strict'
import { FrameDecoder, type FrameHandler, isCloseCode, NO_STATUS } from '#engine/http/websocket.ts'

export const name = 'websocket'

class Watcher implements FrameHandler {
  record = ''
  bytes = 0
  #isOpen = false
  #isClosed = false

  onMessage(isText: boolean, chunk: Buffer, start: number, end: number, first: boolean, last: boolean): void {
    assert.ok(start <= end && end <= chunk.length && !this.#isClosed)
    assert.equal(first, !this.#isOpen)
    this.#isOpen = !last
    this.bytes += end - start
    if (first) this.record += isText ? 'T' : 'B'
    this.record += chunk.toString('latin1', start, end)
    if (last) this.record += '.'
  }

  onPing(payload: Buffer): void {
    assert.ok(payload.length <= 125 && !this.#isClosed)
    this.bytes += payload.length
    this.record += `P${payload.toString('latin1')}.`
  }

  onClose(code: number, reason: Buffer): void {
    assert.ok(!this.#isClosed && (code === NO_STATUS || isCloseCode(code)))
    this.#isClosed = true
    this.record += `C${code}${reason.toString('latin1')}`
  }
}

function decode(data: Buffer, size: number): string {
  const watcher = new Watcher()
  const decoder = new FrameDecoder(watcher)
  for (let at = 0; at < data.length; at += size) decoder.execute(data, at, Math.min(at + size, data.length))
  assert.ok(watcher.bytes <= data.length)
  return `${watcher.record}!${decoder.fault}`
}

export function run(data: Buffer): void {
  const whole = decode(data, Math.max(data.length, 1))
  for (const size of [1, 3, 64]) assert.equal(decode(data, size), whole)
}
