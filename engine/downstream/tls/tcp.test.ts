/**
 * One port of TLS with all that may share it: HTTPS, TLS that ends in front of TCP, TLS that is passed on; with curl,
 * openssl and nginx.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { startNginx } from '#engine/testing/daemon.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { freePort } from '#engine/testing/program.ts'
import { systemProgram } from '#engine/testing/system-programs.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'weir-tls-tcp-'))
after(() => rmSync(folder, { recursive: true }))

const put = (name: string, { cert, key }: Pair): void => {
  writeFileSync(join(folder, `${name}.pem`), cert)
  writeFileSync(join(folder, `${name}.key`), key)
}
const clients = authority('clients')
const robot = clients.issue('/CN=robot', ['DNS:robot.test'])
put('web', selfSigned(['web.test']))
put('ends', selfSigned(['ends.test', 'mutual.test']))
put('own', selfSigned(['x.own.test']))
put('robot', robot)
writeFileSync(join(folder, 'clients.pem'), clients.cert)

interface Ports {
  /** Says back what it hears. */
  readonly echo: number
  /** nginx, clear text. */
  readonly clear: number
  /** nginx, with a certificate of its own. */
  readonly secure: number
}

const fileOf = ({ echo, clear, secure }: Ports, ends = 'tls: { cert: ends.pem, key: ends.key }') => `

binds:
- port: 0
  listeners:
  - name: web
    hostname: web.test
    protocol: HTTPS
    tls: { cert: web.pem, key: web.key }
    routes: [{ policies: { directResponse: { status: 200, body: web } } }]
  - name: ends
    hostname: "*.ends.test"
    protocol: TLS
    ${ends}
    tcpRoutes:
    - { name: echo, hostnames: [echo.ends.test], backends: [{ host: "127.0.0.1:${echo}" }] }
    - { name: nginx, hostnames: [nginx.ends.test], backends: [{ host: "127.0.0.1:${clear}" }] }
    - name: told
      hostnames: [told.ends.test]
      backends: [{ host: "127.0.0.1:${echo}", policies: { tcp: { proxyProtocol: v1 } } }]
  - name: mutual
    hostname: mutual.test
    protocol: TLS
    tls: { cert: ends.pem, key: ends.key, root: clients.pem, minTLSVersion: TLS_V1_3 }
    tcpRoutes: [{ backends: [{ host: "127.0.0.1:${echo}" }] }]
  - name: passes
    hostname: "*.own.test"
    protocol: TLS
    tcpRoutes: [{ backends: [{ host: "127.0.0.1:${secure}" }] }]
`

async function serve(t: { after(run: () => void): void }): Promise<number> {
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as net.AddressInfo).port
}

const curl = async (port: number, name: string, ...args: string[]): Promise<string> => {
  const to = ['--connect-to', `${name}:443:127.0.0.1:${port}`]
  return (await run('curl', ['-sk', '--max-time', '10', ...to, ...args, `https://${name}/`])).stdout
}

/** openssl s_client, which says `text`; all that both programs print. Fails are part of it. */
async function openssl(port: number, name: string, text: string, ...args: string[]): Promise<string> {
  const client = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', name, '-ign_eof', ...args]
  const child = execFile(systemProgram('openssl'), client)
  let received = ''
  const heard = (chunk: string) => {
    received += chunk
    // Its own word is there and back: it may go.
    if (text !== '' && received.includes(text)) child.stdin!.end()
  }
  child.stdout!.on('data', heard)
  child.stderr!.on('data', heard)
  // One that was refused has gone before it could be written to.
  child.stdin!.on('error', () => {})
  child.stdin!.write(text)
  const killed = setInterval(() => {
    if (text !== '' && received.includes(text)) child.kill()
  }, 20)
  await once(child, 'close')
  clearInterval(killed)
  return received
}

function dial(port: number, servername: string, options: tls.ConnectionOptions = {}): tls.TLSSocket {
  const socket = tls.connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false, ...options })
  // What fails is waited for where it matters.
  socket.on('error', () => {})
  return socket
}

const codeOf = async (socket: tls.TLSSocket): Promise<string> =>
  String(((await once(socket, 'error')) as [NodeJS.ErrnoException])[0].code)

describe('a port of HTTPS, of TLS that ends in front of TCP, and of TLS that is passed on', () => {
  let gateway: TestGateway
  let ports: Ports
  const log = join(folder, 'access.log')
  const ends: (() => unknown)[] = []
  const host = { after: (end: () => unknown) => void ends.unshift(end) }

  before(async () => {
    const [echo, clear, secure] = [await serve(host), await freePort(), await freePort()]
    ports = { echo, clear, secure }
    const own = `ssl_certificate ${folder}/own.pem; ssl_certificate_key ${folder}/own.key;`
    const say = (what: string) => `location / { return 200 "${what} $server_protocol $host\\n"; }`
    await startNginx(
      host as TestContext,
      secure,
      `http { server { listen 127.0.0.1:${clear}; ${say('clear')} }
        server { listen 127.0.0.1:${secure} ssl http2; ${own} ${say('secure')} } }`
    )
    gateway = await startGateway(fileOf(ports), { folder, log: { format: 'text', fd: openSync(log, 'w') } })
  })
  after(async () => {
    await gateway.close()
    for (const end of ends) await end()
  })

  /** The first line with that, waited for. */
  const line = async (what: RegExp): Promise<string> => {
    for (;;) {
      const found = readFileSync(log, 'utf8')
        .split('\n')
        .find((text) => what.test(text))
      if (found !== undefined) return found
      await turn()
    }
  }

  test('each connection gets what its name asks for', async () => {
    assert.equal(await curl(gateway.port, 'web.test', '-w', ' %{http_version}'), 'web 2')
    // No ALPN is agreed, so curl speaks HTTP/1.1; the certificate is the gateway's.
    assert.equal(
      await curl(gateway.port, 'nginx.ends.test', '-w', '%{http_version}'),
      'clear HTTP/1.1 nginx.ends.test\n1.1'
    )
    // Everything, ALPN too, is agreed with nginx.
    assert.equal(await curl(gateway.port, 'x.own.test', '-w', '%{http_version}'), 'secure HTTP/2.0 x.own.test\n2')
    assert.equal(
      await curl(gateway.port, 'web.test', '-H', 'Host: a.ends.test', '-o', '/dev/null', '-w', '%{http_code}'),
      '421'
    )
    const { port, cert } = { port: gateway.port, cert: readFileSync(join(folder, 'own.pem'), 'utf8') }
    const passed = dial(port, 'y.own.test', {
      ca: cert,
      rejectUnauthorized: true,
      checkServerIdentity: () => undefined
    })
    await once(passed, 'secureConnect')
    passed.destroy()
    assert.match(
      await line(/listener=ends route=nginx /),
      /tls\.sni=nginx\.ends\.test protocol=tcp bytes\.in=\d+ bytes\.out=\d+/
    )
    assert.match(await line(/listener=passes /), /tls\.sni=x\.own\.test/)
  })

  for (const version of ['-tls1_2', '-tls1_3'])
    test(`openssl s_client ${version} talks to a server that knows no TLS`, async () => {
      const output = await openssl(gateway.port, 'echo.ends.test', 'a word of its own\n', version, '-alpn', 'h2,imap')
      assert.match(output, /subject=.*CN ?= ?ends\.test/)
      assert.match(output, /a word of its own/)
      assert.match(output, /No ALPN negotiated/)
      assert.match(output, /New, TLSv1\.[23], Cipher is/)
    })

  test('32 MB there and back, and each half ends on its own', async () => {
    const socket = dial(gateway.port, 'echo.ends.test', { allowHalfOpen: true } as tls.ConnectionOptions)
    const piece = Buffer.alloc(1 << 20, 'x')
    let heard = 0
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.length
    })
    const ended = once(socket, 'end')
    for (let i = 0; i < 32; i++) if (!socket.write(piece)) await once(socket, 'drain')
    socket.end()
    await ended
    assert.equal(heard, 32 << 20)
    await line(/route=echo .*bytes\.in=33554432 bytes\.out=33554432/)
  })

  test('sessions go on, and a client is named to the backend', async () => {
    const first = dial(gateway.port, 'told.ends.test')
    let session: Buffer | undefined
    first.on('session', (latest: Buffer) => {
      session = latest
    })
    first.write('hello')
    const [bytes] = (await once(first, 'data')) as [Buffer]
    assert.match(bytes.toString(), new RegExp(`^PROXY TCP4 127\\.0\\.0\\.1 127\\.0\\.0\\.1 ${first.localPort} `))
    while (session === undefined) await turn()
    first.destroy()
    const second = dial(gateway.port, 'told.ends.test', { session })
    second.write('hello')
    await once(second, 'data')
    assert.equal(second.isSessionReused(), true)
    second.destroy()
    assert.match(gateway.metrics(), /weir_tls_handshakes_total\{[^}]*result="resumed"[^}]*\} 1\b/)
  })

  test('refused connections, and their records', async () => {
    assert.match(await codeOf(dial(gateway.port, 'nobody.test')), /UNRECOGNIZED_NAME/)
    await line(/tls\.sni=nobody\.test .*reason=LISTENER_NOT_FOUND/)
    // Said before anything is agreed.
    assert.match(await codeOf(dial(gateway.port, 'z.ends.test')), /UNRECOGNIZED_NAME/)
    await line(/listener=ends .*tls\.sni=z\.ends\.test .*reason=ROUTE_NOT_FOUND/)
    const socket = net.connect(gateway.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.match(answer.toString(), /^HTTP\/1\.1 400 .*https:\/\/\n$/s)
    await line(/reason=BAD_CLIENT_HELLO/)
    assert.match(await openssl(gateway.port, 'mutual.test', ''), /certificate required/)
    await line(/listener=mutual .*tls\.sni=mutual\.test .*error="?\S*DID_NOT_RETURN_A_CERTIFICATE"? reason=TLS_FAILURE/)
    const pair = ['-cert', join(folder, 'robot.pem'), '-key', join(folder, 'robot.key')]
    assert.match(await openssl(gateway.port, 'mutual.test', 'let me in\n', ...pair), /let me in/)
    // HTTPS has no record of connections: its requests have.
    const old = dial(gateway.port, 'web.test', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })
    await codeOf(old)
    assert.doesNotMatch(readFileSync(log, 'utf8'), /tls\.sni=web\.test.*reason=TLS_FAILURE/)
  })

  test('a reload turns TLS that ends into TLS that is passed on; what is open goes on', async () => {
    const open = dial(gateway.port, 'echo.ends.test')
    await once(open, 'secureConnect')
    await gateway.reload(fileOf({ ...ports, echo: ports.secure }, ''))
    const passed = dial(gateway.port, 'echo.ends.test')
    await once(passed, 'secureConnect')
    assert.equal(passed.getPeerX509Certificate()!.subject, 'CN=x.own.test')
    passed.destroy()
    open.write('still here')
    const [bytes] = (await once(open, 'data')) as [Buffer]
    assert.equal(bytes.toString(), 'still here')
    open.destroy()
    await gateway.reload(fileOf(ports))
    assert.match(await openssl(gateway.port, 'echo.ends.test', 'once more\n'), /CN ?= ?ends\.test/)
  })
})
