/**
 * Services that fail in every way that a peer can, for each policy that asks one before the backend: nothing hangs, the
 * failure mode holds, and no stream or connection stays.
 */
import { equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { CheckResponse } from '#engine/proto/generated/envoy/service/auth/v3/external_auth.ts'
import { RateLimitResponse } from '#engine/proto/generated/envoy/service/ratelimit/v3/rls.ts'
import { authority } from '#engine/testing/certificates.ts'
import { answerGrpc, FAULTS, type Fault, grpcService, listening, rawService } from '#engine/testing/faulty-services.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'

interface Kind {
  readonly name: string
  /** The policy, with `more` among its fields. */
  readonly policy: (more: string) => string
  /** Of its refusal when the service cannot be asked. */
  readonly status: number
  /** The message of gRPC that lets pass; null: it asks over HTTP. */
  readonly allows: Uint8Array | null
}

const DESCRIPTOR = `{ entries: [{ name: a, expression: '"b"' }] }`
const ok = { code: 0, message: '', details: [] }
const KINDS: readonly Kind[] = [
  {
    name: 'extAuth over gRPC',
    policy: (more) => `extAuth: { backendRef: { name: service }, grpc: {}, ${more} }`,
    status: 403,
    allows: CheckResponse.encode({ status: ok, httpResponse: undefined, dynamicMetadata: undefined }).finish()
  },
  {
    name: 'extAuth over HTTP',
    policy: (more) => `extAuth: { backendRef: { name: service }, http: {}, ${more} }`,
    status: 403,
    allows: null
  },
  {
    name: 'rateLimit.global',
    policy: (more) =>
      `rateLimit: { global: { backendRef: { name: service }, domain: d, ${more}, descriptors: [${DESCRIPTOR}] } }`,
    status: 500,
    allows: RateLimitResponse.encode({
      overallCode: 1,
      statuses: [],
      responseHeadersToAdd: [],
      requestHeadersToAdd: [],
      rawBody: Buffer.alloc(0),
      dynamicMetadata: undefined,
      quota: undefined
    }).finish()
  }
]

// --- the gateway ---

let origin: Origin
before(async () => {
  origin = await startOrigin((response) => response.end('in'))
})
after(() => origin.close())

const HEAD = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const PROCESS = `workerThreads: 2, connectionTerminationDeadline: 60s,
  adminAddr: "off", statsAddr: "off", readinessAddr: "off"`
const statusOf = (answer: string): number => Number(answer.slice(9, 12))

const configOf = (policy: string, port: number, tls = '', own = 0) => `
backends: [{ name: service, host: "localhost:${port}"${tls} }]
binds:
  - port: ${own}
    listeners:
      - routes:
          - policies: { ${policy} }
            backends: [{ host: "127.0.0.1:${origin.port}" }]
`

async function start(t: TestContext, policy: string, port: number, tls?: string) {
  const gateway = await startGateway(configOf(policy, port, tls))
  let isClosed = false
  const close = async () => {
    if (!isClosed) await gateway.close()
    isClosed = true
  }
  t.after(close)
  return { ...gateway, close, send: () => exchangeRaw(gateway.port, HEAD) }
}

for (const kind of KINDS) {
  const { status, policy, allows } = kind
  const serviceOf = (t: TestContext, { grpc, http }: Pick<Fault, 'grpc' | 'http'>) =>
    allows === null ? rawService(t, http!) : grpcService(t, grpc)

  describe(`${kind.name}: a service that`, () => {
    for (const { timeout = '60s', ...fault } of FAULTS) {
      if (allows === null && fault.http === null) continue
      it(`${fault.name}: refused, or let pass`, async (t) => {
        const service = await serviceOf(t, fault)
        for (const [mode, expected] of [
          ['FailClosed', status],
          ['FailOpen', 200],
          ['{ denyWithStatus: 599 }', 599]
        ] as const) {
          const gateway = await start(t, policy(`timeout: ${timeout}, failureMode: ${mode}`), service.port)
          equal(statusOf(await gateway.send()), expected, mode)
          await service.idle()
        }
      })
    }

    const later = async (t: TestContext) => {
      const answer = Promise.withResolvers<void>()
      const service = await serviceOf(t, {
        grpc: (stream) => void answer.promise.then(() => answerGrpc(stream, allows!)),
        http: (socket) => void answer.promise.then(() => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
      })
      return { service, answer, gateway: await start(t, policy('timeout: 60s'), service.port) }
    }

    it('is asked while another configuration takes its place: its answer counts', async (t) => {
      const { service, answer, gateway } = await later(t)
      const answered = gateway.send()
      await service.arrival
      await gateway.reload(configOf('directResponse: { status: 410 }', service.port))
      answer.resolve()
      match(await answered, /^HTTP\/1\.1 200 [\s\S]*in$/)
      equal(statusOf(await gateway.send()), 410)
      await service.idle()
    })

    it('is asked while two workers drain: the client gets its answer, and the process ends', async (t) => {
      const { service, answer } = await later(t)
      const port = await freePort()
      const config = `config: { ${PROCESS} }`
      const program = runProgram(['-c', `${config}${configOf(policy('timeout: 60s'), service.port, '', port)}`])
      t.after(() => program.stop())
      await program.logged('target=start')
      const answered = exchangeRaw(port, HEAD)
      await service.arrival
      program.signal('SIGTERM')
      await program.logged('SIGTERM: draining')
      answer.resolve()
      match(await answered, /^HTTP\/1\.1 200 [\s\S]*in$/)
      equal(await program.exited(), 0)
      await service.idle()
    })

    it('is asked when the client leaves: the question is given up', async (t) => {
      const { service, gateway } = await later(t)
      const client = await rawClient(gateway.port)
      client.send(HEAD)
      await service.arrival
      client.close()
      await service.idle()
    })
  })
}

describe('a service behind TLS', () => {
  const own = authority('service-authority')
  const other = authority('other-authority')
  const [server, client] = [own.issue('/CN=localhost', ['DNS:localhost']), own.issue('/CN=gateway')]
  const folder = mkdtempSync(join(tmpdir(), 'weir-service-tls-'))
  const file = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const roots = { own: file('own.pem', own.cert), other: file('other.pem', other.cert) }
  const pair = `cert: ${file('client.pem', client.cert)}, key: ${file('client.key', client.key)}`
  after(() => rmSync(folder, { recursive: true }))

  for (const { name, policy, status, allows } of KINDS) {
    it(`${name}: is asked where its certificate holds, and gets one of the gateway`, async (t) => {
      const options = { ...server, ca: own.cert, requestCert: true, rejectUnauthorized: true }
      const https =
        allows === null ? createHttpsServer(options, (_, response) => response.end()) : createSecureServer(options)
      https.on('stream', (stream: ServerHttp2Stream) => answerGrpc(stream, allows!))
      https.on('tlsClientError', () => {})
      https.on('session', (session) => session.on('error', () => {}))
      const port = await listening(t, https as Server)
      for (const [tls, expected] of [
        [`root: ${roots.own}, ${pair}`, 200],
        [`root: ${roots.other}, ${pair}`, status],
        [`root: ${roots.own}, hostname: other.test, ${pair}`, status],
        [`root: ${roots.own}`, status]
      ] as const) {
        const gateway = await start(t, policy('timeout: 60s'), port, `, policies: { tls: { ${tls} } }`)
        equal(statusOf(await gateway.send()), expected, tls)
        await gateway.close()
      }
    })
  }
})
