import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { systemProgram } from '#engine/testing/system-programs.ts'
import { CLIENT_HELLO_BYTES_MAX, readClientHello } from './client-hello.ts'

/** What a client says first to a server that listens and says nothing. */
async function firstBytes(t: TestContext, connect: (port: number) => () => void): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const end = connect((server.address() as net.AddressInfo).port)
  const [socket] = (await once(server, 'connection')) as [net.Socket]
  let bytes = Buffer.alloc(0)
  while (readClientHello(bytes, 0, bytes.length) === 'more')
    bytes = Buffer.concat([bytes, ((await once(socket, 'data')) as [Buffer])[0]])
  end()
  socket.destroy()
  return bytes
}

function fromOpenssl(t: TestContext, ...args: readonly string[]): Promise<Buffer> {
  return firstBytes(t, (port) => {
    const child = spawn(systemProgram('openssl'), ['s_client', '-connect', `127.0.0.1:${port}`, ...args], {
      stdio: 'ignore'
    })
    return () => child.kill()
  })
}

function fromNode(t: TestContext, options: tls.ConnectionOptions): Promise<Buffer> {
  return firstBytes(t, (port) => {
    const socket = tls.connect({ port, host: '127.0.0.1', ...options }).on('error', () => socket.destroy())
    return () => socket.destroy()
  })
}

function read(bytes: Buffer): ReturnType<typeof readClientHello> {
  return readClientHello(bytes, 0, bytes.length)
}

const nameList = (name: string): Buffer => {
  const text = Buffer.from(name, 'latin1')
  return extension(0, Buffer.concat([u16(text.length + 3), Buffer.from([0]), u16(text.length), text]))
}
const u16 = (n: number): Buffer => Buffer.from([n >> 8, n & 255])
const extension = (type: number, data: Buffer): Buffer => Buffer.concat([u16(type), u16(data.length), data])
const record = (part: Buffer): Buffer => Buffer.concat([Buffer.from([22, 3, 1]), u16(part.length), part])

/** A handshake message of type ClientHello with these extensions. */
function message(extensions: Buffer | null): Buffer {
  const head = Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32, 7), Buffer.from([0, 0, 2, 0x13, 1, 1, 0])])
  const body = extensions === null ? head : Buffer.concat([head, u16(extensions.length), extensions])
  return Buffer.concat([Buffer.from([1, 0]), u16(body.length), body])
}

test('ClientHello of openssl s_client', async (t) => {
  const bytes = await fromOpenssl(t, '-servername', 'Api.Example.COM', '-alpn', 'h2,http/1.1')
  assert.deepEqual(read(bytes), { serverName: 'api.example.com', alpn: ['h2', 'http/1.1'] })
  assert.deepEqual(read(await fromOpenssl(t, '-noservername')), { serverName: '', alpn: [] })
  const old = await fromOpenssl(t, '-tls1_2', '-servername', 'a.test')
  assert.deepEqual(read(old), { serverName: 'a.test', alpn: [] })
})

test('ClientHello of node:tls: whole, byte by byte, and in every cut into records', async (t) => {
  const bytes = await fromNode(t, { servername: 'node.example', ALPNProtocols: ['h2'] })
  const expected = { serverName: 'node.example', alpn: ['h2'] }
  for (let end = 0; end < bytes.length; end++) assert.equal(readClientHello(bytes, 0, end), 'more')
  assert.deepEqual(read(bytes), expected)
  const handshake = bytes.subarray(5)
  for (let cut = 1; cut < handshake.length; cut++) {
    const whole = Buffer.concat([record(handshake.subarray(0, cut)), record(handshake.subarray(cut))])
    assert.deepEqual(read(whole), expected)
    assert.equal(readClientHello(whole, 0, whole.length - 1), 'more')
  }
  // Its place in memory does not matter, nor what lies behind it.
  assert.deepEqual(
    readClientHello(Buffer.concat([Buffer.alloc(9), bytes, Buffer.alloc(9)]), 9, 18 + bytes.length),
    expected
  )
})

test('a message without extensions', () => {
  assert.deepEqual(read(record(message(null))), { serverName: '', alpn: [] })
})

test('other protocols are distinguished from a ClientHello', () => {
  const cases: readonly (readonly [string | readonly number[], string])[] = [
    ['GET / HTTP/1.1\r\n', 'http'],
    ['PUT', 'http'],
    ['PRI * HTTP/2.0', 'http'],
    ['PRO', 'more'],
    ['PROXY TCP4', 'proxy'],
    ['PROPFIND /', 'http'],
    ['\r\n\r\n\0\r\nQUIT\n', 'proxy'],
    ['SSH-2.0-x', 'http'],
    [[21, 3, 1, 0, 2, 2, 40], 'alert'],
    [[0x80, 0x2e, 1, 0, 2], 'sslv2'],
    [[0x80, 0x2e], 'more'],
    [[0x80, 0x2e, 9], 'not-tls'],
    [[0], 'not-tls'],
    [[22, 2], 'not-tls'],
    [[22, 3, 1, 0, 0], 'malformed'],
    [[22, 3, 1, 0x40, 1], 'malformed'],
    [[22, 3, 1, 0, 4, 2], 'malformed'],
    [[22, 3, 1, 0, 4, 1, 1, 0, 0], 'too-long'],
    [[22, 3, 1, 0, 5, 1, 0, 0x40, 1, 9], 'too-long'],
    [[22, 3, 1, 0, 4, 1, 0, 0, 0], 'malformed']
  ]
  for (const [input, expected] of cases)
    assert.equal(read(Buffer.from(input as string, 'latin1')), expected, `${input}`)
})

test('server names that are none', () => {
  for (const name of ['a b', '::1', 'a..b', 'a:443', '*.a', '-a', 'é', 'a\0b', '.', '..', 'x'.repeat(254)])
    assert.equal(read(record(message(nameList(name)))), 'bad-server-name', name)
  for (const name of ['a', 'A.b.', 'x_y.internal', '192.0.2.1', 'xn--mnchen-3ya.de', 'x'.repeat(253)]) {
    const expected = name.toLowerCase().replace(/\.$/, '')
    assert.deepEqual(read(record(message(nameList(name)))), { serverName: expected, alpn: [] })
  }
})

test('broken extensions', () => {
  const sni = nameList('a.test')
  const broken = [
    nameList(''),
    Buffer.concat([sni, sni]),
    extension(0, Buffer.from([0, 0, 0])),
    extension(0, Buffer.concat([u16(8), Buffer.from([0, 0, 1, 97, 0, 0, 1, 98])])),
    extension(16, Buffer.from([0, 2, 0, 0])),
    extension(16, Buffer.from([0, 2, 5, 97])),
    extension(16, Buffer.from([0, 0])),
    Buffer.from([0, 0, 0]),
    Buffer.from([0, 99, 0, 9, 1])
  ]
  for (const bytes of broken) assert.equal(read(record(message(bytes))), 'malformed', bytes.toString('hex'))
  // An unknown type of name is skipped.
  const odd = extension(0, Buffer.concat([u16(8), Buffer.from([9, 0, 1, 97, 0, 0, 1, 98])]))
  assert.deepEqual(read(record(message(odd))), { serverName: 'b', alpn: [] })
  const many = Buffer.concat([u16(80), Buffer.from('\x01a'.repeat(40), 'latin1')])
  const result = read(record(message(extension(16, many))))
  assert.ok(typeof result === 'object' && result.alpn.length === 32)
})

test('the bounds: 16 KiB and 64 records', () => {
  const fill = (bytes: number): Buffer => extension(21, Buffer.alloc(bytes))
  const largest = message(fill(16_384 - 41 - 2 - 4))
  assert.equal(largest.length, 4 + 16_384)
  const cut = Buffer.concat([record(largest.subarray(0, 16_384)), record(largest.subarray(16_384))])
  assert.deepEqual(read(cut), { serverName: '', alpn: [] })
  const small = message(fill(400))
  const inParts = (size: number): Buffer => {
    const parts: Buffer[] = []
    for (let at = 0; at < small.length; at += size) parts.push(record(small.subarray(at, at + size)))
    return Buffer.concat(parts)
  }
  assert.deepEqual(read(inParts(Math.ceil(small.length / 64))), { serverName: '', alpn: [] })
  assert.equal(read(inParts(1)), 'too-long')
  assert.ok(cut.length <= CLIENT_HELLO_BYTES_MAX)
})

test('another record between the parts of the message', () => {
  const whole = message(nameList('a.test'))
  const alert = Buffer.from([21, 3, 3, 0, 2, 1, 0])
  assert.equal(read(Buffer.concat([record(whole.subarray(0, 9)), alert, record(whole.subarray(9))])), 'malformed')
})
