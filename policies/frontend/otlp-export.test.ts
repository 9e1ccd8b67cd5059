/** The access log and metrics on their way to a collector. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { Policy } from '#engine/contract/policy.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { type SignalsCollector, startGrpcSignals, startHttpSignals } from '#engine/testing/signals-collector.ts'
import { ask } from '#engine/testing/traced.ts'
import { accessLog } from './access-log.ts'
import { metrics } from './metrics.ts'

const OK = { name: 'one', policies: { directResponse: { status: 200, body: 'ok' } } }
const BROKEN = {
  name: 'two',
  matches: [{ path: { exact: '/broken' } }],
  policies: { directResponse: { status: 503, body: 'no' } }
}

async function collectorOf(t: TestContext, start: Promise<SignalsCollector>): Promise<SignalsCollector> {
  const collector = await start
  t.after(() => collector.close())
  return collector
}

function fileOf(frontendPolicies: object): string {
  return JSON.stringify({ frontendPolicies, binds: [{ port: 0, listeners: [{ name: 'web', routes: [BROKEN, OK] }] }] })
}

async function gatewayOf(t: TestContext, frontendPolicies: object) {
  const gateway = await startGateway(fileOf(frontendPolicies))
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => (closed ??= gateway.close())
  t.after(close)
  return { ...gateway, close }
}

const batch = { scheduleDelay: '10ms' }
const otlp = ({ port }: SignalsCollector, more: object = {}) => ({ host: `127.0.0.1:${port}`, batch, ...more })

test('a request becomes a log record, with the ids of its trace', async (t) => {
  const collector = await collectorOf(t, startHttpSignals())
  const tracing = { host: `127.0.0.1:${collector.port}`, batch }
  const { port } = await gatewayOf(t, { tracing, accessLog: { otlp: otlp(collector) } })
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  await ask(port, '/x?key=secret', { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, host: 'example.com:81' })
  await collector.until(() => collector.records.length > 0)
  const [record] = collector.records
  assert.deepEqual(
    [record!.event, record!.severity, record!.body, record!.traceId],
    ['weir.request', 'INFO', 'GET /x 200', traceId]
  )
  assert.match(record!.spanId, /^[0-9a-f]{16}$/)
  const { attributes, resource } = record!
  assert.deepEqual(
    [attributes['http.request.method'], attributes['url.path'], attributes['http.response.status_code']],
    ['GET', '/x', 200]
  )
  assert.deepEqual([attributes['http.route'], attributes['weir.route'], attributes['server.port']], ['/*', 'one', 81])
  assert.equal(attributes['http.response.body.size'], 2)
  assert.ok(Number(attributes['weir.duration']) >= 0)
  assert.equal(resource['service.name'], 'weir')
  assert.doesNotMatch(JSON.stringify(Object.values(attributes)), /secret/)
})

test('what is the fault of a server is an error, and has no ids without a trace', async (t) => {
  const collector = await collectorOf(t, startHttpSignals())
  const { port } = await gatewayOf(t, { accessLog: { otlp: otlp(collector) } })
  await ask(port, '/broken')
  await collector.until(() => collector.records.length > 0)
  const [record] = collector.records
  assert.deepEqual([record!.severity, record!.body, record!.traceId], ['ERROR', 'GET /broken 503', ''])
})

test('filter and fields are those of the lines', async (t) => {
  const collector = await collectorOf(t, startGrpcSignals())
  const records = otlp(collector, { protocol: 'GRPC', resources: { 'service.name': '"edge"' } })
  const lines = { filter: 'response.code >= 500', add: { team: 'request.headers["x-team"]' }, remove: ['http.path'] }
  const { port } = await gatewayOf(t, { accessLog: { ...lines, otlp: records } })
  await ask(port, '/fine')
  await ask(port, '/broken', { 'x-team': 'blue' })
  await collector.until(() => collector.records.length > 0)
  const [record, ...more] = collector.records
  assert.deepEqual(more, [])
  const { attributes, body, resource } = record!
  assert.deepEqual([attributes.team, attributes['url.path'], body], ['blue', undefined, 'GET /broken 503'])
  assert.equal(resource['service.name'], 'edge')
})

test('the example sends what is refused, and metrics, to its collector', async (t) => {
  const collector = await collectorOf(t, startGrpcSignals())
  const file = new URL('../../docs/examples/metrics.yaml', import.meta.url)
  const yaml = readFileSync(file, 'utf8').replace('4317', String(collector.port)).replace('port: 8080', 'port: 0')
  const gateway = await startGateway(yaml.replace('interval: 30s', 'interval: 20ms'))
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => (closed ??= gateway.close())
  t.after(close)
  await ask(gateway.port, '/ok')
  await ask(gateway.port, '/no', { 'x-team': 'blue', 'user-agent': 'x' })
  await collector.until(() => collector.points.length > 0)
  await close()
  await collector.until(() => collector.records.length > 0)
  const [{ attributes, body, resource }, ...more] = collector.records as [(typeof collector.records)[number]]
  assert.deepEqual(more, [])
  assert.deepEqual(
    [body, attributes['app.team'], attributes['user_agent.original'], attributes['weir.reason']],
    ['GET /no 404', 'blue', undefined, 'ROUTE_NOT_FOUND']
  )
  assert.deepEqual([resource['service.name'], collector.points[0]!.resource['service.name']], ['edge', 'edge'])
})

test('records have a filter and fields of their own', async (t) => {
  const collector = await collectorOf(t, startHttpSignals())
  const own = { filter: 'true', fields: { add: { color: '"red"' }, remove: ['duration'] }, path: '/tenant/logs' }
  const { port } = await gatewayOf(t, { accessLog: { filter: 'false', add: { a: '1' }, otlp: otlp(collector, own) } })
  await ask(port, '/fine')
  await collector.until(() => collector.records.length > 0)
  const { attributes } = collector.records[0]!
  assert.deepEqual([attributes.color, attributes.a, attributes['weir.duration']], ['red', undefined, undefined])
})

test('what a collector does not take is counted by signal, and sent again where it says so', async (t) => {
  const answers = [503, 400]
  const collector = await collectorOf(
    t,
    startHttpSignals((response, index) => {
      response.writeHead(answers[index] ?? 200, { 'retry-after': '0' }).end()
    })
  )
  const gateway = await gatewayOf(t, { accessLog: { otlp: otlp(collector) } })
  await ask(gateway.port, '/')
  await collector.until(() => collector.requests === 2)
  await gateway.close()
  const text = gateway.metrics()
  assert.match(text, /weir_otlp_retries_total\{signal="logs"\} 1\n/)
  assert.match(text, /weir_otlp_dropped_total\{signal="logs",reason="refused"\} 1\n/)
})

test('metrics are sent at each interval, as they stand', async (t) => {
  const collector = await collectorOf(t, startHttpSignals())
  const settings = { host: `127.0.0.1:${collector.port}`, interval: '20ms' }
  const { port } = await gatewayOf(t, { metrics: { otlp: settings } })
  await ask(port, '/')
  await ask(port, '/')
  const requests = () => collector.points.filter(({ name }) => name === 'weir.requests')
  await collector.until(() => requests().filter(({ value }) => value === 2).length > 1)
  const point = requests().findLast(({ value }) => value === 2)!
  assert.deepEqual([point.kind, point.unit], ['sum', ''])
  assert.deepEqual(
    [point.attributes.route, point.attributes.status, point.attributes.reason, point.attributes.backend],
    ['one', '200', 'DirectResponse', undefined]
  )
  assert.ok(point.at > 0n)
  const duration = collector.points.findLast(({ name }) => name === 'weir.request_duration')!
  assert.deepEqual([duration.kind, duration.unit, duration.value], ['histogram', 's', 2])
  const open = collector.points.find(({ name }) => name === 'weir.downstream_connections')!
  assert.equal(open.kind, 'gauge')
})

test('a reload that leaves the policy alone does not begin the interval again; one that drops it ends it', async (t) => {
  const collector = await collectorOf(t, startGrpcSignals())
  const settings = { host: `127.0.0.1:${collector.port}`, protocol: 'GRPC', interval: '20ms' }
  const gateway = await gatewayOf(t, { metrics: { otlp: settings } })
  await gateway.reload(fileOf({ metrics: { otlp: settings }, accessLog: { remove: ['duration'] } }))
  await collector.until(() => collector.points.length > 0)
  await gateway.reload(fileOf({}))
  // What was under way when the policy went has come by the time that a later policy is served.
  const other = await collectorOf(t, startGrpcSignals())
  await gateway.reload(fileOf({ metrics: { otlp: { ...settings, host: `127.0.0.1:${other.port}` } } }))
  await other.until(() => other.requests > 0)
  const before = collector.requests
  const seen = other.requests
  await other.until(() => other.requests > seen + 2)
  assert.equal(collector.requests, before)
})

test('mistakes say where they are', () => {
  const of = (policy: Policy, config: object) => problemsOf(policy, config)[0] ?? ''
  assert.match(of(accessLog, { otlp: {} }), /^otlp: must have exactly one of backendRef, backend, host/)
  assert.match(of(accessLog, { otlp: { host: 'a:1', batch: { maxQueueBytes: 8192 } } }), /^otlp.batch.maxQueueBytes: /)
  assert.match(of(metrics, {}), /^otlp: /)
  assert.match(of(metrics, { otlp: { host: 'a:1', interval: '0s' } }), /^otlp.interval: must be longer than 0/)
  assert.match(of(metrics, { otlp: { host: 'a:1' }, attributes: {} }), /^attributes: metrics setting/)
  const [warning = ''] = accessLog.warnings!(
    {
      filter: null,
      add: [],
      remove: [],
      otlp: { fields: { remove: ['x'] } }
    } as never,
    { mayHaveKeys: true }
  )
  assert.match(warning, /no default field is called "x"/)
})
