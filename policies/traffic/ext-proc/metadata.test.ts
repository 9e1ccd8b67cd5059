/** What a service says of an exchange besides its changes: metadata for expressions, and another route. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { at, harness, post, send, statusOf } from './gateway.fixture.ts'
import { answerTo, mutation } from './services.fixture.ts'

const { seen, service, stops, start, backendPort } = harness()

describe('dynamic metadata', () => {
  const SETS = (part: string, source: string) => `, transformation: { ${part}: { set: { x-tier: '${source}' } } }`

  it('is extproc, for what follows in the request, and for the response', async () => {
    service.process = at('requestHeaders', (message) => [
      answerTo(message, {}, { dynamicMetadata: { class: { tier: 'gold' }, other: { n: 1 } } })
    ])
    equal(statusOf(await send(await start('', SETS('request', 'extproc.class.tier')))), 200)
    equal(seen[0]!.headers['x-tier'], 'gold')
    match(await send(await start('', SETS('response', 'string(extproc.other.n)'))), /x-tier: 1\r\n/i)
  })

  it('of later answers replaces what has the same name, also of bodies that are streamed', async () => {
    const gateway = await start(
      'processingMode: { requestBodyMode: STREAMED }',
      SETS('response', 'extproc.a.b + extproc.c.d')
    )
    const metadataOf = { requestHeaders: { a: { b: 'old' }, c: { d: 'kept' } }, requestBody: { a: { b: 'new' } } }
    service.process = (message) => {
      const { $case } = message.request!
      const dynamicMetadata = $case === 'requestHeaders' || $case === 'requestBody' ? metadataOf[$case] : undefined
      return [answerTo(message, {}, { dynamicMetadata })]
    }
    match(await post(gateway, 'hello'), /x-tier: newkept\r\n/i)
  })

  it('that is too deep or too long is a failure', async () => {
    let deep: Record<string, unknown> = {}
    for (let i = 0; i < 40; i++) deep = { deep }
    for (const dynamicMetadata of [deep, { long: 'a'.repeat(65 * 1024) }]) {
      service.process = at('requestHeaders', (message) => [answerTo(message, {}, { dynamicMetadata })])
      equal(statusOf(await send(await start())), 500)
    }
  })
})

it('before routing, what the service sets decides on the route', async () => {
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - policies: { phase: PreRouting, extProc: { host: "127.0.0.1:${service.port}", messageTimeout: 60s } }
        routes:
          - matches: [{ path: { exact: /new } }]
            backends: [{ host: "127.0.0.1:${backendPort()}" }]
          - matches: [{ path: { exact: /by-header }, headers: [{ name: x-kind, value: { exact: "2" } }] }]
            backends: [{ host: "127.0.0.1:${backendPort()}" }]
`)
  stops.push(() => gateway.close())
  service.process = at('requestHeaders', (message) => [
    answerTo(message, { headerMutation: mutation({ ':path': '/new' }), clearRouteCache: true })
  ])
  equal(statusOf(await send(gateway, 'GET /old HTTP/1.1')), 200)
  service.process = at('requestHeaders', (message) => [
    answerTo(message, { headerMutation: mutation({ 'x-kind': '2' }) })
  ])
  equal(statusOf(await send(gateway, 'GET /by-header HTTP/1.1')), 200)
  deepEqual(
    seen.map(({ line }) => line),
    ['GET /new', 'GET /by-header']
  )
})
