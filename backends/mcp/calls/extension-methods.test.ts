/** Methods that no revision has, where rules shut callers out of targets. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'

const rules = (more: Partial<McpRules>): McpRules => ({ allow: [], deny: [], require: [], ...more })

const POLICIES = {
  apiKeyAuthentication: {
    keys: [
      { key: 'key-a', metadata: { role: 'admin' } },
      { key: 'key-b', metadata: { role: 'user' } }
    ]
  }
}
const ADMIN = 'Bearer key-a'
const USER = 'Bearer key-b'

/** A server of the SDK with one method more. `got`: the methods that have come, notifications too. */
async function server(t: TestContext, method: string) {
  const got: string[] = []
  const { port } = await startMcp(t, {
    isJson: true,
    setUp(made) {
      made.server.registerCapabilities({ experimental: { vendor: {} } })
      made.registerTool('x', {}, () => ({ content: [] }))
      made.server.fallbackNotificationHandler = async (message) => void got.push(message.method)
      made.server.fallbackRequestHandler = async (message) => {
        got.push(message.method)
        if (message.method !== method) throw Object.assign(new Error('Method not found'), { code: -32601 })
        return { wiped: message.params ?? null }
      }
    }
  })
  return { port, got }
}

/** Sends `message` in a session of that caller, and reads the answer. */
async function says(url: string, authorization: string, message: object): Promise<[number, string]> {
  const begun = await post(url, INITIALIZE, { authorization })
  await begun.text()
  const session = { authorization, 'mcp-session-id': begun.headers.get('mcp-session-id')! }
  // Targets that begin with their first call have a session then, to which notifications go.
  await (await post(url, { jsonrpc: '2.0', id: 8, method: 'tools/list' }, session)).text()
  const answer = await post(url, { jsonrpc: '2.0', ...message }, session)
  return [answer.status, await answer.text()]
}

/** As a caller of 2026-07-28. */
async function modern(url: string, authorization: string, method: string): Promise<[number, string]> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {}
  }
  const headers = { authorization, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
  const answer = await post(url, { jsonrpc: '2.0', id: 1, method, params: { _meta } }, headers)
  return [answer.status, await answer.text()]
}

describe('a method of an extension', () => {
  for (const count of [1, 2]) {
    for (const place of ['backend', 'target']) {
      it(`reaches no server whose rules do not allow it: ${count}, rules of the ${place}`, async (t) => {
        const admin = await server(t, 'admin/wipe')
        const open = await server(t, 'open/see')
        const authorization = rules({ allow: ['apiKey.role == "admin"', 'mcp.tool.name == "x"'] })
        const own = place === 'target' ? { authorization } : {}
        const targets = [httpTarget('admin', admin.port, own), httpTarget('open', open.port)].slice(0, count)
        const made = mcpOf(targets, place === 'backend' ? { authorization } : {})
        const { url } = await gatewayOf(t, made, { policies: POLICIES })
        const wipe = { id: 1, method: 'admin/wipe', params: { all: true } }
        const [status, text] = await says(url, USER, wipe)
        equal(status, 200)
        match(text, /-32601/)
        const [, modernText] = await modern(url, USER, 'admin/wipe')
        match(modernText, /-32601/)
        for (const method of ['notifications/wipe', 'admin/wipe', 'tools/call'])
          equal((await says(url, USER, { method, params: { name: 'x' } }))[0], 202)
        deepEqual(admin.got, [])
        match((await says(url, ADMIN, wipe))[1], /"wiped":\{"all":true\}/)
        equal((await says(url, ADMIN, { method: 'notifications/wipe' }))[0], 202)
        deepEqual(admin.got, ['admin/wipe', 'notifications/wipe'])
        if (count === 2) match((await says(url, USER, { id: 1, method: 'open/see' }))[1], /wiped|-32601/)
        deepEqual(open.got.includes('open/see'), count === 2 && place === 'target')
      })
    }
  }

  it('is allowed and denied by its name, its target and its params', async (t) => {
    const cases: [rules: Partial<McpRules>, passes: boolean][] = [
      [{ allow: ['mcp.method.name == "admin/wipe"'] }, true],
      [{ allow: ['mcp.method.name == "admin/wipe" && mcp.method.target == "other"'] }, false],
      [{ allow: ['mcp.method.name.startsWith("admin/") && mcp.method.arguments.all == true'] }, true],
      [{ allow: ['mcp.method.arguments.all == false'] }, false],
      [{ allow: ['mcp.tool.name == "x"'] }, false],
      [{ deny: ['mcp.tool.name == "x"'] }, true],
      [{ deny: ['mcp.method.name == "admin/wipe"'] }, false],
      [{ require: ['apiKey.role == "admin"'] }, false],
      [{}, true]
    ]
    const admin = await server(t, 'admin/wipe')
    for (const [input, passes] of cases) {
      const made = mcpOf([httpTarget('admin', admin.port)], { authorization: rules(input) })
      const { url } = await gatewayOf(t, made, { policies: POLICIES })
      const [, text] = await says(url, USER, { id: 1, method: 'admin/wipe', params: { all: true } })
      equal(text.includes('wiped'), passes, JSON.stringify(input))
    }
  })
})
