/** What a service of gRPC is told of a client over TLS, through the whole gateway. */
import { deepEqual } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { authority } from '#engine/testing/certificates.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { useBackend } from './gateway.fixture.ts'
import { allowed, startGrpcAuthorizer } from './services.fixture.ts'

const backend = useBackend()

test('the principals of both certificates and the server name, on a session that goes on too', async (t) => {
  const service = await startGrpcAuthorizer(() => allowed())
  t.after(() => service.close())
  const folder = mkdtempSync(join(tmpdir(), 'weir-over-tls-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const ca = authority('test')
  const own = ca.issue('/CN=gateway', ['DNS:a.test', 'URI:spiffe://td/gateway'])
  for (const [name, text] of Object.entries({ 'own.pem': own.cert, 'own.key': own.key, 'ca.pem': ca.cert }))
    writeFileSync(join(folder, name), text)
  const gateway = await startGateway(
    `
binds:
  - port: 0
    listeners:
      - protocol: HTTPS
        tls: { cert: own.pem, key: own.key, root: ca.pem }
        routes:
          - policies: { extAuth: { host: "127.0.0.1:${service.port}", grpc: {}, timeout: 60s } }
            backends: [{ host: "127.0.0.1:${backend.port}" }]
`,
    { folder }
  )
  t.after(() => gateway.close())
  const client = ca.issue('/O=o/CN=c', ['email:a@b.test', 'DNS:client.test'])
  const options = { ...client, ca: ca.cert, servername: 'a.test', headers: { host: 'a.test' } }
  let session: Buffer | undefined
  const ask = async (): Promise<boolean> => {
    const own = { ...options, port: gateway.port, agent: false as const, session }
    const request = httpsRequest(own)
    request.on('socket', (socket) => socket.on('session', (kept: Buffer) => (session = kept)))
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    request.end()
    const [response] = await answered
    response.resume()
    await once(response, 'end')
    return (request.socket as unknown as { isSessionReused(): boolean }).isSessionReused()
  }
  deepEqual([await ask(), await ask()], [false, true])
  for (const { attributes } of service.requests) {
    const { source, destination, tlsSession } = attributes!
    const values = [source?.principal, destination?.principal, tlsSession?.sni]
    deepEqual(values, ['client.test', 'spiffe://td/gateway', 'a.test'])
  }
})
