/** Collectors that are slow, away, full or wrong, over both protocols; reload and the end of the process. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Metadata, status } from '@grpc/grpc-js'
import { ExportTraceServiceResponse } from '#engine/proto/generated/opentelemetry/proto/collector/trace/v1/trace_service.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { atLeast, startGrpcCollector, startHttpCollector } from '#engine/testing/otlp-collector.ts'
import { ask, hasServer, isServer, startTraced, tracedFile } from '#engine/testing/traced.ts'

const ROUTE = { policies: { directResponse: { status: 200, body: 'ok' } } }

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => void server.close(resolve))
  return port
}

async function gatewayFor(t: TestContext, port: number, tracing: object = {}, more: object = {}) {
  const gateway = await startGateway(tracedFile(port, ROUTE, tracing, more))
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => (closed ??= gateway.close())
  t.after(close)
  return { ...gateway, close }
}

test('a collector over gRPC takes spans', async (t) => {
  const collector = await startGrpcCollector()
  t.after(() => collector.close())
  const { port } = await gatewayFor(t, collector.port, { protocol: 'GRPC' })
  await ask(port, '/x')
  const [span] = await collector.until(hasServer)
  assert.deepEqual([span!.name, span!.attributes['url.path']], ['GET /*', '/x'])
})

test('the example sends to its collector, by its backend', async (t) => {
  const collector = await startGrpcCollector()
  t.after(() => collector.close())
  const file = new URL('../../docs/examples/tracing.yaml', import.meta.url)
  const yaml = readFileSync(file, 'utf8').replace('4317', String(collector.port)).replace('port: 8080', 'port: 0')
  const gateway = await startGateway(yaml)
  t.after(() => gateway.close())
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  await ask(gateway.port, '/ok', { traceparent, 'x-team': 'blue', 'user-agent': 'x' })
  const received = collector.until(hasServer)
  await gateway.close()
  const span = (await received).find(isServer)!
  assert.deepEqual(
    [span.attributes['app.team'], span.attributes['user_agent.original'], span.resource['service.name']],
    ['blue', undefined, 'edge']
  )
})

test('the path and fields of a request over HTTP', async (t) => {
  const { port, collector } = await startTraced(t, ROUTE, { path: '/otel/v1/traces?tenant=a' })
  await ask(port, '/')
  await collector.until(hasServer)
  const [{ path, headers }] = collector.exports as [(typeof collector.exports)[number]]
  assert.equal(path, '/otel/v1/traces?tenant=a')
  assert.deepEqual(
    { ...headers, 'content-length': '' },
    { host: `127.0.0.1:${collector.port}`, 'content-type': 'application/x-protobuf', 'content-length': '' }
  )
})

test('a batch is sent again when the collector asks for it, and when it says', async (t) => {
  const collector = await startHttpCollector((response, index) => {
    if (index === 0) response.writeHead(503, { 'retry-after': '0' }).end()
    else response.end()
  })
  t.after(() => collector.close())
  const gateway = await gatewayFor(t, collector.port)
  await ask(gateway.port, '/')
  await collector.until(atLeast(2))
  const [first, second] = collector.exports
  assert.deepEqual(second!.spans, first!.spans)
  assert.match(gateway.metrics(), /weir_otlp_retries_total{signal="traces"} 1\n/)
})

/** google.rpc.Status with RetryInfo of 1 ms. */
const RETRY_INFO = Buffer.concat([
  Buffer.from([8, 8, 0x1a, 50, 0x0a, 40]),
  Buffer.from('type.googleapis.com/google.rpc.RetryInfo'),
  Buffer.from([0x12, 6, 0x0a, 4, 0x10, 0xc0, 0x84, 0x3d])
])

test('RESOURCE_EXHAUSTED is sent again only with RetryInfo', async (t) => {
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', RETRY_INFO)
  const faults = [{ code: status.RESOURCE_EXHAUSTED, metadata }, { code: status.RESOURCE_EXHAUSTED }]
  const collector = await startGrpcCollector((index) => faults[index] ?? null)
  t.after(() => collector.close())
  const gateway = await gatewayFor(t, collector.port, { protocol: 'GRPC' })
  await ask(gateway.port, '/one')
  await collector.until(atLeast(2))
  await ask(gateway.port, '/two')
  await collector.until((spans) => spans.some(({ attributes }) => attributes['url.path'] === '/two'))
  const paths = collector.spans.map(({ attributes }) => attributes['url.path'])
  assert.deepEqual(paths, ['/one', '/one', '/two'])
  assert.match(gateway.metrics(), /weir_otlp_dropped_total\{signal="traces",reason="refused"\} 1\n/)
})

test('spans that the collector refuses are not sent again', async (t) => {
  const collector = await startHttpCollector((response, index) => {
    response.statusCode = index === 0 ? 400 : 200
    response.end()
  })
  t.after(() => collector.close())
  const gateway = await gatewayFor(t, collector.port)
  await ask(gateway.port, '/one')
  await collector.until(atLeast(1))
  await ask(gateway.port, '/two')
  await collector.until(atLeast(2))
  assert.equal(collector.exports.length, 2)
  assert.match(gateway.metrics(), /weir_otlp_dropped_total\{signal="traces",reason="refused"\} 1\n/)
  assert.match(gateway.logged.join('\n'), /warn: 1 items for 127\.0\.0\.1:\d+ are lost: HTTP status 400/)
})

test('a partial success is counted, logged once, and not sent again', async (t) => {
  const partialSuccess = { rejectedSpans: 1n, errorMessage: 'too\nmany' }
  const body = Buffer.from(ExportTraceServiceResponse.encode({ partialSuccess }).finish())
  const collector = await startHttpCollector((response) => void response.end(body))
  t.after(() => collector.close())
  const gateway = await gatewayFor(t, collector.port)
  for (const count of [1, 2]) {
    await ask(gateway.port, '/')
    await collector.until(atLeast(count))
  }
  await gateway.close()
  assert.equal(collector.exports.length, 2)
  assert.match(gateway.metrics(), /weir_otlp_dropped_total\{signal="traces",reason="rejected"\} 2\n/)
  const warnings = gateway.logged.filter((line) => line.includes('did not take'))
  assert.deepEqual(warnings, [`warn: 127.0.0.1:${collector.port} did not take 1 of 1 items: too many`])
})

test('a collector that is away costs no request, and the queue is bounded', async (t) => {
  const batch = { scheduleDelay: '1ms', maxExportBatchBytes: 8192, maxQueueBytes: 8192 }
  const gateway = await gatewayFor(t, await freePort(), { batch })
  const long = `/${'x'.repeat(4000)}`
  for (let i = 0; i < 10; i++) assert.equal((await ask(gateway.port, long)).status, 200)
  await gateway.close()
  const dropped = (reason: string) =>
    Number(
      new RegExp(`weir_otlp_dropped_total\\{signal="traces",reason="${reason}"\\} (\\d+)`).exec(
        gateway.metrics()
      )?.[1] ?? 0
    )
  assert.ok(dropped('queue_full') > 0)
  assert.equal(dropped('queue_full') + dropped('shutdown'), 10)
  assert.match(gateway.logged.join('\n'), /takes nothing now: UNAVAILABLE/)
})

test('spans that were gathered are sent at a reload and at the end', async (t) => {
  const [first, second] = [await startHttpCollector(), await startHttpCollector()]
  t.after(() => first.close())
  t.after(() => second.close())
  const batch = { scheduleDelay: '1h' }
  const gateway = await gatewayFor(t, first.port, { batch })
  await ask(gateway.port, '/one')
  assert.equal(first.exports.length, 0)
  await gateway.reload(tracedFile(second.port, ROUTE, { batch }))
  await first.until(atLeast(1))
  await ask(gateway.port, '/two')
  await gateway.close()
  const paths = [first, second].map(({ spans }) => spans.map(({ attributes }) => attributes['url.path']))
  assert.deepEqual(paths, [['/one'], ['/two']])
})

test('a collector that is moved to another address gets what follows', async (t) => {
  const [first, second] = [await startHttpCollector(), await startHttpCollector()]
  t.after(() => first.close())
  t.after(() => second.close())
  const tracing = { host: undefined, backend: 'otlp' }
  const file = (port: number) =>
    tracedFile(0, ROUTE, tracing, { backends: [{ name: 'otlp', host: `127.0.0.1:${port}` }] })
  const gateway = await startGateway(file(first.port))
  t.after(() => gateway.close())
  await ask(gateway.port, '/one')
  await first.until(atLeast(1))
  await gateway.reload(file(second.port))
  await ask(gateway.port, '/two')
  await second.until(atLeast(1))
  assert.equal(first.spans.length, 1)
})
