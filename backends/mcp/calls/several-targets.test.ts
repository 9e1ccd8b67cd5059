/** Several targets behind one endpoint, with the official SDK on both sides. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ListToolsRequestSchema,
  ResourceUpdatedNotificationSchema,
  SubscribeRequestSchema
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { clientOf, gatewayOf, httpTarget, mcpOf } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'

/** Tools, prompts and resources that say whose they are. */
const server = (label: string) => (made: McpServer) => {
  made.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [
      { type: 'text', text: `${label} heard ${text}` },
      { type: 'resource_link', uri: 'file:///a.txt', name: 'a' }
    ]
  }))
  made.registerTool(`only_${label}`, {}, () => ({ content: [] }))
  made.registerPrompt('greet', { argsSchema: { name: z.string() } }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `${label} greets ${name}` } }]
  }))
  made.registerResource('a', 'file:///a.txt', {}, (uri) => ({ contents: [{ uri: uri.href, text: `${label}'s a` }] }))
  made.registerResource('page', new ResourceTemplate('page://{n}', { list: undefined }), {}, (uri) => ({
    contents: [{ uri: uri.href, text: uri.href }]
  }))
}

async function two(t: TestContext, more: Parameters<typeof mcpOf>[1] = {}) {
  const a = await startMcp(t, { setUp: server('a') })
  const b = await startMcp(t, { setUp: server('b'), isJson: true })
  const gateway = await gatewayOf(t, mcpOf([httpTarget('a', a.port), httpTarget('b', b.port)], more))
  return { a, b, ...gateway }
}

const names = (items: readonly { name: string }[]): string[] => items.map(({ name }) => name).toSorted()

describe('several targets', () => {
  it('look like one server', async (t) => {
    const { url, a, b } = await two(t)
    const { client, transport } = await clientOf(t, url)
    equal(client.getServerVersion()?.name, 'weir')
    equal(client.getInstructions(), '[a]\nBe kind.\n\n[b]\nBe kind.')
    deepEqual(names((await client.listTools()).tools), ['a_echo', 'a_only_a', 'b_echo', 'b_only_b'])
    deepEqual(names((await client.listPrompts()).prompts), ['a_greet', 'b_greet'])
    const { resources } = await client.listResources()
    deepEqual(resources.map(({ uri }) => uri).toSorted(), ['a+file:///a.txt', 'b+file:///a.txt'])
    const { resourceTemplates } = await client.listResourceTemplates()
    deepEqual(
      resourceTemplates.map(({ uriTemplate }) => uriTemplate),
      ['a+page://{n}', 'b+page://{n}']
    )
    const { content } = await client.callTool({ name: 'b_echo', arguments: { text: 'hi' } })
    deepEqual(content, [
      { type: 'text', text: 'b heard hi' },
      { type: 'resource_link', uri: 'b+file:///a.txt', name: 'a' }
    ])
    const prompt = await client.getPrompt({ name: 'a_greet', arguments: { name: 'x' } })
    deepEqual(prompt.messages[0]!.content, { type: 'text', text: 'a greets x' })
    const read = await client.readResource({ uri: 'b+file:///a.txt' })
    deepEqual(read.contents, [{ uri: 'b+file:///a.txt', text: "b's a" }])
    await client.ping()
    await client.setLoggingLevel('info')
    equal(
      a.seen.some(({ body }) => body.includes('b_echo') || body.includes('only_b')),
      false
    )
    await transport.terminateSession()
    deepEqual([a.sessions.size, b.sessions.size], [0, 0])
  })

  it('refuse names that no target has', async (t) => {
    const { url } = await two(t)
    const { client } = await clientOf(t, url)
    await rejects(client.callTool({ name: 'echo' }), /-32602: Unknown tool: echo/)
    await rejects(client.callTool({ name: 'c_echo' }), /Unknown tool: c_echo/)
    await rejects(client.readResource({ uri: 'file:///a.txt' }), /Unknown resource: file:\/\/\/a.txt/)
  })

  it('with plain names: a name of two targets is ambiguous, a name of one is not', async (t) => {
    const { url, logged } = await two(t, { prefixMode: 'never' })
    const { client } = await clientOf(t, url)
    // Nothing is listed that cannot be called.
    const { tools } = await client.listTools()
    deepEqual(names(tools), ['only_a', 'only_b'])
    for (const { name } of tools) await client.callTool({ name })
    deepEqual((await client.listPrompts()).prompts, [])
    await client.listTools()
    deepEqual(
      logged.filter((line) => line.includes('prefixMode never')).map((line) => /the (\w+ "\w+")/.exec(line)?.[1]),
      ['tool "echo"', 'prompt "greet"']
    )
    await client.callTool({ name: 'only_b' })
    await rejects(client.callTool({ name: 'echo' }), /Ambiguous tool: echo is offered by a, b/)
    await rejects(client.callTool({ name: 'none' }), /Unknown tool: none/)
  })

  it('one of which has lost its session, and only that, are initialised again', async (t) => {
    const { url, a, b } = await two(t)
    const { client } = await clientOf(t, url)
    b.forget()
    deepEqual(names((await client.listTools()).tools), ['a_echo', 'a_only_a', 'b_echo', 'b_only_b'])
    const begun = ({ seen }: typeof a): number => seen.filter(({ body }) => body.includes('"initialize"')).length
    deepEqual([begun(a), begun(b)], [1, 2])
  })

  it('one of which is down: all, or the rest', async (t) => {
    const a = await startMcp(t, { setUp: server('a') })
    const targets = [httpTarget('a', a.port), httpTarget('b', 1)]
    const closed = await gatewayOf(t, mcpOf(targets))
    await rejects(clientOf(t, closed.url), /target b: the backend refused the connection/)
    const open = await gatewayOf(t, mcpOf(targets, { failureMode: 'failOpen' }))
    const { client } = await clientOf(t, open.url)
    deepEqual(names((await client.listTools()).tools), ['a_echo', 'a_only_a'])
    await rejects(client.callTool({ name: 'b_echo' }), /target b: /)
    match(open.logged.join('\n'), /a session begins without target b: /)
  })

  it('list page by page to the end', async (t) => {
    const paged = await startMcp(t, {
      setUp(made) {
        made.registerTool('x', {}, () => ({ content: [] }))
        made.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
          const from = Number(params?.cursor ?? 0)
          const tools = Array.from({ length: 100 }, (_, i) => ({
            name: `t${from + i}`,
            inputSchema: { type: 'object' as const }
          }))
          const kept = tools.slice(0, Math.min(100, 250 - from))
          return { tools: kept, ...(from + 100 < 250 ? { nextCursor: String(from + 100) } : {}) }
        })
      }
    })
    const other = await startMcp(t, { setUp: server('b') })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', paged.port), httpTarget('b', other.port)]))
    const { client } = await clientOf(t, url)
    const { tools, nextCursor } = await client.listTools()
    deepEqual([tools.length, nextCursor], [252, undefined])
    const single = await gatewayOf(t, mcpOf([httpTarget('a', paged.port)]))
    const alone = await clientOf(t, single.url)
    const first = await alone.client.listTools()
    deepEqual([first.tools.length, first.nextCursor], [100, '100'])
    deepEqual((await alone.client.listTools({ cursor: '200' })).tools.length, 50)
  })
})

describe('servers that ask', () => {
  const asking = (made: McpServer): void => {
    made.registerTool('ask', {}, async (extra) => {
      const { server: own } = made
      const options = { relatedRequestId: extra.requestId }
      const elicited = await own.elicitInput(
        { message: 'name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
        options
      )
      const sampled = await own.createMessage({ messages: [], maxTokens: 9 }, options)
      const roots = await own.listRoots({}, options)
      const { content } = sampled
      const text = [
        elicited.content?.name,
        Array.isArray(content) ? '' : content.type === 'text' ? content.text : '',
        roots.roots[0]?.uri
      ]
      return { content: [{ type: 'text', text: text.join(' ') }] }
    })
    made.registerTool('count', {}, async (extra) => {
      const { progressToken } = extra._meta ?? {}
      for (const progress of [1, 2])
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: progressToken!, progress }
        })
      return { content: [] }
    })
    made.server.setRequestHandler(SubscribeRequestSchema, async ({ params }) => {
      setImmediate(() => void made.server.sendResourceUpdated({ uri: params.uri }))
      return {}
    })
    made.registerResource('a', 'file:///a.txt', {}, (uri) => ({ contents: [{ uri: uri.href, text: '' }] }))
  }

  for (const count of [1, 2]) {
    it(`get elicitation, sampling and roots of the client, and it their progress: ${count}`, async (t) => {
      const targets = []
      const listened = []
      for (const name of ['a', 'b'].slice(0, count)) {
        const { port, until } = await startMcp(t, { setUp: asking })
        targets.push(httpTarget(name, port))
        listened.push(until('GET'))
      }
      const { url } = await gatewayOf(t, mcpOf(targets))
      const own = new Client(
        { name: 'tester', version: '1' },
        { capabilities: { elicitation: {}, sampling: {}, roots: {} } }
      )
      own.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }))
      own.setRequestHandler(CreateMessageRequestSchema, () => ({
        role: 'assistant',
        model: 'm',
        content: { type: 'text', text: 'yes' }
      }))
      own.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///root' }] }))
      const updated = Promise.withResolvers<string>()
      own.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated.resolve(params.uri))
      const { client } = await clientOf(t, url, {}, own)
      const prefix = count === 1 ? '' : 'b_'
      const { content } = await client.callTool({ name: `${prefix}ask` })
      deepEqual(content, [{ type: 'text', text: 'Ann yes file:///root' }])
      const heard: number[] = []
      await client.callTool({ name: `${prefix}count` }, undefined, {
        onprogress: ({ progress }) => heard.push(progress)
      })
      deepEqual(heard, [1, 2])
      const uri = count === 1 ? 'file:///a.txt' : 'b+file:///a.txt'
      await Promise.all(listened)
      await client.subscribeResource({ uri })
      equal(await updated.promise, uri)
    })
  }
})
