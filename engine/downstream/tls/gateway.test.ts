/** Listeners of TLS in a whole gateway: names, certificates, schemes, identities; with node:tls, curl and openssl. */
import { deepEqual, equal, fail, match, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { systemProgram } from '#engine/testing/system-programs.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'weir-tls-gateway-'))
const path = (name: string) => join(folder, name)
const put = (name: string, { cert, key }: Pair) => {
  writeFileSync(path(`${name}.pem`), cert)
  writeFileSync(path(`${name}.key`), key)
}
const a = selfSigned(['a.test', '*.wild.test', 'localhost'])
const b = selfSigned(['b.test'], 'rsa')
const clients = authority('clients')
const SAYS = (text: string) => `policies: { directResponse: { status: 200, body: ${JSON.stringify(text)} } }`
const FILE = `
binds:
- port: 0
  listeners:
  - { name: a, hostname: a.test, protocol: HTTPS, tls: { cert: a.pem, key: a.key }, routes: [{ ${SAYS('a')} }] }
  - name: wild
    hostname: '*.wild.test'
    protocol: HTTPS
    tls: { cert: a.pem, key: a.key, minTLSVersion: TLS_V1_3 }
    routes:
    - matches: [{ path: { pathPrefix: /go } }]
      policies: { requestRedirect: { hostname: other.test } }
    - matches: [{ headers: [{ name: ':scheme', value: { exact: https } }] }]
      policies:
        transformations:
          response: { set: { x-facts: "request.scheme + ' ' + request.uri + ' ' + destination.hostname" } }
        directResponse: { status: 200, body: wild }
  - name: mutual
    hostname: b.test
    protocol: HTTPS
    tls: { cert: b.pem, key: b.key, root: clients.pem }
    routes:
    - policies:
        transformations:
          response:
            set:
              x-who: >-
                source.identity.serviceAccount + '|' + source.subjectCn + '|' + source.issuer + '|' + source.subject
                + '|' + source.spiffeId + '|' + source.subjectAltNames[0]
        directResponse: { status: 200, body: mutual }
`

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** A request of its own connection; `host` where it is not that of SNI. */
function get(port: number, servername: string, options: ConnectionOptions & { host?: string; path?: string } = {}) {
  const { host = servername, path: at = '/', ...tls } = options
  return new Promise<Answer>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername, rejectUnauthorized: false, agent: false, ...tls }
    const sent = request({ ...options, path: at, headers: { Host: host } }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      answer.on('end', () => resolve({ status: answer.statusCode!, body, headers: answer.headers }))
    })
    sent.on('error', reject).end()
  })
}

function dial(port: number, servername: string, options: ConnectionOptions = {}): TLSSocket {
  const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false, ...options })
  // What fails is waited for where it matters.
  socket.on('error', () => {})
  return socket
}

const failure = async (socket: TLSSocket): Promise<string> => {
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  return error.code ?? ''
}

describe('listeners of TLS', () => {
  const secret = randomBytes(32)
  let gateway: TestGateway
  let log = 0
  before(async () => {
    put('a', a)
    put('b', b)
    writeFileSync(path('clients.pem'), clients.cert)
    log = openSync(path('log'), 'a')
    gateway = await startGateway(FILE, { folder, secret, log: { format: 'json', fd: log } })
  })
  after(async () => {
    await gateway.close()
    closeSync(log)
    rmSync(folder, { recursive: true })
  })

  it('chooses the listener by the name in the ClientHello, and serves its own hosts only', async () => {
    equal((await get(gateway.port, 'a.test')).body, 'a')
    equal((await get(gateway.port, 'x.wild.test')).body, 'wild')
    const other = await get(gateway.port, 'a.test', { host: 'x.wild.test' })
    deepEqual([other.status, other.body], [421, 'this TLS connection was made for another host\n'])
    const unknown = await get(gateway.port, 'a.test', { host: 'nobody.test' })
    deepEqual([unknown.status, unknown.body], [421, 'this TLS connection was made for another host\n'])
    match(await failure(dial(gateway.port, 'nobody.test')), /UNRECOGNIZED_NAME/)
    match(await failure(dial(gateway.port, '')), /UNRECOGNIZED_NAME/)
    match(await failure(dial(gateway.port, 'x.wild.test', { maxVersion: 'TLSv1.2' })), /PROTOCOL_VERSION/)
  })

  it('says https wherever a URL of its own is made', async () => {
    const { headers } = await get(gateway.port, 'x.wild.test', { path: '/p?q=1' })
    equal(headers['x-facts'], 'https https://x.wild.test/p?q=1 x.wild.test')
    const to = await get(gateway.port, 'x.wild.test', { path: '/go/on' })
    equal(to.headers.location, 'https://other.test/go/on')
  })

  it('asks for certificates where the listener has a root, and tells expressions whose they are', async () => {
    const robot = clients.issue('/O=Weir, Ltd/CN=robot', ['URI:spiffe://td/ns/shop/sa/cart', 'DNS:r.test'])
    const { body, headers } = await get(gateway.port, 'b.test', robot)
    equal(body, 'mutual')
    const identity =
      'cart|robot|CN=clients|CN=robot,O=Weir\\, Ltd|spiffe://td/ns/shop/sa/cart|spiffe://td/ns/shop/sa/cart'
    equal(headers['x-who'], identity)
    match(await failure(dial(gateway.port, 'b.test', { maxVersion: 'TLSv1.2' })), /HANDSHAKE_FAILURE|ECONNRESET/)
    const stranger = dial(gateway.port, 'b.test', authority('x').issue('/CN=robot'))
    stranger.on('data', () => fail('a stranger got an answer'))
    stranger.write('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n')
    await new Promise((resolve) => stranger.on('close', resolve))
    const line = await logged((found) => found['tls.sni'] === 'b.test')
    equal(line['src.identity'], 'spiffe://td/ns/shop/sa/cart')
  })

  it('tells a client without a certificate by an alert, also one that has sent its request by then', async () => {
    const { port } = gateway
    const args = ['-sSk', '--tlsv1.3', '--resolve', `b.test:${port}:127.0.0.1`, `https://b.test:${port}/`]
    for (let i = 0; i < 10; i++) {
      const output = await run('curl', args).catch((error: { stderr: string }) => error)
      match(output.stderr, /alert certificate required/)
    }
  })

  it('answers clear-text HTTP in clear text, and ends what is no TLS', async () => {
    const answer = await exchangeRaw(gateway.port, 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    match(answer, /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*this port speaks TLS: use https:\/\/\n$/)
    equal(await exchangeRaw(gateway.port, 'SSH-2.0-x\r\n').then((text) => text.length < 400), true)
    equal(await exchangeRaw(gateway.port, '\x00\x01\x02'), '')
    equal(await exchangeRaw(gateway.port, '\x16\x03\x01\x00\x04\x02\x00\x00\x00'), '\x15\x03\x03\x00\x02\x02\x32')
  })

  it('counts handshakes by how they end, and times those that succeed', async () => {
    const text = gateway.metrics()
    for (const result of ['ok', 'no_listener', 'no_agreement', 'client_certificate', 'clear_text_http', 'not_tls']) {
      match(text, new RegExp(`weir_tls_handshakes_total\\{[^}]*result="${result}"[^}]*\\} [1-9]`), result)
    }
    match(text, /tls_handshake_duration_seconds_count\{[^}]*\} [1-9]/)
  })

  it('serves curl and openssl, of both versions', async () => {
    for (const version of ['1.2', '1.3']) {
      const to = ['--resolve', `a.test:${gateway.port}:127.0.0.1`, '--cacert', path('a.pem'), `--tlsv${version}`]
      const curl = await run('curl', ['-sS', '--tls-max', version, ...to, `https://a.test:${gateway.port}/`])
      equal(curl.stdout, 'a')
    }
    const suite = ['-tls1_2', '-cipher', 'AES128-SHA']
    const weak = await openssl(gateway.port, 'a.test', suite, '').catch((error: Error) => error.message)
    match(String(weak), /handshake failure|alert/)
  })

  it('resumes sessions of openssl, after a reload too, and on another worker of the same secret', async () => {
    const twin = await startGateway(FILE, { folder, secret })
    for (const version of ['-tls1_2', '-tls1_3']) {
      const ticket = path(`ticket${version}`)
      const http = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
      match(await openssl(gateway.port, 'a.test', [version, '-sess_out', ticket], http), /New, TLSv1\.[23]/)
      match(await openssl(gateway.port, 'a.test', [version, '-sess_in', ticket], http), /Reused, TLSv1\.[23]/)
      match(await openssl(twin.port, 'a.test', [version, '-sess_in', ticket], http), /Reused, TLSv1\.[23]/)
      await gateway.reload(FILE)
      match(await openssl(gateway.port, 'a.test', [version, '-sess_in', ticket], http), /Reused, TLSv1\.[23]/)
    }
    await twin.close()
  })

  it('refuses to renegotiate', async () => {
    const socket = dial(gateway.port, 'a.test', { maxVersion: 'TLSv1.2' })
    await once(socket, 'secureConnect')
    const outcome = new Promise<string>((resolve) => {
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
      socket.renegotiate({}, (error) =>
        resolve(error === null ? 'done' : ((error as NodeJS.ErrnoException).code ?? ''))
      )
    })
    match(await outcome, /NO_RENEGOTIATION|ECONNRESET/)
    socket.destroy()
    equal((await get(gateway.port, 'a.test')).body, 'a')
  })

  it('takes new certificates while clients connect, and keeps the connections that it has', async () => {
    const old = dial(gateway.port, 'a.test', { ca: a.cert })
    await once(old, 'secureConnect')
    let isOver = false
    let served = 0
    const client = async (): Promise<void> => {
      while (!isOver) {
        equal((await get(gateway.port, 'a.test')).body, 'a')
        served++
      }
    }
    const load = [client(), client(), client(), client()]
    const fresh = selfSigned(['a.test', 'localhost'])
    for (const pair of [fresh, a, fresh]) {
      const from = served
      put('a', pair)
      await gateway.reload(FILE)
      while (served < from + 20) await new Promise((resolve) => setImmediate(resolve))
    }
    isOver = true
    await Promise.all(load)
    const next = dial(gateway.port, 'a.test')
    await once(next, 'secureConnect')
    equal(next.getPeerX509Certificate()!.toString(), fresh.cert)
    next.destroy()
    old.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
    const [answer] = (await once(old, 'data')) as [Buffer]
    match(answer.toString(), /^HTTP\/1\.1 200/)
    old.destroy()
  })

  it('tells connections that are older than the demand for a certificate to come again', async () => {
    const old = dial(gateway.port, 'a.test')
    const known = dial(gateway.port, 'b.test', clients.issue('/CN=known'))
    const ask = async (socket: TLSSocket, host: string): Promise<string> => {
      socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      return answer.toString().slice(9, 12)
    }
    deepEqual([await ask(old, 'a.test'), await ask(known, 'b.test')], ['200', '200'])
    await gateway.reload(FILE.replace('key: a.key }', 'key: a.key, root: clients.pem }'))
    deepEqual([await ask(old, 'a.test'), await ask(known, 'b.test')], ['421', '200'])
    await gateway.reload(FILE)
    equal(await ask(old, 'a.test'), '200')
    old.destroy()
    known.destroy()
  })

  it('keeps the configuration that it has when the next certificate is no good', async () => {
    writeFileSync(path('a.key'), 'garbage')
    const outcome = await gateway.reload(FILE).then(
      () => 'taken',
      (error: Error) => error.message
    )
    match(outcome, /no private key in PEM/)
    ok(!outcome.includes('garbage'))
    equal((await get(gateway.port, 'a.test')).body, 'a')
    put('a', a)
  })

  it('ends handshakes that are not finished in time, whatever has come of them', async () => {
    const slow = await startGateway(`${FILE}\nfrontendPolicies: { tls: { handshakeTimeout: 300ms } }`, { folder })
    const hello = await helloOf()
    for (const part of ['', hello.slice(0, 50), hello, `${hello}garbage garbage garbage`]) {
      const client = await rawClient(slow.port)
      client.send(part)
      await client.untilEnd()
      client.close()
    }
    match(slow.metrics(), /weir_tls_handshakes_total\{[^}]*result="timeout"[^}]*\} [1-9]/)
    equal((await get(slow.port, 'a.test')).body, 'a')
    await slow.close()
  })

  /** The line of the access log that `isIt`, when it is there. */
  async function logged(isIt: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const lines = readFileSync(path('log'), 'utf8').split('\n').filter(Boolean)
      const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(isIt)
      if (found !== undefined) return found
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
})

/** What a client sends first, in latin1. */
async function helloOf(): Promise<string> {
  const { createServer } = await import('node:net')
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = dial(port, 'a.test')
  const [socket] = (await once(server, 'connection')) as [import('node:net').Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return bytes.toString('latin1')
}

/** What s_client says; `send` goes to the server. */
function openssl(port: number, servername: string, args: readonly string[], send: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', servername, '-ign_eof', ...args]
    const child = execFile(systemProgram('openssl'), options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(stdout + stderr))
    })
    child.stdin!.end(send)
  })
}
