/** A PROXY header: more bytes never change an answer, addresses are literals, and what is read can be written again. */
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { PROXY_HEADER_BYTES_MAX, readProxyHeader, writeProxyHeader } from '#engine/socket/proxy-header.ts'

export const name = 'proxy-header'

export const dictionary = [
  '\r\n\r\n\0\r\nQUIT\n',
  '\x21\x11\x00\x0c',
  '\x21\x21\x00\x24',
  '\x20\x00\x00\x00',
  'PROXY TCP4 ',
  'PROXY TCP6 ',
  'PROXY UNKNOWN',
  '192.0.2.1 ',
  '::ffff:1.2.3.4 ',
  '65535',
  '\r\n'
]

const PREFIXES_MAX = 600

export function run(data: Buffer): void {
  for (const versions of ['all', 'v1', 'v2'] as const) {
    const whole = readProxyHeader(data, 0, data.length, versions)
    if (whole === 'more') assert.ok(data.length < PROXY_HEADER_BYTES_MAX)
    let known: typeof whole = 'more'
    const step = Math.max(1, Math.floor(data.length / PREFIXES_MAX))
    for (let end = 0; end <= data.length; end += step) {
      const read = readProxyHeader(data, 0, end, versions)
      if (known !== 'more') assert.deepEqual(read, known, `${end}`)
      known = read
    }
    if (known !== 'more') assert.deepEqual(whole, known)
    if (typeof whole === 'string') continue
    assert.ok(whole.end <= data.length && whole.end > 0)
    if (whole.source === null) continue
    const { address, port } = whole.source
    assert.ok(isIP(address) !== 0 && port >= 0 && port <= 65_535)
    const ends = { remoteAddress: address, remotePort: port, localAddress: address, localPort: port }
    for (const version of ['v1', 'v2'] as const) {
      const text = Buffer.from(writeProxyHeader(version, ends), 'latin1')
      const again = readProxyHeader(text, 0, text.length, 'all')
      assert.ok(typeof again === 'object' && again.end === text.length && again.source?.port === port)
    }
  }
}
