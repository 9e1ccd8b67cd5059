/**
 * `npm run conformance -- collector`: a gateway of two workers sends traces, metrics and log records to a real
 * OpenTelemetry Collector, over gRPC and then over HTTP, and what the collector has written is read back.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Ending, startMcp } from '#backends/mcp/testing/servers.ts'
import { freePort, runProgram } from '#engine/testing/program.ts'
import { COLLECTOR_VERSION, type RunningCollector, startCollector } from './collector.ts'
import { type Received, receivedOf, type Span } from './received.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const PROTOCOLS = ['GRPC', 'HTTP'] as const

type Print = (line: string) => void

/** False: something is missing or wrong. */
export async function runCollector(print: Print): Promise<boolean> {
  let failed = 0
  for (const protocol of PROTOCOLS) {
    const { received, statuses } = await exchange(protocol)
    print(`${protocol}: ${statuses.join(', ')}`)
    for (const [what, isRight] of checksOf(received)) {
      if (!isRight) failed++
      print(`${isRight ? 'ok    ' : 'FAILED'} ${protocol}: ${what}`)
    }
    if (protocol === PROTOCOLS[0]) for (const line of transcriptOf(received)) print(`  ${line}`)
  }
  print(`collector: OpenTelemetry Collector ${COLLECTOR_VERSION}: ${failed === 0 ? 'passed' : `${failed} failed`}`)
  return failed === 0
}

/** A GET, a chat and a tool call through a gateway, and what a collector has got of them. */
async function exchange(protocol: string): Promise<{ received: Received; statuses: readonly string[] }> {
  const endings: (() => unknown)[] = []
  const ending: Ending = { after: (step) => void endings.push(step as () => unknown) }
  try {
    const collector = await startCollector()
    const port = await freePort()
    const gateway = runProgram(['-c', JSON.stringify(await fileOf(ending, port, collector, protocol))])
    ending.after(() => gateway.stop())
    await gateway.logged('target=start')
    const statuses = await send(`http://127.0.0.1:${port}`)
    // What is left is sent at the end.
    gateway.signal('SIGTERM')
    await gateway.exited()
    return { received: receivedOf(await collector.stop()), statuses }
  } finally {
    for (const step of endings.reverse()) await step()
  }
}

async function fileOf(ending: Ending, port: number, { grpcPort, httpPort }: RunningCollector, protocol: string) {
  const web = await server(ending, (_request, response) => void response.end('hello'))
  const model = await server(ending, (_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(COMPLETION))
  })
  const tools = await startMcp(ending, {
    setUp: (made) => made.registerTool('add', {}, () => ({ content: [{ type: 'text', text: 'added' }] }))
  })
  const provider = { name: 'model', openai: { model: 'gpt-test' }, host: '127.0.0.1', port: model }
  const target = { name: 'calc', mcp: { host: `http://127.0.0.1:${tools.port}/mcp` } }
  const path = (value: string) => [{ path: { pathPrefix: value } }]
  const routes = [
    { name: 'web', matches: path('/things'), backends: [{ host: `127.0.0.1:${web}` }] },
    { name: 'chat', matches: path('/v1'), backends: [{ ai: { groups: [{ providers: [provider] }] } }] },
    { name: 'tools', matches: path('/mcp'), backends: [{ mcp: { targets: [target] } }] }
  ]
  const otlp = { backendRef: { name: 'collector' }, protocol }
  return {
    config: { workerThreads: 2, adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
    frontendPolicies: {
      tracing: { ...otlp, randomSampling: true },
      accessLog: { otlp },
      metrics: { otlp }
    },
    backends: [{ name: 'collector', host: `127.0.0.1:${protocol === 'GRPC' ? grpcPort : httpPort}` }],
    binds: [{ port, listeners: [{ name: 'main', routes }] }]
  }
}

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-test-2026',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
}

async function server(ending: Ending, answer: RequestListener): Promise<number> {
  const started = createServer(answer).listen(0, '127.0.0.1')
  await once(started, 'listening')
  ending.after(() => {
    started.close()
    started.closeAllConnections()
  })
  return (started.address() as AddressInfo).port
}

async function send(origin: string): Promise<readonly string[]> {
  const traceparent = `00-${TRACE}-${CALLER}-01`
  const got = await fetch(`${origin}/things/1`, { headers: { traceparent } })
  await got.text()
  const body = JSON.stringify({ model: 'gpt-test', temperature: 1, messages: [{ role: 'user', content: 'Hi' }] })
  const headers = { 'content-type': 'application/json' }
  const chatted = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body })
  await chatted.text()
  const client = new Client({ name: 'conformance', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`))
  // The SDK's own types do not agree under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client['connect']>[0])
  const called = await client.callTool({ name: 'add', arguments: {} })
  await client.close()
  return [`GET /things/1 ${got.status}`, `chat ${chatted.status}`, `tools/call ${JSON.stringify(called.content)}`]
}

function checksOf({ spans, records, metrics }: Received): readonly (readonly [what: string, isRight: boolean])[] {
  const named = (name: string) => spans.find((span) => span.name === name)
  const isBelow = (child: Span | undefined, parent: Span | undefined) =>
    child !== undefined && child.parentSpanId === parent?.spanId && child.traceId === parent?.traceId
  const got = named('GET /things/*')
  const chat = named('chat gpt-test')
  const calls = spans.filter(({ name }) => name === 'tools/call add')
  const requests = new Set(spans.filter(({ name }) => /^(GET|POST|DELETE) \//.test(name)).map(({ spanId }) => spanId))
  const current = latest(metrics)
  const sumOf = (name: string) =>
    current.filter((metric) => metric.name === name).reduce((sum, { value }) => sum + value, 0)
  return [
    ["the GET has the client's span as its parent", got?.traceId === TRACE && got.parentSpanId === CALLER],
    ['its attempt has the GET as its parent', isBelow(named('GET'), got)],
    ['the chat has its request as its parent', isBelow(chat, named('POST /v1/*'))],
    ['what was asked of the model keeps its type', attributeOf(chat, 'gen_ai.request.temperature')?.doubleValue === 1],
    [
      'each choice of the answer says how it ended',
      attributeOf(chat, 'gen_ai.response.finish_reasons')?.arrayValue?.values[0]?.stringValue === 'stop'
    ],
    [
      'a tool call has a span for the client and one for the server, one below the other',
      calls.some((call) => calls.some((other) => isBelow(call, other)))
    ],
    [
      'each request has a log record with its trace and span',
      records.length === requests.size &&
        records.every(
          ({ spanId = '', traceId }) =>
            requests.has(spanId) && spans.some((span) => span.spanId === spanId && span.traceId === traceId)
        )
    ],
    ['weir.requests counts each request of both workers once', sumOf('weir.requests') === records.length],
    ['weir.request_duration has as many', sumOf('weir.request_duration') === records.length],
    ['tokens of the model are in gen_ai.client.token.usage', sumOf('gen_ai.client.token.usage') === 2],
    ['the process is one instance', new Set(metrics.map(({ instance }) => instance)).size === 1],
    ['nothing was sent twice', new Set(spans.map(({ spanId }) => spanId)).size === spans.length]
  ]
}

const attributeOf = (span: Span | undefined, name: string) => span?.attributes?.find(({ key }) => key === name)?.value

/** Sums since the start: those of the last export say all. */
function latest(metrics: Received['metrics']): Received['metrics'] {
  const [last] = metrics.toSorted((a, b) => Number(b.at - a.at))
  return metrics.filter(({ at }) => at === last?.at)
}

function transcriptOf({ spans, records, metrics }: Received): string[] {
  const shown = latest(metrics).filter(({ name }) => name === 'weir.requests')
  return [
    ...spans.map(
      ({ name, traceId, spanId, parentSpanId = '' }) =>
        `span ${traceId.slice(0, 8)} ${spanId} <- ${parentSpanId || 'none'} ${name}`
    ),
    ...records.map(
      ({ severityText, body, traceId = '', spanId = '' }) =>
        `log ${traceId.slice(0, 8)} ${spanId} ${severityText} ${body.stringValue}`
    ),
    ...shown.map(
      ({ name, attributes, value }) => `metric ${name}{route=${attributes.route},status=${attributes.status}} ${value}`
    )
  ]
}
