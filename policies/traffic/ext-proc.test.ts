/** How external processing is configured. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { at, body, bodyIn, harness, piece, send } from './ext-proc/gateway.fixture.ts'
import type { ExtProcConfig } from './ext-proc/schema.ts'
import { answerTo } from './ext-proc/services.fixture.ts'
import { extProc } from './ext-proc.ts'

const { seen, service, stops, backendPort, kinds } = harness()

test('mistakes of the configuration have a place', async () => {
  const problems = (fields: object) => problemsOf(extProc, { host: 'a:1', ...fields })
  deepEqual(problems({ processingMode: { requestBodyMode: 'GRPC' } }), [
    'processingMode.requestBodyMode: GRPC is not in this version of weir: use NONE, STREAMED, BUFFERED, BUFFERED_PARTIAL or FULL_DUPLEX_STREAMED'
  ])
  match(problems({ processingMode: { responseBodyMode: 'streamed' } })[0]!, /must be NONE, STREAMED, /)
  match(
    problems({ observabilityMode: true, processingMode: { requestBodyMode: 'BUFFERED' } })[0]!,
    /wait for the service/
  )
  match(problems({ mutationRules: { allowExpression: '(' } })[0]!, /^mutationRules.allowExpression: /)
  match(problems({ requestAttributes: { a: 'request.body' } })[0]!, /^requestAttributes.a: expression .*body/)
  match(problems({ backend: 'b' })[0]!, /exactly one of backendRef, backend, host/)
})

test('the example file', async () => {
  const file = readFileSync(join(import.meta.dirname, '../../docs/examples/', 'ext-proc.yaml'), 'utf8')
  const own = file
    .replace('port: 8080', 'port: 0')
    .replace('messageTimeout: 500ms', 'messageTimeout: 60s')
    .replaceAll('localhost:9191', `127.0.0.1:${service.port}`)
    .replaceAll('localhost:9001', `127.0.0.1:${backendPort()}`)
  const gateway = await startGateway(own)
  stops.push(() => gateway.close())
  service.process = at('requestBody', (request) => [answerTo(request, body('[]'))])
  match(await send(gateway, 'POST /api HTTP/1.1\r\nContent-Length: 5', 'hello'), /^HTTP\/1.1 200 /)
  equal(seen[0]!.body, '[]')
  deepEqual(kinds(), ['requestHeaders', 'requestBody', 'responseHeaders'])
})

test('the example of bodies that are streamed', async () => {
  const example = readFileSync(join(import.meta.dirname, '../../docs/examples', 'ext-proc-streaming.yaml'), 'utf8')
  const own = example
    .replace('port: 8080', 'port: 0')
    .replace('messageTimeout: 2s', 'messageTimeout: 60s')
    .replaceAll(/localhost:919\d/g, `127.0.0.1:${service.port}`)
    .replaceAll(/localhost:900\d/g, `127.0.0.1:${backendPort()}`)
  const gateway = await startGateway(own)
  stops.push(() => gateway.close())
  service.process = (request) => {
    const part = bodyIn(request)
    if (part === null) return [answerTo(request)]
    const isUpload = seen.length === 0
    return [answerTo(request, isUpload ? body(part[0].toUpperCase()) : piece(part[0].toUpperCase(), part[1]))]
  }
  match(await send(gateway, 'POST /uploads HTTP/1.1\r\nContent-Length: 5', 'hello'), /^HTTP\/1.1 200 [\s\S]*from the/)
  match(await send(gateway, 'POST /v1/chat HTTP/1.1\r\nContent-Length: 3', 'hey'), /^HTTP\/1.1 200 [\s\S]*FROM THE/)
  deepEqual([seen[0]!.body, seen[1]!.body], ['HELLO', 'HEY'])
})

test('the options of agentgateway', () => {
  const modesOf = (fields: object) => (extProc.schema.parse({ host: 'a:1', ...fields }) as ExtProcConfig).modes
  const all = { sendsHeaders: true, body: 'FULL_DUPLEX_STREAMED', sendsTrailers: true }
  deepEqual(modesOf({ processingOptions: {} }), { request: all, response: all })
  deepEqual(
    modesOf({
      processingOptions: { requestBodyMode: 'BufferedPartial', requestHeaderMode: 'skip', responseTrailerMode: 'Skip' }
    }),
    {
      request: { sendsHeaders: false, body: 'BUFFERED_PARTIAL', sendsTrailers: true },
      response: { ...all, sendsTrailers: false }
    }
  )
  const problems = (fields: object) => problemsOf(extProc, { host: 'a:1', ...fields })
  match(problems({ processingOptions: { requestBodyMode: 'streamed' } })[0]!, /must be none, buffered, bufferedPartial/)
  match(problems({ processingOptions: {}, processingMode: {} })[0]!, /^processingOptions: stands in place of/)
  match(problems({ processingOptions: {}, observabilityMode: true })[0]!, /^processingOptions: cannot stand beside/)
})
