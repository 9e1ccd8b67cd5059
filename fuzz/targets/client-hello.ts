/**
 * A ClientHello: more bytes never change an answer, its name is a host name, and the same message in
 * records of other sizes gives the same answer.
 */
import assert from 'node:assert/strict'
import { isHostName } from '#engine/http/authority.ts'
import { CLIENT_HELLO_BYTES_MAX, readClientHello } from '#engine/http/client-hello.ts'

export const name = 'client-hello'

export const dictionary = [
  '\x16\x03\x01',
  '\x01\x00',
  '\x00\x00\x00',
  '\x00\x10\x00',
  '\x00\x00\x00\x0a\x00\x08\x00\x00\x05a.com',
  '\x00\x10\x00\x05\x00\x03\x02h2',
  'PROXY ',
  'GET / HTTP/1.1'
]

/** Prefixes that are tried: the work grows with their square. */
const PREFIXES_MAX = 600

export function run(data: Buffer): void {
  const whole = readClientHello(data, 0, data.length)
  if (whole === 'more') assert.ok(data.length < CLIENT_HELLO_BYTES_MAX)
  const step = Math.max(1, Math.floor(data.length / PREFIXES_MAX))
  let known: ReturnType<typeof readClientHello> = 'more'
  for (let end = 0; end <= data.length; end += step) {
    const read = readClientHello(data, 0, end)
    if (known !== 'more') assert.deepEqual(read, known, `${end}`)
    known = read
  }
  if (known !== 'more') assert.deepEqual(whole, known)
  if (typeof whole === 'string') return
  assert.ok(whole.serverName === '' || (isHostName(whole.serverName) && !/[A-Z]/.test(whole.serverName)))
  assert.ok(whole.alpn.length <= 32 && !whole.alpn.includes(''))
  const message = messageOf(data)
  for (const size of [300, message.length])
    if (message.length / size < 64) {
      const padded = Buffer.concat([Buffer.from('??'), inRecords(message, size), Buffer.from('more')])
      assert.deepEqual(readClientHello(padded, 2, padded.length), whole)
    }
}

/** The handshake message at the beginning of good records. */
function messageOf(data: Buffer): Buffer {
  const parts: Buffer[] = []
  let bytes = 0
  for (let at = 0; ; ) {
    const size = data.readUInt16BE(at + 3)
    parts.push(data.subarray(at + 5, at + 5 + size))
    bytes += size
    at += 5 + size
    if (bytes < 4) continue
    const length = 4 + Buffer.concat(parts).readUIntBE(1, 3)
    if (bytes >= length) return Buffer.concat(parts).subarray(0, length)
  }
}

function inRecords(message: Buffer, size: number): Buffer {
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(records)
}
