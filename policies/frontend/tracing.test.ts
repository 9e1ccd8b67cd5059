/** Spans of whole requests, as a collector gets them. */
import assert from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { serveNotes } from '#backends/mcp/testing/notes.ts'
import { startModels } from '#engine/testing/models.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { ask, hasServer, isClient, isServer, startTraced } from '#engine/testing/traced.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

async function originOf(t: TestContext, reply?: Parameters<typeof startOrigin>[0]) {
  const origin = await startOrigin(reply)
  t.after(() => origin.close())
  return origin
}

const to = (port: number, more: object = {}): object => ({ backends: [{ host: `127.0.0.1:${port}` }], ...more })

const headerOf = (headers: readonly string[], name: string): string | undefined => {
  const i = headers.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === name)
  return i < 0 ? undefined : headers[i + 1]
}

test('a request has a span, and its attempt another one', async (t) => {
  const origin = await originOf(t)
  const matches = [{ path: { pathPrefix: '/things' } }]
  const { port, collector } = await startTraced(t, to(origin.port, { matches }))
  const before = BigInt(Date.now()) * 1_000_000n
  await ask(port, '/things/1?key=secret', { 'user-agent': 'tester/1' })
  const spans = await collector.until(hasServer)
  const [attempt, server] = spans
  assert.equal(spans.length, 2)
  assert.equal(server!.name, 'GET /things/*')
  assert.equal(server!.kind, 'SPAN_KIND_SERVER')
  assert.equal(server!.parentSpanId, '')
  assert.match(server!.traceId, /^[0-9a-f]{32}$/)
  const { 'network.peer.port': peerPort, 'weir.request.id': id, ...attributes } = server!.attributes
  assert.equal(typeof peerPort, 'number')
  assert.match(String(id), /^req_[0-9a-f]{32}$/)
  assert.deepEqual(attributes, {
    'http.route': '/things/*',
    'weir.listener': 'web',
    'weir.route': 'one',
    'http.request.method': 'GET',
    'url.scheme': 'http',
    'url.path': '/things/1',
    'server.address': '127.0.0.1',
    'server.port': port,
    'client.address': '127.0.0.1',
    'network.peer.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'user_agent.original': 'tester/1',
    'http.response.status_code': 200,
    'weir.backend': 'web/one/0',
    'weir.endpoint': `127.0.0.1:${origin.port}`
  })
  assert.equal(attempt!.name, 'GET')
  assert.equal(attempt!.kind, 'SPAN_KIND_CLIENT')
  assert.equal(attempt!.traceId, server!.traceId)
  assert.equal(attempt!.parentSpanId, server!.spanId)
  assert.deepEqual(attempt!.attributes, {
    'server.address': '127.0.0.1',
    'server.port': origin.port,
    'http.request.method': 'GET',
    'url.full': `http://127.0.0.1:${origin.port}/things/1`,
    'http.response.status_code': 200,
    'network.peer.address': '127.0.0.1',
    'network.peer.port': origin.port,
    'weir.backend': 'web/one/0'
  })
  const sent = headerOf(origin.seen[0]!.headers, 'traceparent')
  assert.equal(sent, `00-${server!.traceId}-${attempt!.spanId}-01`)
  assert.ok(server!.startedAt <= attempt!.startedAt && attempt!.endedAt <= server!.endedAt)
  // The monotonic clock and that of the system may differ by what their steps are.
  assert.ok(server!.startedAt >= before - 50_000_000n && server!.endedAt <= BigInt(Date.now() + 50) * 1_000_000n)
  const { 'service.name': service, 'process.pid': pid } = server!.resource
  assert.deepEqual([service, pid, server!.scope], ['weir', process.pid, 'weir'])
})

test('a client’s trace goes on, with its state and its baggage', async (t) => {
  const origin = await originOf(t)
  const { port, collector } = await startTraced(t, to(origin.port), { randomSampling: false })
  const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'a=1,b=2', baggage: 'user=x' }
  await ask(port, '/', headers)
  const spans = await collector.until(hasServer)
  const server = spans.find(isServer)!
  const attempt = spans.find(isClient)!
  assert.deepEqual([server.traceId, server.parentSpanId, server.traceState], [TRACE, SPAN, 'a=1,b=2'])
  // The parent is remote, the attempt's is not.
  assert.deepEqual([server.flags, attempt.flags], [0x301, 0x101])
  const seen = origin.seen[0]!.headers
  assert.equal(headerOf(seen, 'traceparent'), `00-${TRACE}-${attempt.spanId}-01`)
  assert.deepEqual([headerOf(seen, 'tracestate'), headerOf(seen, 'baggage')], ['a=1,b=2', 'user=x'])
})

test('each retry has a span, with its number', async (t) => {
  let count = 0
  const origin = await originOf(t, (response) => {
    response.statusCode = ++count < 3 ? 503 : 200
    response.end()
  })
  const policies = { retry: { attempts: 3, codes: [503], backoff: '1ms' } }
  const { port, collector } = await startTraced(t, to(origin.port, { policies }))
  assert.equal((await ask(port, '/')).status, 200)
  const spans = await collector.until(hasServer)
  const attempts = spans.filter(isClient)
  assert.deepEqual(
    attempts.map(({ attributes, isError }) => [
      attributes['http.request.resend_count'],
      attributes['http.response.status_code'],
      attributes['error.type'],
      isError
    ]),
    [
      [undefined, 503, '503', true],
      [1, 503, '503', true],
      [2, 200, undefined, false]
    ]
  )
  const sent = origin.seen.map(({ headers }) => headerOf(headers, 'traceparent')!.slice(36, 52))
  assert.deepEqual(
    attempts.map(({ spanId }) => spanId),
    sent
  )
  const server = spans.find(isServer)!
  assert.equal(server.isError, false)
  for (const { parentSpanId } of attempts) assert.equal(parentSpanId, server.spanId)
})

test('an attempt that broke off says so, although another one went well', async (t) => {
  let attempts = 0
  const origin = await originOf(t, (response) => {
    if (++attempts === 1) response.socket!.destroy()
    else response.end('ok')
  })
  const policies = { retry: { attempts: 1, codes: [502], backoff: '20ms' } }
  const { port, collector } = await startTraced(t, to(origin.port, { policies }))
  assert.equal((await ask(port, '/')).status, 200)
  const [first, second] = (await collector.until(hasServer)).filter(isClient)
  assert.match(String(first!.attributes['error.type']), /^UPSTREAM_/)
  assert.deepEqual([first!.isError, second!.isError], [true, false])
  // The pause between them belongs to neither.
  assert.ok(first!.endedAt < second!.startedAt)
})

test('the span of a failed request has the reason', async (t) => {
  const gone = await originOf(t)
  gone.close()
  const { port, collector } = await startTraced(t, to(gone.port))
  assert.equal((await ask(port, '/')).status, 502)
  const spans = await collector.until(hasServer)
  const attempt = spans.find(isClient)!
  const server = spans.find(isServer)!
  assert.deepEqual([attempt.attributes['error.type'], attempt.isError], ['CONNECT_FAILURE', true])
  assert.equal(attempt.attributes['http.response.status_code'], undefined)
  assert.deepEqual([server.attributes['error.type'], server.isError], ['CONNECT_FAILURE', true])
  assert.equal(server.attributes['http.response.status_code'], 502)
})

test('a refusal is no error of the server, and has no attempt', async (t) => {
  const origin = await originOf(t)
  const policies = { authorization: { rules: ["request.path == '/open'"] } }
  const { port, collector } = await startTraced(t, to(origin.port, { policies }))
  assert.equal((await ask(port, '/closed')).status, 403)
  const spans = await collector.until(hasServer)
  assert.equal(spans.length, 1)
  const [{ attributes, isError }] = spans as [(typeof spans)[number]]
  assert.deepEqual([attributes['weir.reason'], attributes['error.type'], isError], ['FORBIDDEN', undefined, false])
})

test('a request without a route has a span with a name of few kinds', async (t) => {
  const origin = await originOf(t)
  const { port, collector } = await startTraced(t, to(origin.port, { matches: [{ path: { exact: '/a' } }] }))
  assert.equal((await ask(port, '/b/c/d')).status, 404)
  const [server] = await collector.until(hasServer)
  assert.deepEqual([server!.name, server!.attributes['weir.reason']], ['GET', 'ROUTE_NOT_FOUND'])
})

test('attributes are added and left out, and the resource has a name', async (t) => {
  const origin = await originOf(t)
  const { port, collector, metrics } = await startTraced(t, to(origin.port), {
    attributes: {
      add: [
        { name: 'team', expression: 'request.headers["x-team"]' },
        { name: 'none', expression: 'request.headers["x-none"]' },
        { name: 'url.path', expression: '"hidden"' },
        { name: 'number', expression: '1 + 1' }
      ],
      remove: ['http.method', 'client.address', 'weir.endpoint']
    },
    resources: [{ name: 'service.name', expression: '"edge"' }]
  })
  await ask(port, '/secret', { 'x-team': 'blue' })
  const spans = await collector.until(hasServer)
  const { attributes, resource } = spans.find(isServer)!
  assert.deepEqual([attributes.team, attributes.number, attributes['url.path']], ['blue', 2, 'hidden'])
  for (const name of ['none', 'http.request.method', 'client.address', 'weir.endpoint'])
    assert.ok(!(name in attributes))
  assert.equal(spans.find(isClient)!.attributes['http.request.method'], undefined)
  assert.equal(resource['service.name'], 'edge')
  assert.match(metrics(), /weir_expression_failures_total\{policy="tracing"\} 1\n/)
})

test('a map of attributes is the same as a list', async (t) => {
  const origin = await originOf(t)
  const attributes = { 'span.team': 'request.headers["x-team"]' }
  const { port, collector } = await startTraced(t, to(origin.port), { attributes, remove: ['url.path'] })
  await ask(port, '/', { 'x-team': 'red' })
  const server = (await collector.until(hasServer)).find(isServer)!
  assert.equal(server.attributes['span.team'], 'red')
  assert.ok(!('url.path' in server.attributes))
})

const CHAT = { model: 'm1', messages: [{ role: 'user', content: 'a secret question' }] }

for (const stream of [false, true])
  test(`a ${stream ? 'streamed ' : ''}chat has a span by the GenAI conventions, without what was said`, async (t) => {
    const models = await startModels()
    t.after(() => models.close())
    const ai = { provider: { openai: {}, host: '127.0.0.1', port: models.port } }
    const { port, collector } = await startTraced(t, { backends: [{ ai }] })
    const body = JSON.stringify({ ...CHAT, ...(stream ? { stream: true } : {}) })
    await ask(port, '/v1/chat/completions', { 'content-type': 'application/json' }, body)
    const spans = await collector.until(hasServer)
    const call = spans.find(isClient)!
    assert.equal(call.name, 'chat m1')
    const { attributes } = call
    assert.equal(attributes['gen_ai.operation.name'], 'chat')
    assert.equal(attributes['gen_ai.provider.name'], 'openai')
    assert.equal(attributes['gen_ai.request.model'], 'm1')
    assert.ok(Number(attributes['gen_ai.usage.input_tokens']) > 0)
    assert.ok(Number(attributes['gen_ai.usage.output_tokens']) > 0)
    assert.equal(attributes['gen_ai.request.stream'], stream ? true : undefined)
    assert.equal(typeof attributes['gen_ai.response.time_to_first_chunk'], stream ? 'number' : 'undefined')
    assert.equal(models.requests[0]!.headers.traceparent, `00-${call.traceId}-${call.spanId}-01`)
    assert.doesNotMatch(
      JSON.stringify(spans, (_key, value) => (typeof value === 'bigint' ? '' : value)),
      /secret/
    )
  })

test('prompts and answers are in the span when the configuration asks for them', async (t) => {
  const models = await startModels()
  t.after(() => models.close())
  const ai = { provider: { openai: {}, host: '127.0.0.1', port: models.port } }
  const attributes = { 'gen_ai.input.messages': 'llm.prompt', answer: 'llm.completion[0]' }
  const { port, collector } = await startTraced(t, { backends: [{ ai }] }, { attributes })
  await ask(port, '/v1/chat/completions', { 'content-type': 'application/json' }, JSON.stringify(CHAT))
  const server = (await collector.until(hasServer)).find(isServer)!
  assert.match(String(server.attributes['gen_ai.input.messages']), /a secret question/)
  assert.ok(String(server.attributes.answer).length > 0)
})

test('a call of a tool has spans by the MCP conventions', async (t) => {
  const notes = await serveNotes('http')
  t.after(() => notes.http.closeAllConnections())
  t.after(() => notes.http.close())
  const seen: (string | undefined)[] = []
  notes.http.on('request', ({ headers }) => seen.push(headers.traceparent as string | undefined))
  const mcp = { targets: [{ name: 'notes', mcp: { host: `http://127.0.0.1:${notes.port}/mcp` } }] }
  const { port, collector } = await startTraced(t, { backends: [{ mcp }] })
  const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const rpc = (method: string, params: object, headers = {}) =>
    ask(port, '/mcp', { ...accept, ...headers }, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))
  const clientInfo = { name: 'tester', version: '1' }
  const begun = await rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const session = { 'mcp-session-id': String(begun.headers['mcp-session-id']) }
  await rpc('tools/call', { name: 'add', arguments: { text: 'a secret note' } }, session)
  const isCall = ({ attributes }: { attributes: object }) => 'gen_ai.tool.name' in attributes
  const spans = await collector.until((all) => {
    const server = all.find((span) => isCall(span) && span.kind === 'SPAN_KIND_SERVER')
    return server !== undefined && all.some(({ spanId }) => spanId === server.parentSpanId)
  })
  const server = spans.find((span) => isCall(span) && span.kind === 'SPAN_KIND_SERVER')!
  const client = spans.find((span) => isCall(span) && isClient(span))!
  const http = spans.find(({ spanId }) => spanId === server.parentSpanId)!
  assert.deepEqual([server.name, client.name, http.name], ['tools/call add', 'tools/call add', 'POST /*'])
  assert.equal(client.parentSpanId, server.spanId)
  assert.equal(server.attributes['gen_ai.operation.name'], 'execute_tool')
  assert.equal(server.attributes['jsonrpc.request.id'], '7')
  assert.equal(client.attributes['weir.mcp.target'], 'notes')
  assert.ok(seen.some((header) => header === `00-${client.traceId}-${client.spanId}-01`))
  assert.doesNotMatch(
    JSON.stringify(spans, (_key, value) => (typeof value === 'bigint' ? '' : value)),
    /secret/
  )
})

test('a call of a policy to a service has a span, and the service its trace', async (t) => {
  const origin = await originOf(t)
  const service = await originOf(t, (response) => response.end())
  const policies = { extAuth: { host: `127.0.0.1:${service.port}`, http: {} } }
  const { port, collector } = await startTraced(t, to(origin.port, { policies }))
  assert.equal((await ask(port, '/x')).status, 200)
  const spans = await collector.until((all) => all.filter(isClient).length === 2 && hasServer(all))
  const server = spans.find(isServer)!
  const call = spans.find(({ attributes }) => attributes['server.port'] === service.port)!
  assert.deepEqual([call.kind, call.parentSpanId], ['SPAN_KIND_CLIENT', server.spanId])
  assert.equal(headerOf(service.seen[0]!.headers, 'traceparent'), `00-${server.traceId}-${call.spanId}-01`)
})

test('expressions and the log have the ids of a trace', async (t) => {
  const origin = await originOf(t)
  const file = join(mkdtempSync(join(tmpdir(), 'weir-trace-')), 'log')
  const policies = { transformation: { response: { set: [{ name: 'x-trace-id', value: 'trace.id' }] } } }
  const attributes = { again: 'span.id' }
  const log = { format: 'json', fd: openSync(file, 'w') } as const
  const { port, collector, close } = await startTraced(t, to(origin.port, { policies }), { attributes }, { log })
  const { headers } = await ask(port, '/')
  const { traceId, spanId, attributes: found } = (await collector.until(hasServer)).find(isServer)!
  assert.deepEqual([headers['x-trace-id'], found.again], [traceId, spanId])
  await close()
  const line = JSON.parse(readFileSync(file, 'utf8').trim())
  assert.deepEqual([line['trace.id'], line['span.id']], [traceId, spanId])
})
