/** Clients of the old transport, with the official SDK on both sides. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'
import { SharedRevocations } from '#engine/workers/shared.ts'

function setUp(server: McpServer): void {
  server.registerTool('ask', {}, async (extra) => {
    const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
    const elicited = await server.server.elicitInput(
      { message: '?', requestedSchema },
      { relatedRequestId: extra.requestId }
    )
    return { content: [{ type: 'text', text: String(elicited.content?.name) }] }
  })
}

async function connected(t: TestContext, url: string, fetched: typeof fetch = fetch) {
  const client = new Client({ name: 'old', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }))
  const transport = new SSEClientTransport(new URL(url.replace(/mcp$/, 'sse')), { fetch: fetched })
  await client.connect(transport as Parameters<Client['connect']>[0])
  t.after(() => client.close())
  return client
}

describe('the transport of 2024-11-05', () => {
  it('works for one target and for several, and its session dies with the stream', async (t) => {
    const upstream = await startMcp(t, { setUp })
    for (const names of [['a'], ['a', 'b']]) {
      const { url } = await gatewayOf(t, mcpOf(names.map((name) => httpTarget(name, upstream.port))))
      const client = await connected(t, url)
      const tools = (await client.listTools()).tools.map(({ name }) => name)
      deepEqual(tools, names.length === 1 ? ['ask'] : ['a_ask', 'b_ask'])
      const { content } = await client.callTool({ name: tools[0]! })
      deepEqual(content, [{ type: 'text', text: 'Ann' }])
      const ended = Promise.all(names.map(() => upstream.until('DELETE')))
      await client.close()
      await ended
    }
  })

  it('reaches its stream from another worker', async (t) => {
    const upstream = await startMcp(t, { setUp })
    const shared = { secret: randomBytes(32), revocations: new SharedRevocations() }
    const mcp = mcpOf([httpTarget('a', upstream.port)])
    const [here, there] = [await gatewayOf(t, mcp, shared), await gatewayOf(t, mcp, shared)]
    const client = await connected(t, here.url, (at, init) => {
      const to = new URL(String(at))
      if (init?.method === 'POST') to.port = String(there.port)
      return fetch(to, init)
    })
    equal((await client.listTools()).tools.length, 1)
  })

  it('knows no streams of others, and none that are over', async (t) => {
    const upstream = await startMcp(t, { setUp })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', upstream.port)]))
    const sse = url.replace(/mcp$/, 'sse')
    const leaving = new AbortController()
    const stream = await fetch(sse, { headers: { accept: 'text/event-stream' }, signal: leaving.signal })
    const reader = stream.body!.getReader()
    const text = Buffer.from((await reader.read()).value!).toString()
    const endpoint = new URL(/^data: (.*)$/m.exec(text)![1]!, sse)
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const send = async (to: URL, body = JSON.stringify(ping)) =>
      (await fetch(to, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status
    equal(await send(endpoint), 202)
    equal(await send(endpoint, '{'), 400)
    equal(
      Buffer.from((await reader.read()).value!)
        .toString()
        .includes('initialize comes first'),
      true
    )
    const forged = new URL(endpoint)
    forged.searchParams.set('sessionId', 'x')
    equal(await send(forged), 404)
  })

  it('has one session per stream, since no other request would end more', async (t) => {
    const upstream = await startMcp(t, { setUp })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', upstream.port)]))
    const leaving = new AbortController()
    const sse = url.replace(/mcp$/, 'sse')
    const stream = await fetch(sse, { headers: { accept: 'text/event-stream' }, signal: leaving.signal })
    const reader = stream.body!.getReader()
    const next = async () => Buffer.from((await reader.read()).value!).toString()
    const endpoint = new URL(/^data: (.*)$/m.exec(await next())![1]!, sse)
    const headers = { 'content-type': 'application/json' }
    const begin = () => fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(INITIALIZE) })
    await begin()
    match(await next(), /"serverInfo"/)
    await begin()
    match(await next(), /this stream has its session already/)
    const ended = upstream.until('DELETE')
    leaving.abort()
    await ended
    equal(upstream.seen.filter(({ body }) => body.includes('"initialize"')).length, 1)
  })
})
