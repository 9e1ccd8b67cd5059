/** One target over HTTP, with the official SDK on both sides. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { mcpBackend } from './backend.ts'
import { clientOf, gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from './testing/gateway.ts'
import { startMcp } from './testing/servers.ts'

function echo(server: McpServer): void {
  server.registerTool('echo', { description: 'says it again', inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text: `you said ${text}` }]
  }))
}

describe('one target', () => {
  for (const isJson of [false, true]) {
    it(`is spoken to through the gateway, ${isJson ? 'JSON' : 'streams'}`, async (t) => {
      const upstream = await startMcp(t, { isJson, setUp: echo })
      const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
      const { client, transport } = await clientOf(t, url)
      equal(client.getServerVersion()?.name, 'fixture')
      equal(client.getInstructions(), 'Be kind.')
      deepEqual(
        (await client.listTools()).tools.map(({ name }) => name),
        ['echo']
      )
      const { content } = await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
      deepEqual(content, [{ type: 'text', text: 'you said hi' }])
      const [id] = upstream.sessions.keys()
      equal(transport.sessionId?.includes(id!), false)
      await transport.terminateSession()
      equal(upstream.sessions.size, 0)
    })
  }

  it('answers JSON with JSON when nothing else came', async (t) => {
    const upstream = await startMcp(t, { isJson: true, setUp: echo })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const begun = await post(url, INITIALIZE)
    equal(begun.status, 200)
    equal(begun.headers.get('content-type'), 'application/json')
    const session = begun.headers.get('mcp-session-id')!
    const pinged = await post(url, { jsonrpc: '2.0', id: 1, method: 'ping' }, { 'mcp-session-id': session })
    equal(pinged.headers.get('content-type'), 'application/json')
    deepEqual(await pinged.json(), { jsonrpc: '2.0', id: 1, result: {} })
  })

  it('that has lost its session is initialised again, once for all calls', async (t) => {
    const upstream = await startMcp(t, { setUp: echo })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const { client } = await clientOf(t, url)
    upstream.forget()
    const calls = ['a', 'b', 'c'].map((text) => client.callTool({ name: 'echo', arguments: { text } }))
    const texts = (await Promise.all(calls)).map(({ content }) => (content as { text: string }[])[0]!.text)
    deepEqual(texts, ['you said a', 'you said b', 'you said c'])
    equal(upstream.seen.filter(({ body }) => body.includes('"initialize"')).length, 2)
  })

  it('that is not there fails initialize in JSON-RPC', async (t) => {
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', 1)]))
    await rejects(clientOf(t, url), /target one: the backend refused the connection/)
  })
})

it('fills in a shared key of sessions where the backend has none', () => {
  const withKey = mcpBackend.withSessionKey!
  const backend = { name: 'tools', session: { key: null, idleTimeoutMs: 1 } }
  deepEqual(withKey(backend as never, 'shared'), { name: 'tools', session: { key: 'shared', idleTimeoutMs: 1 } })
  const own = { session: { key: 'own' } }
  equal(withKey(own as never, 'shared'), own)
})
