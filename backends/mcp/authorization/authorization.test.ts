/** Rules over tools, prompts and resources: what is hidden looks like what is not there. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { McpError } from '@modelcontextprotocol/sdk/types.js'
import type { McpRules } from '#backends/mcp/config/snapshot.ts'
import { clientOf, gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { type McpHttpServer, startMcp } from '#backends/mcp/testing/servers.ts'

const rules = (more: Partial<McpRules>): McpRules => ({ allow: [], deny: [], require: [], ...more })

const server = (t: TestContext): Promise<McpHttpServer> =>
  startMcp(t, {
    isJson: true,
    setUp(made) {
      for (const name of ['open', 'secret']) {
        made.registerTool(name, {}, () => ({ content: [{ type: 'text', text: name }] }))
        made.registerPrompt(name, {}, () => ({ messages: [] }))
        made.registerResource(name, `file:///${name}`, {}, (uri) => ({ contents: [{ uri: uri.href, text: name }] }))
      }
    }
  })

const POLICIES = {
  apiKeyAuthentication: {
    keys: [
      { key: 'key-a', metadata: { role: 'admin' } },
      { key: 'key-b', metadata: { role: 'user' } }
    ]
  }
}

async function errorOf(call: Promise<unknown>): Promise<readonly [number, string]> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason
  )
  if (!(error instanceof McpError)) throw new Error(`no protocol error: ${String(error)}`)
  return [error.code, error.message]
}

describe('authorization', () => {
  for (const count of [1, 2]) {
    it(`filters lists by caller, and hides calls behind the error of unknown ones: ${count}`, async (t) => {
      const a = await server(t)
      const b = await server(t)
      const targets = [httpTarget('a', a.port), httpTarget('b', b.port)].slice(0, count)
      const authorization = rules({ allow: ['apiKey.role == "admin"', 'mcp.tool.name == "open"'] })
      const { url } = await gatewayOf(t, mcpOf(targets, { authorization }), { policies: POLICIES })
      const admin = (await clientOf(t, url, { authorization: 'Bearer key-a' })).client
      const user = (await clientOf(t, url, { authorization: 'Bearer key-b' })).client
      const prefix = count === 1 ? '' : 'a_'
      const own = async (client: typeof admin) =>
        (await client.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith(prefix))
      deepEqual(await own(admin), [`${prefix}open`, `${prefix}secret`])
      deepEqual(await own(user), [`${prefix}open`])
      deepEqual((await user.listPrompts()).prompts, [])
      deepEqual((await user.listResources()).resources, [])
      equal((await admin.listPrompts()).prompts.length, 2 * count)
      await user.callTool({ name: `${prefix}open` })
      await admin.callTool({ name: `${prefix}secret` })
      for (const name of [`${prefix}secret`, `${prefix}none`, 'x_y']) {
        const expected = [-32602, `MCP error -32602: Unknown tool: ${name}`]
        deepEqual(await errorOf(user.callTool({ name })), expected)
      }
      deepEqual(await errorOf(user.getPrompt({ name: `${prefix}secret` })), [
        -32602,
        `MCP error -32602: Unknown prompt: ${prefix}secret`
      ])
      const uri = count === 1 ? 'file:///secret' : 'a+file:///secret'
      const hidden = [-32602, `MCP error -32602: Unknown resource: ${uri}`]
      deepEqual(await errorOf(user.readResource({ uri })), hidden)
      deepEqual(await errorOf(user.subscribeResource({ uri })), hidden)
      const ref = { type: 'ref/prompt' as const, name: `${prefix}secret` }
      equal((await errorOf(user.complete({ ref, argument: { name: 'x', value: '' } })))[0], -32602)
      const calls = a.seen.filter(({ body }) => body.includes('"tools/call"'))
      equal(calls.filter(({ body }) => body.includes('none')).length, 0)
      equal(calls.length, 2)
    })
  }

  it('of one target holds beside that of the backend', async (t) => {
    const a = await server(t)
    const b = await server(t)
    const own = rules({ deny: ['mcp.tool.name == "secret" && mcp.tool.target == "b"'] })
    const { url } = await gatewayOf(
      t,
      mcpOf([httpTarget('a', a.port), httpTarget('b', b.port, { authorization: own })])
    )
    const { client } = await clientOf(t, url)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    deepEqual(names, ['a_open', 'a_secret', 'b_open'])
  })

  it('does not let the server’s own words tell hidden from unknown', async (t) => {
    const a = await server(t)
    const { url } = await gatewayOf(
      t,
      mcpOf([httpTarget('a', a.port)], { authorization: rules({ deny: ['mcp.tool.name == "secret"'] }) })
    )
    const { client } = await clientOf(t, url)
    for (const name of ['secret', 'none'])
      deepEqual(await errorOf(client.callTool({ name })), [-32602, `MCP error -32602: Unknown tool: ${name}`])
    await client.callTool({ name: 'open' })
  })

  it('sees the arguments of calls, and the target gets what it has seen', async (t) => {
    const a = await server(t)
    const authorization = rules({ deny: ['mcp.tool.name == "secret"', 'has(mcp.tool.arguments.x)'] })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', a.port)], { authorization }))
    const { client } = await clientOf(t, url)
    // A list has no arguments yet: rules about them hide nothing that they would not hide for a call without any.
    deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['open']
    )
    equal((await errorOf(client.callTool({ name: 'open', arguments: { x: 1 } })))[0], -32602)
    const begun = await post(url, INITIALIZE)
    await begun.text()
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id')! }
    const twice = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret","name":"open"}}'
    const { result } = (await (await post(url, twice, session)).json()) as { result: object }
    deepEqual(result, { content: [{ type: 'text', text: 'open' }] })
    equal(a.seen.at(-1)!.body.includes('secret'), false)
  })

  it('denies a resource in all the ways in which a server of the SDK opens it', async (t) => {
    const ways: readonly (readonly [uri: string, ...ways: string[]])[] = [
      [
        'file:///secret%20plans.txt',
        'file:///secret plans.txt',
        'file:secret plans.txt',
        'file:/x/../secret plans.txt'
      ],
      [
        'http://internal.example/x',
        'http:/internal.example/x',
        'http:internal.example/x',
        'http:///internal.example/x'
      ],
      ['http://127.0.0.1/x', 'http://127.1/x', 'http://2130706433/x', 'http:\\\\0x7f.1:0080\\x'],
      ['notes://h/caf%C3%A9', 'notes://h/café', 'NOTES://h/./café']
    ]
    const a = await startMcp(t, {
      isJson: true,
      setUp(made) {
        for (const [uri] of ways) made.registerResource(uri, uri, {}, () => ({ contents: [{ uri, text: uri }] }))
      }
    })
    const deny = ways.map(([uri]) => `mcp.resource.name == ${JSON.stringify(uri)}`)
    const [open, shut] = await Promise.all(
      [[], deny].map(async (some) => {
        const made = mcpOf([httpTarget('a', a.port)], { authorization: rules({ deny: some }) })
        return (await clientOf(t, (await gatewayOf(t, made)).url)).client
      })
    )
    for (const [uri, ...others] of ways) {
      for (const way of [uri, ...others]) {
        const { contents } = await open!.readResource({ uri: way })
        deepEqual(contents, [{ uri, text: uri }], way)
        deepEqual(await errorOf(shut!.readResource({ uri: way })), [
          -32602,
          `MCP error -32602: Unknown resource: ${way}`
        ])
      }
    }
  })
})
