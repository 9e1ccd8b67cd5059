/** Trace context of what MCP servers ask and tell their clients, and of what clients tell servers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { startMcp } from '#backends/mcp/testing/servers.ts'
import type { CollectedSpan } from '#engine/testing/otlp-collector.ts'
import { ask, startTraced } from '#engine/testing/traced.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const SCHEMA = { type: 'object', properties: { name: { type: 'string' } } } as const
const ELICIT = 'elicitation/create'
const LOG = 'notifications/message'

type Meta = Readonly<Record<string, unknown>> | undefined

/** A server that tells and asks something while its tool runs, with `_meta`. */
async function stand(t: TestContext, _meta?: Readonly<Record<string, string>>, tracing: object = {}) {
  const ownMeta = _meta === undefined ? {} : { _meta }
  const setUp = (server: McpServer): void =>
    void server.registerTool('add', {}, async (extra) => {
      await extra.sendNotification({ method: LOG, params: { level: 'info', data: 'adding', ...ownMeta } })
      const related = { relatedRequestId: extra.requestId }
      const params = { message: 'Who?', requestedSchema: SCHEMA, ...ownMeta }
      const answer = await server.server.elicitInput(params, related).catch(() => ({ action: 'failed' }))
      return { content: [{ type: 'text', text: answer.action }] }
    })
  const tools = await startMcp(t, { setUp })
  const mcp = { targets: [{ name: 'calc', mcp: { host: `http://127.0.0.1:${tools.port}/mcp` } }] }
  const traced = await startTraced(t, { backends: [{ mcp }] }, tracing)
  return { ...traced, tools }
}

/** Calls the tool, and answers what its server asks. `seen`: `_meta` that the client got, by method. */
async function call(t: TestContext, port: number, answer: () => Promise<{ action: 'accept' | 'decline' }>) {
  const client = new Client({ name: 'tester', version: '1' }, { capabilities: { elicitation: {} } })
  const seen = new Map<string, Meta>()
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    seen.set(ELICIT, params._meta)
    return answer()
  })
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void seen.set(LOG, params._meta))
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`))
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client['connect']>[0])
  t.after(() => client.close())
  await client.callTool({ name: 'add', arguments: {} })
  return seen
}

const accept = () => Promise.resolve({ action: 'accept' } as const)

const isToolCall = ({ name, kind }: CollectedSpan): boolean => name === 'tools/call add' && kind === 'SPAN_KIND_CLIENT'

/** Of a message of the server: what came, and what the client got. */
function pair(spans: readonly CollectedSpan[], name: string) {
  const [received, ...more] = spans.filter((span) => span.name === name && span.kind === 'SPAN_KIND_SERVER')
  const [sent, ...others] = spans.filter((span) => span.name === name && span.kind === 'SPAN_KIND_CLIENT')
  assert.deepEqual([more, others], [[], []])
  return { received: received!, sent: sent! }
}

const hasAll = (spans: readonly CollectedSpan[]): boolean =>
  spans.some(isToolCall) && [ELICIT, LOG].every((name) => spans.filter((span) => span.name === name).length === 2)

test('what a server asks and tells its client is a part of the call, and the client gets its context', async (t) => {
  const { port, collector } = await stand(t)
  const seen = await call(t, port, accept)
  const spans = await collector.until(hasAll)
  const request = spans.find(isToolCall)!
  for (const name of [ELICIT, LOG]) {
    const { received, sent } = pair(spans, name)
    assert.deepEqual([received.traceId, received.parentSpanId], [request.traceId, request.spanId])
    assert.deepEqual([sent.traceId, sent.parentSpanId], [request.traceId, received.spanId])
    assert.deepEqual([received.links, received.isError, sent.isError], [[], false, false])
    assert.equal(seen.get(name)?.traceparent, `00-${sent.traceId}-${sent.spanId}-01`)
    for (const { attributes } of [received, sent]) {
      assert.deepEqual([attributes['mcp.method.name'], attributes['weir.mcp.target']], [name, 'calc'])
      assert.equal(typeof attributes['jsonrpc.request.id'], name === LOG ? 'undefined' : 'string')
    }
    assert.ok(request.startedAt <= received.startedAt && received.endedAt <= request.endedAt)
  }
})

test('a context that the server has put into its message is the parent, and the call is linked', async (t) => {
  const own = { traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'a=1', baggage: 'tenant=blue', note: 'kept' }
  const { port, collector } = await stand(t, own)
  const seen = await call(t, port, accept)
  const spans = await collector.until(hasAll)
  const request = spans.find(isToolCall)!
  for (const name of [ELICIT, LOG]) {
    const { received, sent } = pair(spans, name)
    assert.deepEqual([received.traceId, received.parentSpanId, received.traceState], [TRACE, CALLER, 'a=1'])
    assert.deepEqual(received.links, [{ traceId: request.traceId, spanId: request.spanId }])
    assert.deepEqual([sent.traceId, sent.parentSpanId, sent.links], [TRACE, received.spanId, []])
    assert.deepEqual(seen.get(name), { ...own, traceparent: `00-${TRACE}-${sent.spanId}-01` })
  }
})

test('a context that is not sampled, with its state, gives way to that of the call', async (t) => {
  const { port, collector } = await stand(t, { traceparent: `00-${TRACE}-${CALLER}-00`, tracestate: 'a=1' })
  const seen = await call(t, port, accept)
  const spans = await collector.until(hasAll)
  const { received, sent } = pair(spans, ELICIT)
  assert.equal(received.parentSpanId, spans.find(isToolCall)!.spanId)
  assert.deepEqual(seen.get(ELICIT), { traceparent: `00-${sent.traceId}-${sent.spanId}-01` })
})

test('an error is the client’s answer', async (t) => {
  const { port, collector } = await stand(t)
  await call(t, port, () => Promise.reject(new Error('nobody is there')))
  const { received, sent } = pair(await collector.until(hasAll), ELICIT)
  for (const span of [received, sent]) assert.deepEqual([span.attributes['error.type'], span.isError], ['-32603', true])
})

test('messages of exchanges that are not traced pass as they are', async (t) => {
  const own = { traceparent: `00-${TRACE}-${CALLER}-01`, note: 'kept' }
  const { port, collector } = await stand(t, own, { randomSampling: false })
  const seen = await call(t, port, accept)
  assert.deepEqual([seen.get(ELICIT), seen.get(LOG)], [own, own])
  assert.deepEqual(collector.spans, [])
})

const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A session of a client that is written out. */
async function session(port: number) {
  const rpc = (message: object, headers = {}) =>
    ask(port, '/mcp', { ...ACCEPT, ...headers }, JSON.stringify({ jsonrpc: '2.0', ...message }))
  const clientInfo = { name: 'tester', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const begun = await rpc({ id: 1, method: 'initialize', params })
  const fields = { 'mcp-session-id': String(begun.headers['mcp-session-id']) }
  return { fields, tell: (method: string, more: object = {}) => rpc({ method, ...more }, fields) }
}

test('a notification on the stream of a server is a part of the request for that', async (t) => {
  const { port, collector, tools } = await stand(t)
  const { fields } = await session(port)
  const [response] = (await once(
    get({ host: '127.0.0.1', port, path: '/mcp', agent: false, headers: { accept: 'text/event-stream', ...fields } }),
    'response'
  )) as [IncomingMessage]
  for (const { server } of tools.sessions.values()) server.sendToolListChanged()
  const [chunk] = (await once(response, 'data')) as [Buffer]
  response.destroy()
  const { params } = JSON.parse(/data: (\{.*\})/.exec(chunk.toString())![1]!) as { params: { _meta: Meta } }
  const name = 'notifications/tools/list_changed'
  const spans = await collector.until((all) => all.some((span) => span.name === 'GET /*'))
  const { received, sent } = pair(spans, name)
  const stream = spans.find((span) => span.name === 'GET /*')!
  assert.deepEqual([received.traceId, received.parentSpanId], [stream.traceId, stream.spanId])
  assert.equal(params._meta?.traceparent, `00-${sent.traceId}-${sent.spanId}-01`)
})

test('a notification of a client has a span for each server that gets it, whose context it has', async (t) => {
  const { port, collector, tools } = await stand(t)
  const { tell } = await session(port)
  const name = 'notifications/roots/list_changed'
  assert.equal((await tell(name, { params: { _meta: { note: 'kept' } } })).status, 202)
  const spans = await collector.until((all) => all.filter((span) => span.name === name).length === 2)
  const { received, sent } = pair(spans, name)
  assert.deepEqual([sent.parentSpanId, sent.attributes['weir.mcp.target']], [received.spanId, 'calc'])
  assert.ok(!('jsonrpc.request.id' in sent.attributes))
  const got = tools.seen.find(({ body }) => body.includes(name))!
  const { params } = JSON.parse(got.body) as { params: { _meta: Meta } }
  const traceparent = `00-${sent.traceId}-${sent.spanId}-01`
  assert.deepEqual(params._meta, { note: 'kept', traceparent })
  assert.equal(String(got.headers.traceparent).slice(0, 35), traceparent.slice(0, 35))
})
