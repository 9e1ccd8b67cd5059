/** Client certificates that do not pass: each client is told by an alert, and nothing else is sent behind it. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, connect as tcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { promisify } from 'node:util'
import type { Bind } from '#engine/ir/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { alertOf, NO_CERTIFICATE } from '#engine/socket/tls-refusal.ts'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import { resultOf } from './handshake.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'weir-client-certificate-'))
after(() => rmSync(folder, { recursive: true }))

const own = selfSigned(['b.test'])
const clients = authority('clients')
const good = clients.issue('/CN=good')
const stranger = authority('x').issue('/CN=stranger')
const refused = { stranger, expired: clients.issue('/CN=old', [], -1), selfSigned: selfSigned(['self']) }
const SAYS = { stranger: 'unknown ca', expired: 'certificate expired', selfSigned: 'unknown ca' }
const CODES = {
  stranger: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  expired: 'CERT_HAS_EXPIRED',
  selfSigned: 'DEPTH_ZERO_SELF_SIGNED_CERT'
}
const SUITES = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']
const GET = 'GET / HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n'

const tls = { cert: own.cert, key: secret(own.key), clientCa: clients.cert }
const open = { minVersion: null, maxVersion: null, cipherSuites: null }
const listeners: Bind['listeners'] = [
  {
    ...{ name: 'a', hostname: '*', protocol: 'HTTPS', tls: { ...tls, ...open } },
    ...{ routes: [], tcpRoutes: [], policies: {}, preRouting: {} }
  }
]

/** What a client of that certificate reads, or the words of its error. It sends its request at once. */
async function get(port: number, pair: Pair, extra: ConnectionOptions): Promise<string> {
  const options = { host: '127.0.0.1', port, servername: 'b.test', rejectUnauthorized: false, ...pair, ...extra }
  const socket = connect(options)
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk
  })
  socket.on('error', (error) => {
    received += error.message
  })
  socket.write(GET)
  await new Promise((resolve) => socket.once('close', resolve))
  return received
}

/** Kinds and lengths of the records that a client gets through a connection between, and whether an end came. */
async function recordsOf(port: number, options: ConnectionOptions): Promise<{ records: string[]; hasEnded: boolean }> {
  let bytes = Buffer.alloc(0)
  let hasEnded = false
  const between = createServer((client) => {
    const server = tcp(port, '127.0.0.1')
    client.on('error', () => client.destroy()).pipe(server)
    server.on('error', () => server.destroy())
    server.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      client.write(chunk)
    })
    server.on('end', () => {
      hasEnded = true
      client.end()
    })
  }).listen(0, '127.0.0.1')
  await once(between, 'listening')
  await get((between.address() as AddressInfo).port, stranger, options)
  await new Promise((resolve) => between.close(resolve))
  const records: string[] = []
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt16BE(at + 3))
    records.push(`${bytes[at]} ${bytes.readUInt16BE(at + 3)}`)
  return { records, hasEnded }
}

for (const sockets of ['handles', 'net'] as const) {
  describe(`client certificates, ${sockets}`, () => {
    let stack: Stack
    before(async () => {
      stack = await startStack({ upstream: 1, sockets, listeners, refuse: () => 'ROUTE_NOT_FOUND' })
    })
    after(() => stack.close())

    for (const [version, ciphers] of [
      ['TLSv1.2', undefined],
      ...SUITES.map((suite) => ['TLSv1.3', suite] as const)
    ] as const) {
      it(`the alert says what is wrong, ${ciphers ?? version}`, async () => {
        const options: ConnectionOptions = { minVersion: version, maxVersion: version, ...(ciphers && { ciphers }) }
        for (const kind of ['stranger', 'expired', 'selfSigned'] as const) {
          match(await get(stack.port, refused[kind], options), new RegExp(`alert ${SAYS[kind]}`), kind)
          const { result, detail } = stack.handshakes.at(-1)!
          deepEqual([result, detail], ['client_certificate', CODES[kind]])
          match(await get(stack.port, good, options), /^HTTP\/1\.1 404 /, 'others are served')
        }
      })
    }

    it('a client without a certificate gets the alert for that', async () => {
      match(await get(stack.port, {} as Pair, { maxVersion: 'TLSv1.2' }), /alert handshake failure/)
      match(await get(stack.port, {} as Pair, {}), /alert number 116/)
      ok(
        stack.handshakes
          .slice(-2)
          .every(({ result, detail }) => `${result} ${detail}` === `client_certificate ${NO_CERTIFICATE}`)
      )
    })

    it('nothing follows the alert: no session, no second record under its nonce', async () => {
      const old = await recordsOf(stack.port, { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })
      equal(old.records.at(-1), '21 2')
      ok(!old.records.includes('20 1'), 'the server has not changed its cipher')
      const fresh = await recordsOf(stack.port, { minVersion: 'TLSv1.3' })
      deepEqual(
        fresh.records.slice(1).map((record) => record.slice(0, 2)),
        ['20', '23', '23', '23', '23', '23', '23']
      )
      equal(fresh.records.at(-1), '23 19')
      deepEqual([old.hasEnded, fresh.hasEnded], [true, true])
    })

    it('curl and openssl show it to their users', async () => {
      const [cert, key] = [join(folder, 'stranger.pem'), join(folder, 'stranger.key')]
      writeFileSync(cert, stranger.cert)
      writeFileSync(key, stranger.key)
      const { port } = stack
      for (const version of ['2', '3']) {
        const name = ['--resolve', `b.test:${port}:127.0.0.1`, '--cert', cert, '--key', key]
        const args = ['-sSk', `--tlsv1.${version}`, '--tls-max', `1.${version}`, ...name, `https://b.test:${port}/`]
        for (let i = 0; i < 5; i++) {
          const output = await run('curl', args).catch((error: { stderr: string }) => error)
          match(output.stderr, /alert unknown ca/)
        }
        const at = `-connect 127.0.0.1:${port} -servername b.test -tls1_${version} -cert ${cert} -key ${key}`
        const shell = await run('sh', [
          '-c',
          `(printf 'GET / HTTP/1.1\\r\\n'; cat) </dev/zero | openssl s_client ${at} 2>&1 || true`
        ])
        match(shell.stdout, /alert unknown ca/)
      }
    })
  })
}

it('a code that is not known is an alert too, and every code of X.509 is counted as one', () => {
  deepEqual([alertOf('HOSTNAME_MISMATCH'), alertOf('toString'), alertOf('CERT_REVOKED')], [46, 46, 44])
  for (const code of ['CERT_HAS_EXPIRED', 'ERROR_IN_CERT_NOT_AFTER_FIELD', 'UNSPECIFIED'])
    equal(resultOf(code), 'client_certificate')
  deepEqual([resultOf('ERR_SSL_WRONG_VERSION_NUMBER'), resultOf('EPROTO')], ['failed', 'failed'])
})

// The last of this file: its alerts keep their sockets, and for a second behind it clients are refused without a word.
it('a flood of them is bounded, and others are served', async (t) => {
  const stack = await startStack({ upstream: 1, listeners, refuse: () => 'ROUTE_NOT_FOUND' })
  // However long the handshakes take, no socket behind an alert is free again.
  const now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const all = await Promise.all(Array.from({ length: 200 }, () => get(stack.port, stranger, {})))
  equal(all.filter((text) => /^HTTP/.test(text)).length, 0)
  const alerted = all.filter((text) => /alert unknown ca/.test(text)).length
  ok(alerted > 50 && alerted <= 128, `${alerted} were told`)
  ok(stack.handshakes.every(({ result }) => result === 'client_certificate'))
  match(await get(stack.port, good, {}), /^HTTP\/1\.1 404 /)
  stack.close()
})
