/** Frames of HTTP/2: any bytes, cut anywhere, give the same frames and the same end, and little is kept of them. */
import assert from 'node:assert/strict'
import { type FrameHandler, FrameReader } from '#engine/http2/frame-reader.ts'
import { PeerSettings } from '#engine/http2/settings.ts'

export const name = 'h2'

export const dictionary = [
  '\0\0\0\x04\0\0\0\0\0',
  '\0\0\0\x04\x01\0\0\0\0',
  '\0\0\x08\x06\0\0\0\0\0',
  '\0\0\x04\x08\0\0\0\0\x01',
  '\0\0\x05\x02\0\0\0\0\x01',
  '\0\0\x01\x01\x05\0\0\0\x01\x82',
  '\0\0\x01\x01\0\0\0\0\x01\x82',
  '\0\0\x01\x09\x04\0\0\0\x01\x82',
  '\0\0\x05\0\x08\0\0\0\x01',
  '\0\0\x08\x07\0\0\0\0\0'
]

const BLOCK_MAX = 512

class Watcher implements FrameHandler {
  record = ''
  bytes = 0
  #flow = 0
  readonly #settings = new PeerSettings()

  onHeaders(stream: number, endStream: boolean, bytes: Buffer, start: number, end: number): number {
    assert.ok(start <= end && end <= bytes.length && stream > 0 && end - start <= BLOCK_MAX)
    return this.#say(`H${stream} ${endStream} ${bytes.latin1Slice(start, end)}`)
  }

  onData(stream: number, bytes: Buffer, start: number, end: number, flow: number, endStream: boolean): number {
    assert.ok(start <= end && end <= bytes.length && stream > 0 && flow >= end - start)
    this.bytes += flow
    this.#flow += flow
    // Pieces differ; what they add up to does not.
    this.record += bytes.latin1Slice(start, end)
    if (endStream) this.record += `.D${stream} ${this.#flow}`
    return 0
  }

  onSettings(bytes: Buffer, start: number, end: number): number {
    assert.equal((end - start) % 6, 0)
    this.#say(`S${bytes.latin1Slice(start, end)}`)
    return this.#settings.take(bytes, start, end)
  }

  onReset = (stream: number, code: number) => this.#say(`R${stream} ${code}`)
  onSettingsAck = () => this.#say('A')
  onPing = (isAck: boolean, bytes: Buffer, start: number) =>
    this.#say(`P${isAck}${bytes.latin1Slice(start, start + 8)}`)
  onGoaway = (last: number, code: number) => this.#say(`G${last} ${code}`)
  onWindowUpdate = (stream: number, increment: number) => this.#say(`W${stream} ${increment}`)
  onIdle = () => this.#say('I')
  onStreamError = (stream: number, code: number) => this.#say(`E${stream} ${code}`)

  #say(text: string): number {
    this.record += `.${text}.`
    return 0
  }
}

/** In pieces of `size` bytes, and of `work` frames at a time. */
function read(data: Buffer, size: number, work: number): string {
  const watcher = new Watcher()
  const reader = new FrameReader(watcher, 16_384, BLOCK_MAX)
  const greeting = Buffer.from('\0\0\0\x04\0\0\0\0\0', 'latin1')
  reader.execute(greeting, 0, greeting.length)
  let code = 0
  for (let at = 0; at < data.length && code === 0; at += size) {
    const end = Math.min(data.length, at + size)
    let from = at
    do {
      reader.work = work
      code = reader.execute(data, from, end)
      assert.ok(code !== 0 || reader.stoppedAt > from)
      from = reader.stoppedAt
    } while (code === 0 && from < end)
    assert.ok(reader.heldBytes <= 2 * BLOCK_MAX)
  }
  assert.ok(watcher.bytes <= data.length)
  return `${watcher.record}!${code}`
}

export function run(data: Buffer): void {
  const all = Math.max(data.length, 1)
  const whole = read(data, all, Number.POSITIVE_INFINITY)
  for (const size of [1, 3, 9, 64]) assert.equal(read(data, size, Number.POSITIVE_INFINITY), whole)
  for (const work of [1, 3]) assert.equal(read(data, all, work), whole)
}
