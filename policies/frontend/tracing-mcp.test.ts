/** Trace context in messages of MCP: `_meta` of their params. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type McpHttpServer, startMcp } from '#backends/mcp/testing/servers.ts'
import type { CollectedSpan } from '#engine/testing/otlp-collector.ts'
import { ask, isClient, startTraced } from '#engine/testing/traced.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

interface Called {
  /** What the server got as `_meta`. */
  readonly meta: Readonly<Record<string, unknown>>
  readonly server: CollectedSpan
  readonly client: CollectedSpan
  readonly http: CollectedSpan
}

const paramsOf = ({ seen }: McpHttpServer): { _meta?: Record<string, unknown> } =>
  seen
    .filter(({ body }) => body.includes('tools/call'))
    .map(({ body }) => (JSON.parse(body) as { params: { _meta?: Record<string, unknown> } }).params)
    .at(-1)!

/** One call of a tool, whose message has this `_meta`, with these headers. */
async function call(t: TestContext, _meta: object, headers: Record<string, string> = {}): Promise<Called> {
  const tools = await startMcp(t, {
    setUp: (made) => made.registerTool('add', {}, () => ({ content: [{ type: 'text', text: 'added' }] }))
  })
  const mcp = { targets: [{ name: 'calc', mcp: { host: `http://127.0.0.1:${tools.port}/mcp` } }] }
  const { port, collector } = await startTraced(t, { backends: [{ mcp }] })
  const rpc = (method: string, params: object, more = {}) =>
    ask(port, '/mcp', { ...ACCEPT, ...more }, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))
  const clientInfo = { name: 'tester', version: '1' }
  const begun = await rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const session = { 'mcp-session-id': String(begun.headers['mcp-session-id']) }
  await rpc('tools/call', { name: 'add', arguments: {}, _meta }, { ...session, ...headers })
  const isCall = (span: CollectedSpan) => 'gen_ai.tool.name' in span.attributes
  const isRequest = (span: CollectedSpan) => span.name === 'POST /*'
  const spans = await collector.until((all) => all.filter(isCall).length === 2 && all.filter(isRequest).length === 2)
  const client = spans.find((span) => isCall(span) && isClient(span))!
  const server = spans.find((span) => isCall(span) && !isClient(span))!
  return { meta: paramsOf(tools)._meta ?? {}, server, client, http: spans.findLast(isRequest)! }
}

test('a server gets the context of its own message, beside what the client says there', async (t) => {
  const headers = { baggage: 'tenant=blue', traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'a=1' }
  const { meta, client, server, http } = await call(t, { note: 'kept' }, headers)
  assert.deepEqual(meta, {
    note: 'kept',
    traceparent: `00-${TRACE}-${client.spanId}-01`,
    tracestate: 'a=1',
    baggage: 'tenant=blue'
  })
  assert.deepEqual([client.parentSpanId, server.parentSpanId], [server.spanId, http.spanId])
  assert.deepEqual(server.links, [])
})

test('the context of a message is the parent of its span, which links the request that carried it', async (t) => {
  const baggage = 'tenant=red'
  const { meta, client, server, http } = await call(t, {
    traceparent: `00-${TRACE}-${CALLER}-01`,
    tracestate: 'b=2',
    baggage
  })
  assert.deepEqual([server.traceId, server.parentSpanId, server.traceState], [TRACE, CALLER, 'b=2'])
  assert.deepEqual([client.traceId, client.parentSpanId], [TRACE, server.spanId])
  assert.notEqual(http.traceId, TRACE)
  assert.deepEqual(server.links, [{ traceId: http.traceId, spanId: http.spanId }])
  assert.deepEqual(meta, { traceparent: `00-${TRACE}-${client.spanId}-01`, tracestate: 'b=2', baggage })
})

for (const traceparent of [`00-${TRACE}-${CALLER}-00`, 'no traceparent', 7, `00-${'0'.repeat(32)}-${CALLER}-01`]) {
  test(`a message with the context ${traceparent} is a part of its request`, async (t) => {
    const { meta, client, server, http } = await call(t, { traceparent })
    assert.deepEqual([server.traceId, server.parentSpanId], [http.traceId, http.spanId])
    assert.equal(meta.traceparent, `00-${http.traceId}-${client.spanId}-${String(meta.traceparent).slice(-2)}`)
  })
}
