import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AccessLogPlan } from '#engine/contract/access-log.ts'
import { ERRORS } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { finishedExchange } from './exchange.fixture.ts'
import { parseExposition } from './exposition.fixture.ts'
import { REGION_BYTES } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'

interface Fixture {
  readonly telemetry: Telemetry
  readonly scrape: () => ReturnType<typeof parseExposition>
  /** Access-log lines so far, without their line feeds. */
  readonly lines: () => Promise<string[]>
}

function start(t: TestContext, format: 'text' | 'json' = 'text', level = 'info'): Fixture {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'telemetry-'))
  const file = path.join(dir, 'access.log')
  const fd = fs.openSync(file, 'a')
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(REGION_BYTES)
  const announce = table.attach('0', region)
  const telemetry = createTelemetry({ region, worker: 0, announce, logging: { level, format }, accessLogFd: fd })
  t.after(async () => {
    await telemetry.close()
    fs.closeSync(fd)
    fs.rmSync(dir, { recursive: true })
  })
  return {
    telemetry,
    scrape: () => parseExposition(table.expose()),
    lines: async () => {
      await telemetry.flush()
      return fs.readFileSync(file, 'latin1').split('\n').slice(0, -1)
    }
  }
}

const LABELS = {
  port: '8080',
  listener: 'main',
  route: 'r',
  backend: 'web',
  method: 'GET',
  status: '200',
  reason: 'Upstream'
}

test('an exchange is counted under its names, once', (t) => {
  const { telemetry, scrape } = start(t, 'text', 'off')
  const recorder = telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 })
  recorder.record(finishedExchange())
  recorder.record(finishedExchange())
  const text = scrape()
  assert.equal(text.value('weir_requests_total', LABELS), 2)
  assert.equal(text.value('weir_request_duration_seconds_count', { route: 'r' }), 2)
  assert.equal(text.value('weir_upstream_first_byte_seconds_count', { route: 'r', backend: 'web' }), 2)
  assert.equal(text.value('weir_request_bytes_total', { route: 'r' }), 160)
  assert.equal(text.value('weir_response_bytes_total', { route: 'r' }), 2400)
})

test('a recorder made by a reload goes on with the same series', (t) => {
  const { telemetry, scrape } = start(t, 'text', 'off')
  telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 }).record(finishedExchange())
  telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 }).record(finishedExchange())
  assert.equal(scrape().value('weir_requests_total', LABELS), 2)
})

test('the reason says who answered', (t) => {
  const { telemetry, scrape } = start(t, 'text', 'off')
  const recorder = telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 })
  const reply = { status: 302, body: null, contentType: null, headers: null }
  const redirected = finishedExchange()
  Object.assign(redirected, { status: 302, localReply: reply, backend: null, firstByteAt: 0 })
  recorder.record(redirected)
  // An error has its reply as well; the error is the reason.
  const failed = finishedExchange()
  Object.assign(failed, {
    status: 502,
    localReply: { ...reply, status: 502 },
    error: 'CONNECT_FAILURE',
    firstByteAt: 0
  })
  recorder.record(failed)
  const gone = finishedExchange()
  Object.assign(gone, { status: 0, error: 'CLIENT_GONE', firstByteAt: 0 })
  recorder.record(gone)
  const text = scrape()
  assert.equal(
    text.value('weir_requests_total', { ...LABELS, backend: '', status: '302', reason: 'DirectResponse' }),
    1
  )
  assert.equal(text.value('weir_requests_total', { ...LABELS, status: '502', reason: 'CONNECT_FAILURE' }), 1)
  assert.equal(text.value('weir_requests_total', { ...LABELS, status: '499', reason: 'CLIENT_GONE' }), 1)
  assert.equal(text.value('weir_upstream_first_byte_seconds_count', { route: 'r', backend: 'web' }), undefined)
})

test('every error code is a reason of its own', (t) => {
  const { telemetry, scrape } = start(t, 'text', 'off')
  for (const code of Object.keys(ERRORS) as (keyof typeof ERRORS)[]) {
    const ex = finishedExchange()
    Object.assign(ex, { status: 0, error: code })
    telemetry.unrouted.record(ex)
  }
  const text = scrape()
  for (const [code, { status }] of Object.entries(ERRORS)) {
    const labels = { ...LABELS, port: '', listener: '', route: '', status: String(status), reason: code }
    assert.equal(text.value('weir_requests_total', labels), 1, code)
  }
})

test('neither clients nor backends can make series without end', (t) => {
  const { telemetry, scrape } = start(t, 'text', 'off')
  const recorder = telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 })
  for (let i = 0; i < 900; i++) {
    const ex = finishedExchange({ method: `M${i}`, path: `/${i}`, authority: `${i}.example.com` })
    ex.status = 100 + i
    recorder.record(ex)
  }
  const requests = scrape().samples.filter((sample) => sample.name === 'weir_requests_total')
  assert.equal(requests.length, 129)
  assert.equal(
    requests.reduce((sum, sample) => sum + sample.value, 0),
    900
  )
  assert.equal(requests.find((sample) => sample.labels.status === 'other')!.value, 900 - 128)
  assert.ok(requests.every((sample) => sample.labels.method === 'other'))
})

test('connections of both sides are counted', (t) => {
  const { telemetry, scrape } = start(t)
  telemetry.downstream.opened(80, 'node')
  telemetry.downstream.opened(80, 'node')
  telemetry.downstream.opened(80, 'uws')
  telemetry.downstream.closed(80, 'node')
  const { upstream } = telemetry
  upstream.connected()
  upstream.connected()
  upstream.connected()
  upstream.connectFailed()
  upstream.sample({ idle: 5, busy: 7, heldBytes: 0, heldRefused: 0 })
  upstream.sample({ idle: 0, busy: 2, heldBytes: 0, heldRefused: 0 })
  upstream.retried()
  const text = scrape()
  assert.equal(text.value('weir_downstream_connections', { port: '80', transport: 'node' }), 1)
  assert.equal(text.value('weir_downstream_connections_total', { port: '80', transport: 'node' }), 2)
  assert.equal(text.value('weir_downstream_connections', { port: '80', transport: 'uws' }), 1)
  assert.equal(text.value('weir_upstream_connections', { state: 'busy' }), 2)
  assert.equal(text.value('weir_upstream_connections', { state: 'idle' }), 0)
  assert.equal(text.value('weir_upstream_connects_total', { result: 'ok' }), 3)
  assert.equal(text.value('weir_upstream_connects_total', { result: 'failed' }), 1)
  assert.equal(text.value('weir_upstream_retries_total'), 1)
  assert.equal(text.value('weir_event_loop_delay_seconds', { worker: '0', stat: 'p99' }), 0)
})

test('a text line has the fields in order, without the query', async (t) => {
  const { telemetry, lines } = start(t)
  const ex = finishedExchange({ path: '/a/b', query: '?api_key=sk-canary', remoteAddress: '2001:db8::1' })
  ex.request.receive('authorization', 'Bearer sk-canary')
  ex.request.receive('x-request-id', 'mine-1')
  ex.attempts = 2
  telemetry.recorderFor({ route: 'r 1', listener: 'main', port: 8080 }).record(ex)
  const [line] = await lines()
  assert.match(
    line!,
    /^time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info target=request listener=main route="r 1" endpoint=10\.0\.0\.1:8080 backend=web src\.addr=\[2001:db8::1\]:40000 http\.method=GET http\.host=example\.com http\.path=\/a\/b http\.version=HTTP\/1\.1 http\.status=200 bytes\.in=80 bytes\.out=1200 request\.id=mine-1 retry\.attempt=2 duration=\d+\.\d{3}ms$/
  )
})

test('a request that was refused before its target was read has no method, host or path', async (t) => {
  const { telemetry, lines } = start(t, 'text')
  telemetry
    .recorderFor({ route: 'r', listener: 'main', port: 8080 })
    .record(finishedExchange({ method: '', authority: '', path: '' }))
  assert.match((await lines())[0]!, / src\.addr=192\.0\.2\.7:40000 http\.version=HTTP\/1\.1 http\.status=/)
})

test('a JSON line has the same fields, typed', async (t) => {
  const { telemetry, lines } = start(t, 'json')
  const ex = finishedExchange({ query: '?api_key=sk-canary' })
  Object.assign(ex, { status: 503, error: 'NO_BACKEND', backend: null, endpoint: null })
  telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 }).record(ex)
  const line = (await lines())[0]!
  const { time, duration, 'request.id': id, ...rest } = JSON.parse(line)
  assert.match(id, /^req_[0-9a-f]{32}$/)
  assert.equal(new Date(time).toISOString(), time)
  assert.equal(typeof duration, 'number')
  assert.deepEqual(rest, {
    level: 'info',
    target: 'request',
    listener: 'main',
    route: 'r',
    'src.addr': '192.0.2.7:40000',
    'http.method': 'GET',
    'http.host': 'example.com',
    'http.path': '/index.html',
    'http.version': 'HTTP/1.1',
    'http.status': 503,
    reason: 'NO_BACKEND',
    'bytes.in': 80,
    'bytes.out': 1200
  })
  assert.deepEqual(Object.keys(JSON.parse(line)).slice(0, 5), ['time', 'level', 'target', 'listener', 'route'])
})

test('a client cannot forge a line, a field, or a line that a pipe would split', async (t) => {
  const attack = '/x"\r\ntime=2000-01-01 http.status=200 \x1b[2J\x85'
  for (const format of ['text', 'json'] as const) {
    await t.test(format, async (t) => {
      const { telemetry, lines } = start(t, format)
      const long = attack.repeat(3000)
      const facts = { path: attack, authority: attack, method: attack, remoteAddress: attack }
      telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 }).record(finishedExchange(facts))
      const longFacts = { path: long, authority: long, method: long, remoteAddress: long }
      const ex = finishedExchange(longFacts)
      Object.assign(ex, { backend: long, endpoint: long, error: 'UPSTREAM_PROTOCOL', attempts: 9, bytesSent: 2 ** 52 })
      telemetry.recorderFor({ route: long, listener: long, port: 8080 }).record(ex)
      const out = await lines()
      assert.equal(out.length, 2)
      for (const line of out) {
        assert.match(line, /^[ -~]+$/)
        assert.ok(line.length < 4096, `${line.length} bytes`)
        if (format === 'json') JSON.parse(line)
        else assert.equal(line.replace(/"(?:[^"\\]|\\.)*"/g, '').match(/http\.status=/g)!.length, 1)
      }
      if (format === 'json') assert.equal(JSON.parse(out[0]!)['http.path'], attack)
    })
  }
})

test('the access log follows the level of target request, at run time', async (t) => {
  const { telemetry, lines } = start(t, 'text', 'info,request=off')
  const recorder = telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 })
  const recordAt = (path: string): Exchange => {
    const ex = finishedExchange({ path })
    recorder.record(ex)
    return ex
  }
  recordAt('/off')
  telemetry.setLogLevel('warn,request=info')
  recordAt('/on')
  assert.throws(() => telemetry.setLogLevel('request=maybe'))
  recordAt('/still-on')
  telemetry.setLogLevel('warn')
  recordAt('/off-again')
  assert.deepEqual(
    (await lines()).map((line) => /http\.path=(\S+)/.exec(line)![1]),
    ['/on', '/still-on']
  )
})

test('lines that cannot be written are counted', async (t) => {
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(REGION_BYTES)
  const fd = fs.openSync(os.devNull, 'r')
  t.after(() => fs.closeSync(fd))
  const telemetry = createTelemetry({
    region,
    worker: 0,
    announce: table.attach('0', region),
    logging: { level: 'off,request=info', format: 'text' },
    accessLogFd: fd
  })
  telemetry.unrouted.record(finishedExchange())
  telemetry.unrouted.record(finishedExchange())
  await telemetry.close()
  assert.equal(parseExposition(table.expose()).value('weir_access_log_dropped_total'), 2)
})

test('a plan says which exchanges are logged, and with what; its failures are counted', async (t) => {
  const { telemetry, scrape, lines } = start(t)
  const ex = finishedExchange()
  const skip = new Set(['http.host', 'duration', 'listener'])
  const verdicts = [true, false, null]
  const attributes: AccessLogPlan['attributes'] = (_ex, into) => {
    into.add('a', 'x y')
    return into.add('long', '"'.repeat(5000)) ? 2 : 0
  }
  const plan: AccessLogPlan = {
    filter: () => verdicts.shift()!,
    skip,
    attributes,
    elsewhere: null,
    records: null,
    readsAnswers: false,
    readsRequests: false,
    readsTimes: false,
    readsRouting: false
  }
  const recorder = telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 }, plan)
  for (let i = 0; i < 3; i++) recorder.record(ex)
  const [line = '', ...more] = await lines()
  assert.match(line, /target=request route=r [^=]*.* a="x y" long="(?:\\")+\.\.\."$/)
  assert.doesNotMatch(line, /http\.host|duration|listener/)
  assert.deepEqual(more, [])
  const text = scrape()
  assert.equal(text.value('weir_access_log_failures_total', { part: 'filter' }), 1)
  assert.equal(text.value('weir_access_log_failures_total', { part: 'attribute' }), 2)
  // They are exchanges all the same.
  assert.equal(text.value('weir_requests_total', LABELS), 3)
})

test('a line about MCP servers has the names of the OpenTelemetry conventions', async (t) => {
  const { telemetry, lines } = start(t)
  const ex = finishedExchange()
  ex.mcp = {
    method: 'tools/call',
    sessionId: 'abcd',
    protocolVersion: '2025-11-25',
    requestId: '7',
    item: { kind: 'tool', name: 'add', target: 'calc', arguments: { secret: 'canary' } },
    errorCode: -32602
  }
  const recorder = telemetry.recorderFor({ route: 'r', listener: 'main', port: 8080 })
  recorder.record(ex)
  ex.mcp = { method: 'resources/read', item: { kind: 'resource', name: 'a://b', target: 'files' } }
  recorder.record(ex)
  ex.mcp = { method: 'tools/list', target: 'x'.repeat(5000), item: null }
  recorder.record(ex)
  const [call, read, list] = await lines()
  const fields = [
    ...['mcp.method.name=tools/call', 'mcp.session.id=abcd', 'mcp.protocol.version=2025-11-25', 'mcp.target=calc'],
    ...['gen_ai.operation.name=execute_tool', 'gen_ai.tool.name=add', 'jsonrpc.request.id=7'],
    ...['rpc.response.status_code=-32602', 'error.type=-32602']
  ]
  assert.ok(call!.replaceAll('"', '').includes(fields.join(' ')), call)
  assert.doesNotMatch(call!, /canary/)
  assert.match(read!.replaceAll('"', ''), / mcp.method.name=resources\/read mcp.target=files mcp.resource.uri=a:\/\/b /)
  assert.ok(list!.length < 1000)
})
