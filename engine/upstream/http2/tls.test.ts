/** Which HTTP is spoken over TLS: what is offered, what the server chooses, and what follows from it. */

import { deepEqual, match } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { createServer as createOldServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import type { SpokenHttp } from '#engine/contract/endpoint.ts'
import { Call, type CallOptions } from '#engine/testing/call.ts'
import { startStack } from '#engine/testing/stack.ts'
import { systemProgram } from '#engine/testing/system-programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-h2tls-'))
after(() => rmSync(folder, { recursive: true }))

function certificate(): { key: string; cert: string } {
  const [key, cert] = [join(folder, 'a.key'), join(folder, 'a.pem')]
  const subject = ['-subj', '/CN=api.test', '-addext', 'subjectAltName=DNS:api.test']
  const options = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1']
  execFileSync(systemProgram('openssl'), ['req', '-x509', ...options, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'ignore'
  })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

const own = certificate()
const GET = { method: 'GET', hasBody: false } as const
const GRPC: CallOptions = { headers: [['content-type', 'application/grpc']], hasBody: false }

interface Outcome {
  readonly statuses: number[]
  readonly errors: (string | null)[]
  /** Versions of the requests that the server saw. */
  readonly versions: string[]
}

/** Sends one call after the other to a server that knows both versions, or HTTP/1.1 only. */
async function run(
  calls: readonly CallOptions[],
  version: SpokenHttp['version'],
  isOld = false,
  alpn?: string[]
): Promise<Outcome> {
  const versions: string[] = []
  const serve = (request: { httpVersion: string }, response: { end(text: string): void }): void => {
    versions.push(request.httpVersion)
    response.end('ok')
  }
  const server = isOld
    ? createOldServer({ ...own, ALPNProtocols: ['http/1.1'] }, serve)
    : createSecureServer({ ...own, allowHTTP1: true }, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stack = await startStack({
    upstream: port,
    spoken: { version },
    tls: { serverName: 'api.test', ca: own.cert, ...(alpn && { alpn }) }
  })
  const done: Call[] = []
  for (const options of calls) {
    const call = new Call(stack.lifecycle, options)
    await call.over()
    done.push(call)
  }
  stack.close()
  server.close()
  return { statuses: done.map(({ status }) => status), errors: done.map(({ ex }) => ex.error), versions }
}

test('HTTP/2 of a client is HTTP/2 to a server that agrees; HTTP/1.1 is not offered more', async () => {
  const calls = [GET, GET, { ...GET, httpVersion: '1.1' }]
  const { statuses, versions } = await run(calls, 'auto')
  deepEqual(
    [statuses, versions],
    [
      [200, 200, 200],
      ['2.0', '2.0', '1.1']
    ]
  )
})

test('a server that chooses HTTP/1.1 gets it, and is remembered', async () => {
  const { statuses, versions } = await run([GET, GET], 'auto', true)
  deepEqual(
    [statuses, versions],
    [
      [200, 200],
      ['1.1', '1.1']
    ]
  )
})

test('gRPC needs HTTP/2: a server that chooses HTTP/1.1 gets no call', async () => {
  const { errors, versions } = await run([GRPC, GET], 'auto', true)
  deepEqual([errors, versions], [['GRPC_TO_HTTP1', null], ['1.1']])
})

test('where the configuration says HTTP/2 nothing else is offered', async () => {
  const { statuses, versions } = await run([{ ...GET, httpVersion: '1.1' }], 'HTTP2')
  deepEqual([statuses, versions], [[200], ['2.0']])
  const { errors } = await run([{ ...GET, httpVersion: '1.1' }], 'HTTP2', true)
  match(String(errors[0]), /^UPSTREAM_(?:TLS|NOT_HTTP2)$/)
})

test('a server that agrees to nothing is one of HTTP/1.1', async () => {
  const server = createTlsServer(own, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stack = await startStack({ upstream: port, spoken: {}, tls: { serverName: 'api.test', ca: own.cert } })
  const call = new Call(stack.lifecycle, GET)
  await call.over()
  deepEqual([call.status, call.body], [200, 'ok'])
  stack.close()
  server.close()
})

test('settings that leave the server no choice but HTTP/2 fail requests of HTTP/1.1 by name, and nothing is sent', async () => {
  const { statuses, errors, versions } = await run([GET], 'HTTP1', false, ['h2'])
  deepEqual([statuses, versions], [[502], []])
  match(errors[0]!, /^UPSTREAM_TLS/)
})
