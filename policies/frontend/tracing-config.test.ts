/** `config.tracing`, which files of agentgateway have: what a collector gets, and what is refused. */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { Metadata } from '@grpc/grpc-js'
import { backends } from '#backends/index.ts'
import { type LoadResult, loadConfig } from '#engine/standalone/load.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Collector, startGrpcCollector, startHttpCollector } from '#engine/testing/otlp-collector.ts'
import { ask } from '#engine/testing/traced.ts'
import { policies } from '#policies/index.ts'
import { tracing } from './tracing.ts'

const ROUTE = { policies: { directResponse: { status: 200, body: 'ok' } } }
const binds = (port: number): object[] => [{ port, listeners: [{ name: 'web', routes: [ROUTE] }] }]

/** One request through a gateway of that file; its end sends the spans. */
async function spanOf(t: TestContext, collector: Collector, settings: object) {
  t.after(() => collector.close())
  const file = { config: { tracing: { randomSampling: true, ...settings } }, binds: binds(0) }
  const gateway = await startGateway(JSON.stringify(file))
  t.after(() => gateway.close())
  await ask(gateway.port, '/x')
  const received = collector.until((spans) => spans.length > 0)
  await gateway.close()
  const [span] = await received
  return span!
}

function load(file: object): LoadResult {
  const options = { file: 'f.json', folder: '.', env: {}, policies, backends, processors: 2 }
  return loadConfig(JSON.stringify(file), options)
}

function mistakes(settings: object, more: object = {}): string[] {
  const result = load({ config: { tracing: settings }, binds: binds(3000), ...more })
  assert.ok(!result.ok)
  return result.errors.map(({ path, message }) => `${path}: ${message}`)
}

test('an endpoint is spoken to over gRPC, with its headers; span.name names the span', async (t) => {
  const collector = await startGrpcCollector()
  const span = await spanOf(t, collector, {
    otlpEndpoint: `http://127.0.0.1:${collector.port}`,
    headers: { Authorization: 'Basic xx' },
    fields: { add: { 'span.name': '"openai." + "chat"', 'app.path': 'request.path' }, remove: ['url.path'] }
  })
  assert.equal(span.name, 'openai.chat')
  assert.deepEqual([span.attributes['app.path'], span.attributes['url.path']], ['/x', undefined])
  assert.equal(span.attributes['span.name'], undefined)
  const metadata = collector.exports[0]!.headers as Metadata
  assert.deepEqual(metadata.get('authorization'), ['Basic xx'])
})

test('a name that is no text leaves the span its own', async (t) => {
  const collector = await startGrpcCollector()
  const otlpEndpoint = `grpc://127.0.0.1:${collector.port}`
  const span = await spanOf(t, collector, { otlpEndpoint, fields: { add: { 'span.name': '""' } } })
  assert.equal(span.name, 'GET /*')
})

test('over HTTP the signal goes below the path of the endpoint', async (t) => {
  const collector = await startHttpCollector()
  const otlpEndpoint = `http://127.0.0.1:${collector.port}/api/public/otel`
  await spanOf(t, collector, { otlpEndpoint, otlpProtocol: 'http', headers: { 'X-Team': 'blue' }, fields: { add: {} } })
  const [{ path, headers }] = collector.exports as [Collector['exports'][number]]
  assert.equal(path, '/api/public/otel/v1/traces')
  assert.equal((headers as IncomingHttpHeaders)['x-team'], 'blue')
})

interface Parsed {
  readonly service: object
  readonly path: string
}

function parsed(otlpEndpoint: string, more: object = { otlpProtocol: 'http' }): Parsed {
  return tracing.inConfig!.parse({ otlpEndpoint, ...more }) as Parsed
}

test('an endpoint: https is TLS with the authorities of the system, and schemes have ports', () => {
  const transport = { tls: { hostname: null, ca: null }, tcp: null }
  const server = (host: string, port: number) => ({ host, port, unixPath: null })
  assert.deepEqual(parsed('https://Collector.example/otlp/').service, {
    ...server('collector.example', 443),
    transport
  })
  assert.deepEqual(parsed('https://c.example:4318').service, { ...server('c.example', 4318), transport })
  assert.deepEqual(parsed('http://[::1]').service, server('::1', 80))
  assert.deepEqual(parsed('c.example:4317', {}).service, server('c.example', 4317))
  const paths: (readonly [string, string])[] = [
    ['https://c.example', '/v1/traces'],
    ['https://c.example/', '/v1/traces'],
    ['https://c.example/otlp/', '/otlp/v1/traces'],
    ['https://c.example/otlp/v1/traces?team=a', '/otlp/v1/traces?team=a']
  ]
  for (const [url, path] of paths) assert.equal(parsed(url).path, path)
  assert.equal(parsed('https://c.example', { otlpProtocol: 'http', path: '/custom' }).path, '/custom')
})

test('mistakes name their place and never what is secret', () => {
  const at = (settings: object): string[] => mistakes({ otlpEndpoint: 'http://a:1', ...settings })
  assert.deepEqual(mistakes({}), ['config.tracing.otlpEndpoint: is required'])
  assert.deepEqual(at({ otlpEndpoint: 'https://me:secret@a' }), [
    'config.tracing.otlpEndpoint: must not have a user or password: send them in headers'
  ])
  assert.match(at({ otlpEndpoint: 'ftp://a:1' })[0]!, /^config\.tracing\.otlpEndpoint: must be a URL such as /)
  assert.match(at({ otlpEndpoint: 'a' })[0]!, /otlpEndpoint: must have a scheme or a port/)
  assert.match(at({ otlpEndpoint: 'http://a:1/x' })[0]!, /otlpEndpoint: is for OTLP over HTTP/)
  assert.match(at({ path: '/x' })[0]!, /path: is for OTLP over HTTP/)
  assert.match(at({ path: '/x', otlpEndpoint: 'http://a/y', otlpProtocol: 'http' })[0]!, /path: says again/)
  assert.match(at({ headers: { Host: 'x' } })[0]!, /headers\.Host: is set by OTLP itself/)
  assert.match(at({ headers: { 'a b': 'x' } })[0]!, /headers\["a b"\]: must be a header name/)
  assert.match(at({ headers: { a: 'x\ny' } })[0]!, /headers\.a: must be visible ASCII/)
  assert.match(at({ fields: { add: { a: '1 +' } } })[0]!, /fields\.add\.a: expression 1:4/)
  assert.match(at({ randomSampling: 2 })[0]!, /randomSampling: must be a boolean or a number/)
})

test('both spellings in one file are a mistake', () => {
  const frontendPolicies = { tracing: { host: 'localhost:4317' } }
  assert.deepEqual(mistakes({ otlpEndpoint: 'http://a:1' }, { frontendPolicies }), [
    'config.tracing: says again what frontendPolicies.tracing says: keep one of them'
  ])
})

test('doubts about either spelling are warnings', () => {
  const about = (file: object): string[] => {
    const result = load({ binds: binds(3000), ...file })
    assert.ok(result.ok)
    return result.warnings.map((line) => /: (\w+\.tracing: (?:no default|traces only))/.exec(line)?.[1] ?? line)
  }
  const settings = { otlpEndpoint: 'http://a:1', fields: { remove: ['xyz'] } }
  assert.deepEqual(about({ config: { tracing: settings } }), [
    'config.tracing: no default',
    'config.tracing: traces only'
  ])
  assert.deepEqual(about({ frontendPolicies: { tracing: { host: 'a:1' } } }), ['frontendPolicies.tracing: traces only'])
})
