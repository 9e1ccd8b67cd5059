/**
 * `npm run conformance -- ext-auth`: gateways before the authorization server of Istio's samples (grpc-go), over gRPC
 * and over HTTP. Prints a transcript of curl, and whether each answer is the one that it has to be.
 */
import { spawn } from 'node:child_process'
import { freePort } from '#bench/load/ports.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { RunningProgram } from '#engine/testing/program.ts'
import { goProgram } from './go-program.ts'
import { reply } from './servers.ts'
import { type Step, Transcript } from './transcript.ts'

const PROGRAM = 'istio.io/istio/samples/extauthz/cmd/extauthz'
const VERSION = 'v0.0.0-20260827124520-eed52ebb66ad'

/** What it sets on requests that it allows: those with "x-ext-authz: allow". */
const RESULT = 'x-ext-authz-check-result'
const OVERRIDE = 'x-ext-authz-additional-header-override'
const HTTP = {
  allowedRequestHeaders: ['x-ext-authz', OVERRIDE],
  allowedResponseHeaders: [RESULT, OVERRIDE]
}
const SHOWN = /^(?:HTTP\/1\.1|x-ext-authz-check-result|denied|request|check)/i

const allow = ['-H', 'x-ext-authz: allow']
const spoofed = ['-H', `${RESULT}: allowed by me`, '-H', `${OVERRIDE}: client`]

const stepsOf = (at: 'grpc' | 'http'): Step[] => [
  { at, path: '/p?a=1', status: 403, has: 'denied by ext_authz' },
  { at, path: '/p?a=1', more: allow, status: 200, has: `${RESULT}: allowed` },
  { at, path: '/p', more: [...allow, ...spoofed], status: 200, has: `${RESULT}: allowed\n` },
  { at, path: '/p', more: [...allow, '-d', 'hello'], status: 200, has: 'request POST /p: hello' },
  { at, path: '/p', more: ['-H', 'x-ext-authz: deny', '-d', 'hello'], status: 403, has: `${RESULT}: denied` },
  { at, path: '/', more: [...allow, '-I'], status: 200 }
]
const REFUSED: readonly Step[] = [
  { at: 'grpc', path: '/', more: allow, status: 403 },
  { at: 'http', path: '/', more: allow, status: 403 }
]

/** False: an answer is not the one that it has to be. */
export async function runExtAuth(print: (line: string) => void): Promise<boolean> {
  const program = goProgram(PROGRAM, VERSION)
  const [grpcPort, httpPort] = [await freePort(), await freePort()]
  const child = spawn(program, ['-grpc', `${grpcPort}`, '-http', `${httpPort}`], { stdio: ['ignore', 'pipe', 'pipe'] })
  process.once('exit', () => child.kill('SIGKILL'))
  const service = new RunningProgram(child)
  await service.logged(/Starting gRPC server/)
  await service.logged(/Starting HTTP server/)
  const backend = await startOrigin((response, { method, url, headers, body, trailers }) => {
    const set = headers.flatMap((name, i) =>
      i % 2 === 0 && /^x-ext-authz-(?!check-rec)/i.test(name) ? [`${name}: ${headers[i + 1]}\n`] : []
    )
    const text = `request ${method} ${url}: ${body}\n${set.join('')}`
    reply(200, ['Content-Type', 'text/plain'], text)(response, { method, url, headers, body, trailers })
  })
  const fileOf = (extAuth: object) =>
    JSON.stringify({
      binds: [
        {
          port: 0,
          listeners: [{ routes: [{ policies: { extAuth }, backends: [{ host: `127.0.0.1:${backend.port}` }] }] }]
        }
      ]
    })
  const grpc = await startGateway(fileOf({ host: `127.0.0.1:${grpcPort}`, grpc: {}, forwardBody: { maxSize: 1000 } }))
  const http = await startGateway(fileOf({ host: `127.0.0.1:${httpPort}`, http: HTTP }))
  const transcript = new Transcript({ grpc: grpc.port, http: http.port }, SHOWN, print)
  try {
    await transcript.take([...stepsOf('grpc'), ...stepsOf('http')])
    print('# the service is stopped')
    await service.stop()
    await transcript.take(REFUSED)
  } finally {
    await grpc.close()
    await http.close()
    backend.close()
    await service.stop()
  }
  print(`ext-auth: extauthz of Istio ${VERSION}: ${transcript.passed} passed, ${transcript.failed} failed`)
  return transcript.failed === 0
}
