/** HTTPS by uWebSockets.js: certificates by name, new ones while connections go on, no key to be found in a file. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import tls from 'node:tls'
import type { FrontendSettings } from '#engine/ir/frontend.ts'
import type { Bind } from '#engine/ir/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { answering, OK } from '#engine/testing/downstream-support.ts'
import { freePort } from '#engine/testing/program.ts'
import { FRONTEND, type Stack, startStack } from '#engine/testing/stack.ts'
import { UWS_HTTP, UWS_STACK } from '#engine/testing/transports.ts'
import { hasPemFiles, withPemFiles } from './pem-files.ts'

const TLS = { ...FRONTEND.tls, alpn: ['http/1.1'], handshakeTimeoutMs: UWS_HTTP.headTimeoutMs }
const FITTING: FrontendSettings = { ...FRONTEND, http: { ...FRONTEND.http, ...UWS_HTTP }, tcp: UWS_STACK.tcp, tls: TLS }

function listener(hostname: string, { cert, key }: Pair): Bind['listeners'][number] {
  const material = { cert, key: secret(key), clientCa: null, minVersion: null, maxVersion: null, cipherSuites: null }
  const rest = { routes: [], tcpRoutes: [], policies: {}, preRouting: {} }
  return { name: hostname, hostname, protocol: 'HTTPS', tls: material, ...rest }
}

function dial(port: number, servername: string, options: tls.ConnectionOptions = {}): tls.TLSSocket {
  const socket = tls.connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false, ...options })
  // What fails is waited for where it matters.
  socket.on('error', () => {})
  return socket
}

/** The status of an answer. */
async function status(socket: tls.TLSSocket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return answer.toString().slice(9, 12)
}

/** Of a new connection: the subject of the certificate, version, and the status of an answer. */
async function ask(socket: tls.TLSSocket): Promise<string> {
  await once(socket, 'secureConnect')
  // Node knows the certificate for a while only.
  const { subject } = socket.getPeerX509Certificate()!
  return `${subject} ${socket.getProtocol()} ${await status(socket)}`
}

async function open(t: { after(end: () => void): void }, listeners: Bind['listeners']): Promise<Stack> {
  const origin = await answering(OK)
  const port = await freePort()
  const frontend = { tls: TLS }
  const stack = await startStack({ upstream: origin.port, ...UWS_STACK, port, frontend, listeners })
  t.after(() => stack.close())
  return stack
}

describe('HTTPS by uws', () => {
  test('shows the certificate of the name, in TLS 1.2 and 1.3, with suites of the specification', async (t) => {
    const [a, b] = [selfSigned(['a.test']), selfSigned(['b.test'], 'rsa')]
    const { port } = await open(t, [listener('A.test', a), listener('*', b)])
    for (const [name, expected] of [
      ['a.test', 'CN=a.test TLSv1.3 200'],
      ['c.test', 'CN=b.test TLSv1.3 200'],
      ['', 'CN=b.test TLSv1.3 200']
    ] as const) {
      const socket = dial(port, name)
      assert.equal(await ask(socket), expected)
      socket.destroy()
    }
    const older = dial(port, 'a.test', { maxVersion: 'TLSv1.2' })
    assert.equal(await ask(older), 'CN=a.test TLSv1.2 200')
    assert.match(older.getCipher().name, /^ECDHE-ECDSA-.*(GCM|POLY1305)/)
    older.destroy()
    const [refused] = (await once(dial(port, '', { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' }), 'error')) as [Error]
    assert.match(String(refused), /HANDSHAKE_FAILURE|handshake failure/)
  })

  test('without a listener of every host other names get no connection', async (t) => {
    const { port } = await open(t, [listener('a.test', selfSigned(['a.test']))])
    await once(dial(port, 'b.test'), 'error')
    const socket = dial(port, 'a.test')
    assert.equal(await ask(socket), 'CN=a.test TLSv1.3 200')
    socket.destroy()
  })

  test('new certificates are for new connections; those that are open go on; a bad one changes nothing', async (t) => {
    const before = [listener('a.test', selfSigned(['a.test'])), listener('b.test', selfSigned(['b.test']))]
    const stack = await open(t, before)
    const old = dial(stack.port, 'a.test')
    assert.equal(await ask(old), 'CN=a.test TLSv1.3 200')
    const bind = { port: stack.port, transport: 'uws' as const }
    const broken = { cert: selfSigned(['a.test']).cert, key: selfSigned(['a.test']).key }
    assert.throws(
      () => stack.bind.prepare(FITTING, { ...bind, listeners: [before[1]!, listener('a.test', broken)] }),
      /listener a\.test: tls: uWebSockets\.js does not take the certificate/
    )
    const fresh = listener('a.test', selfSigned(['new.test']))
    stack.bind.prepare(FITTING, { ...bind, listeners: [fresh, before[1]!] })()
    // The old socket is closed in a later turn: until then the kernel may give it a connection.
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    for (let i = 0; i < 5; i++) {
      const socket = dial(stack.port, 'a.test')
      assert.equal(await ask(socket), 'CN=new.test TLSv1.3 200')
      socket.destroy()
    }
    assert.equal(await status(old), '200')
    old.destroy()
    while (stack.bind.connections() > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(stack.connections.opened, stack.connections.closed)
  })

  test('texts have paths without being in a folder, and only while they are needed', () => {
    assert.ok(hasPemFiles())
    const seen = withPemFiles(['one', 'two'], (paths) => {
      assert.deepEqual(
        paths.map((path) => readFileSync(path, 'utf8')),
        ['one', 'two']
      )
      assert.deepEqual(
        readdirSync('/dev/shm').filter((name) => name.startsWith('weir-')),
        []
      )
      return paths
    })
    assert.throws(() => withPemFiles(['x'], () => assert.fail('never mind')), /never mind/)
    for (const path of seen) assert.ok(!existsSync(path) || readFileSync(path, 'utf8') !== 'one')
  })
})
