/** TLS towards upstreams, through the whole path: a real server, certificates made by openssl. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { statuses } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'
import { systemProgram } from '#engine/testing/system-programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-tls-'))
after(() => rmSync(folder, { recursive: true }))

/** A certificate that signs itself, for `name`. */
function certificate(name: string): { key: string; cert: string } {
  const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1']
  execFileSync(systemProgram('openssl'), ['req', '-x509', ...options, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'ignore'
  })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

const own = certificate('api.test')

async function startServer(): Promise<{
  server: Server
  port: number
  names: unknown[]
  resumed: boolean[]
  requested: string[]
}> {
  const names: unknown[] = []
  const resumed: boolean[] = []
  const requested: string[] = []
  const server = createServer(own, (request, response) => {
    requested.push(request.url ?? '')
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => response.end(`${request.headers.host} ${Buffer.concat(chunks).length}`))
  })
  server.on('secureConnection', (socket: TLSSocket & { servername: unknown }) => {
    names.push(socket.servername)
    resumed.push(socket.isSessionReused())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port, names, resumed, requested }
}

for (const sockets of ['handles', 'net'] as const) {
  test(`requests and bodies pass over TLS, and the next connection resumes the session (${sockets})`, async () => {
    const { server, port, names, resumed } = await startServer()
    const tls = { serverName: 'api.test', ca: own.cert }
    const stack = await startStack({ upstream: port, sockets, tls, requestsPerConnectionMax: 1 })
    const body = 'x'.repeat(300_000)
    const post = `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
    for (let i = 0; i < 3; i++) match(await exchangeRaw(stack.port, post), /a\.test 300000$/)
    deepEqual(names, ['api.test', 'api.test', 'api.test'])
    ok(resumed.slice(1).some(Boolean), `resumed: ${resumed}`)
    stack.close()
    server.close()
  })
}

test('a certificate for another name, and one of an unknown authority, are refused', async () => {
  const { server, port, requested } = await startServer()
  const get = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
  for (const tls of [
    { serverName: 'other.test', ca: own.cert },
    { serverName: 'api.test', ca: null }
  ]) {
    const stack = await startStack({ upstream: port, tls })
    deepEqual(statuses(await exchangeRaw(stack.port, get)), [502])
    equal(stack.records[0]?.error, 'UPSTREAM_TLS')
    stack.close()
  }
  // The handshake may be over for the server; what it gets is nothing.
  deepEqual(requested, [])
  server.close()
})
