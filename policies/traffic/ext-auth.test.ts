/** How external authorization is configured. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { gatewayTo, send, statusOf, useBackend } from './ext-auth/gateway.fixture.ts'
import {
  allowed,
  type CheckRequest,
  denied,
  option,
  startGrpcAuthorizer,
  startHttpServer
} from './ext-auth/services.fixture.ts'
import { extAuth } from './ext-auth.ts'

const backend = useBackend()

test('the spelling of the closest peer', async () => {
  const service = await startGrpcAuthorizer((request: CheckRequest) =>
    request.attributes?.contextExtensions.a === 'b' ? allowed() : denied(418, [], '')
  )
  const policies = `{ extAuthz: { host: "127.0.0.1:${service.port}", protocol: { grpc: { context: { a: b } } }, failureMode: deny } }`
  const gateway = await gatewayTo(backend.port, policies)
  equal(statusOf(await send(gateway, 'GET / HTTP/1.1')), 200)
  await gateway.close()
  service.close()
})

test('mistakes have their places', async () => {
  const at = (config: object) => problemsOf(extAuth, config)
  deepEqual(at({ grpc: {} }), [': must have exactly one of backendRef, backend, host'])
  deepEqual(at({ host: 'a:1', backend: 'b', grpc: {} }), [
    ': must have exactly one of backendRef, backend, host, not backend and host'
  ])
  deepEqual(at({ host: 'a:1' }), [': must have exactly one of grpc, http'])
  deepEqual(at({ backendRef: { name: 'a', port: 1 }, grpc: {} }), [
    'backendRef.port: the backend says its port: leave it out'
  ])
  match(at({ host: 'a:1', http: { path: 'request.body' } })[0]!, /^http.path: expression .*body/)
  match(at({ host: 'a:1', http: { addRequestHeaders: { te: '"x"' } } })[0]!, /^http.addRequestHeaders.te: .*frames/)
  await gatewayTo(
    1,
    '{ extAuth: { backendRef: { name: autz }, grpc: {} } }',
    'backends: [{ name: authz, host: "a:1" }]'
  ).then(
    () => ok(false),
    ({ message }: Error) =>
      match(
        message,
        /extAuth\.backendRef\.name: there is no backend "autz" at the top of the file: did you mean "authz"\?/
      )
  )
})

test('the example file', async () => {
  const grpc = await startGrpcAuthorizer(() => allowed({ headers: [option('x-user', 'ann')] }, { plan: 'gold' }))
  const http = await startHttpServer(({ headers }) => ({ status: headers.cookie === 'session=1' ? 200 : 401 }))
  const file = readFileSync(join(import.meta.dirname, '../../docs/examples/', 'ext-auth.yaml'), 'utf8')
  const own = file
    .replace('port: 8080', 'port: 0')
    .replaceAll('localhost:9191', `127.0.0.1:${grpc.port}`)
    .replaceAll('localhost:9192', `127.0.0.1:${http.port}`)
    .replaceAll('localhost:9001', `127.0.0.1:${backend.port}`)
  const gateway = await startGateway(own)
  equal(statusOf(await send(gateway, 'GET /api HTTP/1.1')), 200)
  deepEqual([backend.requests[0]!.headers['x-user'], backend.requests[0]!.headers['x-plan']], ['ann', 'gold'])
  equal(statusOf(await send(gateway, 'GET /app HTTP/1.1\r\nCookie: session=1')), 200)
  match(
    await send(gateway, 'GET /app HTTP/1.1'),
    /^HTTP\/1.1 302 [\s\S]*location: https:\/\/login\.example\.com\/\?to=\/app/
  )
  await gateway.close()
  grpc.close()
  http.close()
})
