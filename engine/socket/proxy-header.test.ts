import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ProxyVersions, readProxyHeader, writeProxyHeader } from './proxy-header.ts'

function read(text: string | Buffer, versions: ProxyVersions = 'all'): ReturnType<typeof readProxyHeader> {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text
  return readProxyHeader(bytes, 0, bytes.length, versions)
}

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'
const V4 = '\xc0\x00\x02\x01\x0a\x00\x00\x01\x1f\x90\x01\xbb'

test('version 1', () => {
  const line = 'PROXY TCP4 192.0.2.1 10.0.0.1 8080 443\r\n'
  assert.deepEqual(read(`${line}GET`), { end: line.length, source: { address: '192.0.2.1', port: 8080 } })
  for (let end = 0; end < line.length; end++) assert.equal(read(line.slice(0, end)), 'more', `${end}`)
  const v6 = read('PROXY TCP6 2001:DB8::1 ::1 1 65535\r\n')
  assert.deepEqual(v6, { end: 36, source: { address: '2001:db8::1', port: 1 } })
  assert.deepEqual(read('PROXY UNKNOWN\r\n'), { end: 15, source: null })
  assert.deepEqual(read('PROXY UNKNOWN ffff::1 a b c\r\n'), { end: 29, source: null })
  const longest = `PROXY UNKNOWN ${'f'.repeat(91)}\r\n`
  assert.deepEqual(read(longest), { end: 107, source: null })
})

test('version 1, broken', () => {
  const broken = [
    'PROXY TCP4 192.0.2.1 10.0.0.1 8080\r\n',
    'PROXY TCP4 192.0.2.1 10.0.0.1 8080 443 1\r\n',
    'PROXY TCP4  192.0.2.1 10.0.0.1 8080 443\r\n',
    'PROXY TCP4 ::1 ::1 8080 443\r\n',
    'PROXY TCP4 192.0.2.1 10.0.0.256 1 2\r\n',
    'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n',
    'PROXY TCP4 192.0.2.1 10.0.0.1 08 443\r\n',
    'PROXY TCP4 192.0.2.1 10.0.0.1 65536 443\r\n',
    'PROXY UDP4 192.0.2.1 10.0.0.1 1 2\r\n',
    'PROXY \r\n',
    'PROXY UNKNOWN\rx',
    `PROXY UNKNOWN ${'f'.repeat(92)}\r\n`,
    `PROXY UNKNOWN ${'f'.repeat(200)}`
  ]
  for (const line of broken) assert.equal(read(line), 'malformed', line)
})

test('version 2', () => {
  const header = `${SIGNATURE}\x21\x11\x00\x0c${V4}`
  assert.deepEqual(read(`${header}more`), { end: 28, source: { address: '192.0.2.1', port: 8080 } })
  for (let end = 0; end < header.length; end++) assert.equal(read(header.slice(0, end)), 'more', `${end}`)
  // TLVs are passed over: here one of type NOOP.
  assert.deepEqual(read(`${SIGNATURE}\x21\x11\x00\x11${V4}\x04\x00\x02ab`), {
    end: 33,
    source: { address: '192.0.2.1', port: 8080 }
  })
  const mapped = `${'\0'.repeat(10)}\xff\xff\x01\x02\x03\x04`
  const v6 = `\x20\x01\x0d\xb8${'\0'.repeat(11)}\x01`
  assert.deepEqual(read(`${SIGNATURE}\x21\x21\x00\x24${v6}${v6}\x00\x01\x00\x02`), {
    end: 52,
    source: { address: '2001:db8::1', port: 1 }
  })
  assert.deepEqual(read(`${SIGNATURE}\x21\x21\x00\x24${mapped}${v6}\x00\x01\x00\x02`), {
    end: 52,
    source: { address: '1.2.3.4', port: 1 }
  })
})

test('version 2 without an address: LOCAL, no family, unix sockets, datagrams', () => {
  assert.deepEqual(read(`${SIGNATURE}\x20\x00\x00\x00`), { end: 16, source: null })
  assert.deepEqual(read(`${SIGNATURE}\x20\x11\x00\x0c${V4}`), { end: 28, source: null })
  assert.deepEqual(read(`${SIGNATURE}\x21\x00\x00\x02ab`), { end: 18, source: null })
  assert.deepEqual(read(`${SIGNATURE}\x21\x31\x00\xd8${'a'.repeat(216)}`), { end: 232, source: null })
  assert.deepEqual(read(`${SIGNATURE}\x21\x12\x00\x0c${V4}`), { end: 28, source: null })
})

test('version 2, broken', () => {
  assert.equal(read(`${SIGNATURE}\x11`), 'malformed')
  assert.equal(read(`${SIGNATURE}\x22`), 'malformed')
  assert.equal(read(`${SIGNATURE}\x21\x41`), 'malformed')
  assert.equal(read(`${SIGNATURE}\x21\x13`), 'malformed')
  assert.equal(read(`${SIGNATURE}\x21\x11\x00\x0b`), 'malformed')
  assert.equal(read(`${SIGNATURE}\x21\x21\x00\x23`), 'malformed')
  assert.equal(read(`${SIGNATURE}\x21\x11\x0f\xf1`), 'too-long')
  assert.equal(read(`${SIGNATURE}\x21\x11\x0f\xf0`), 'more')
})

test('other bytes, and versions that are not accepted', () => {
  for (const text of ['GET /', 'POST /', 'PRI * ', '\x16\x03\x01', '\r\nGET', '\0']) assert.equal(read(text), 'none')
  assert.equal(read(''), 'more')
  assert.equal(read('PROXY UNKNOWN\r\n', 'v2'), 'version')
  assert.equal(read(`${SIGNATURE}\x20\x00\x00\x00`, 'v1'), 'version')
  assert.deepEqual(read('PROXY UNKNOWN\r\n', 'v1'), { end: 15, source: null })
  assert.deepEqual(read(`${SIGNATURE}\x20\x00\x00\x00`, 'v2'), { end: 16, source: null })
})

test('a written header is read back', () => {
  const ends = (remoteAddress: string, localAddress: string) => ({
    ...{ remoteAddress, localAddress, remotePort: 65_535, localPort: 1 }
  })
  assert.equal(writeProxyHeader('v1', ends('192.0.2.1', '10.0.0.1')), 'PROXY TCP4 192.0.2.1 10.0.0.1 65535 1\r\n')
  assert.equal(
    writeProxyHeader('v1', ends('192.0.2.1', 'fe80::1%eth0')),
    'PROXY TCP6 ::ffff:192.0.2.1 fe80::1 65535 1\r\n'
  )
  assert.equal(writeProxyHeader('v1', ends('', '')), 'PROXY UNKNOWN\r\n')
  assert.equal(writeProxyHeader('v2', ends('', '')), `${SIGNATURE}\x21\x00\x00\x00`)
  const addresses = ['192.0.2.1', '::1', '2001:db8::1', '1:2:3:4:5:6:7:8', '1::8', 'a:0:0:b::c', '::2:3']
  for (const version of ['v1', 'v2'] as const) {
    for (const address of addresses) {
      for (const local of ['10.0.0.1', '2001:db8::2']) {
        const text = writeProxyHeader(version, ends(address, local))
        const known = read(text)
        assert.ok(typeof known === 'object' && known.end === text.length, address)
        const isMapped = version === 'v1' && local !== '10.0.0.1' && address === '192.0.2.1'
        assert.deepEqual(known.source, { address: isMapped ? `::ffff:${address}` : address, port: 65_535 })
      }
    }
  }
})
