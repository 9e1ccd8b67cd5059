/** Clients and servers of both eras through a whole gateway, with the official SDKs 1.x and 2.x on either side. */
import { deepEqual, equal, match, notEqual, ok, rejects } from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client as StatefulClient } from '@modelcontextprotocol/sdk/client/index.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js'
import { inputRequired, type McpServer as StatelessMcpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { McpStdioTarget } from '#backends/mcp/targets/stdio.ts'
import { clientOf, gatewayOf, httpTarget, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'
import { startStateless, statelessClientOf } from '#backends/mcp/testing/stateless.ts'

const FORM = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const } },
  required: ['name']
}
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const textOf = (result: object): string => (result as { content: { text: string }[] }).content[0]!.text

/** A server of the old era: asks on the stream of the call, asks on the GET stream, tells progress and logs. */
function stateful(server: McpServer): void {
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text: input }) => text(`stateful: ${input}`))
  server.registerTool('greet', { inputSchema: {} }, async (_args, { sendRequest }) => {
    const params = { message: 'Your name?', requestedSchema: FORM, mode: 'form' as const }
    const { action, content } = await sendRequest(
      { method: 'elicitation/create', params },
      z.object({ action: z.string(), content: z.record(z.string(), z.unknown()).optional() })
    )
    return text(`${action} ${content?.name}`)
  })
  server.registerTool('greet-aside', { inputSchema: {} }, async () => {
    const { action, content } = await server.server.elicitInput({ message: 'Your name?', requestedSchema: FORM })
    return text(`${action} ${content?.name}`)
  })
  server.registerTool('work', { inputSchema: {} }, async (_args, { sendNotification, _meta }) => {
    const progressToken = _meta?.progressToken
    if (progressToken !== undefined)
      await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
    await sendNotification({ method: 'notifications/message', params: { level: 'debug', data: 'quiet' } })
    await sendNotification({ method: 'notifications/message', params: { level: 'error', data: 'loud' } })
    return text('done')
  })
  server.registerResource('a', 'test://a', {}, async () => ({ contents: [{ uri: 'test://a', text: 'A' }] }))
  server.server.setRequestHandler(SUBSCRIBE, async ({ params }) => {
    queueMicrotask(() => void server.server.sendResourceUpdated({ uri: params.uri }))
    return {}
  })
  server.server.setRequestHandler(UNSUBSCRIBE, async () => ({}))
}

const SUBSCRIBE = z.object({ method: z.literal('resources/subscribe'), params: z.object({ uri: z.string() }) })
const UNSUBSCRIBE = z.object({ method: z.literal('resources/unsubscribe'), params: z.object({ uri: z.string() }) })

/** A server of the new era: the same, as far as there is the same. */
function stateless(server: StatelessMcpServer): void {
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text: input }) =>
    text(`stateless: ${input}`)
  )
  server.registerTool('greet', {}, (ctx) => {
    const response = ctx.mcpReq.inputResponses?.name as { action?: string; content?: { name?: string } } | undefined
    if (response === undefined) {
      return inputRequired({
        inputRequests: { name: inputRequired.elicit({ message: 'Your name?', requestedSchema: FORM }) },
        requestState: 'asked once'
      })
    }
    return text(`${response.action} ${response.content?.name}`)
  })
  server.registerTool('work', {}, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    if (progressToken !== undefined)
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
    await ctx.mcpReq.log('error', 'loud')
    return text('done')
  })
  server.registerResource('a', 'test://a', {}, async () => ({ contents: [{ uri: 'test://a', text: 'A' }] }))
}

/** Clients whom nobody knows are offered a handshake by servers that keep sessions: these show who they are. */
const KNOWN = { forwardHeaders: ['x-api-key'] }
const TESTER = { 'x-api-key': 'tester' }
const ELICITS = { capabilities: { elicitation: {} } }

describe('a stateless client', () => {
  it('works with a stateful server', async (t) => {
    const upstream = await startMcp(t, { setUp: stateful })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)], KNOWN))
    const client = await statelessClientOf(t, url, {}, TESTER)
    equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
    equal(client.getServerVersion()?.name, 'fixture')
    equal(client.getInstructions(), 'Be kind.')
    ok((await client.listTools()).tools.some(({ name }) => name === 'echo'))
    equal(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })), 'stateful: hi')
    const { contents } = await client.readResource({ uri: 'test://a' })
    deepEqual(contents, [{ uri: 'test://a', text: 'A' }])
    // One session serves calls that nobody asks anything back for.
    equal(upstream.seen.filter(({ body }) => body.includes('"initialize"')).length, 1)
  })

  for (const tool of ['greet', 'greet-aside']) {
    it(`answers what a stateful server asks: ${tool}`, async (t) => {
      const upstream = await startMcp(t, { setUp: stateful })
      const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)], KNOWN))
      const client = await statelessClientOf(t, url, ELICITS, TESTER)
      client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }))
      equal(textOf(await client.callTool({ name: tool })), 'accept Ada')
      // The session is used again: the next call is asked like the first.
      equal(textOf(await client.callTool({ name: tool })), 'accept Ada')
    })
  }

  it('hears progress, and logs as loud as it wants them', async (t) => {
    const upstream = await startMcp(t, { setUp: stateful })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)], KNOWN))
    const client = await statelessClientOf(t, url, {}, TESTER)
    const logs: unknown[] = []
    client.setNotificationHandler('notifications/message', ({ params }) => void logs.push(params.data))
    const progress: number[] = []
    const onprogress = (event: { progress: number }): void => void progress.push(event.progress)
    await client.callTool({ name: 'work' }, { onprogress })
    deepEqual([progress, logs], [[1], []])
    await client.callTool({ name: 'work', _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } })
    deepEqual(logs, ['loud'])
  })

  it('listens to a stateful server', async (t) => {
    const upstream = await startMcp(t, { setUp: stateful })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)], KNOWN))
    const client = await statelessClientOf(t, url, {}, TESTER)
    const { promise, resolve } = Promise.withResolvers<string>()
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve('changed'))
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['test://a'] })
    deepEqual(subscription.honoredFilter, { toolsListChanged: true, resourceSubscriptions: ['test://a'] })
    for (const { server } of upstream.sessions.values()) server.sendToolListChanged()
    equal(await promise, 'changed')
    await subscription.close()
  })

  /** Calls by clients with these fields, one after the other, at one address; the sessions that they were served in. */
  async function sessionsOf(
    t: TestContext,
    fields: readonly Record<string, string>[],
    policies = {}
  ): Promise<string[]> {
    const upstream = await startMcp(t, { setUp: stateful })
    const forwardHeaders = [...new Set(fields.flatMap((one) => Object.keys(one)))]
    const session = { key: null, idleMs: 60_000, anonymous: 'PerRequest' as const }
    const mcp = mcpOf([httpTarget('one', upstream.port)], { forwardHeaders, session })
    const { url } = await gatewayOf(t, mcp, { policies })
    for (const own of fields) {
      const client = await statelessClientOf(t, url, {}, own)
      await client.callTool({ name: 'echo', arguments: { text: 'hi' } })
    }
    const calls = upstream.seen.filter(({ body }) => body.includes('"tools/call"'))
    return calls.map(({ headers }) => String(headers['mcp-session-id']))
  }

  for (const name of ['authorization', 'x-api-key']) {
    it(`never shares what is kept for another, whom only the server can tell: ${name}`, async (t) => {
      const [ann, bob, again] = await sessionsOf(t, [{ [name]: 'ann' }, { [name]: 'bob' }, { [name]: 'ann' }])
      equal(ann, again)
      notEqual(ann, bob)
    })
  }

  for (const name of ['user-agent', 'idempotency-key', 'x-csrf-token', 'x-user']) {
    it(`is not known by what anybody can say: ${name}`, async (t) => {
      const [one, other] = await sessionsOf(t, [{ [name]: 'same' }, { [name]: 'same' }])
      notEqual(one, other)
    })
  }

  it('is not known by a scheme that nothing follows', async (t) => {
    const [one, other] = await sessionsOf(t, [{ authorization: 'Bearer' }, { authorization: 'Bearer' }])
    notEqual(one, other)
  })

  it('is the same caller whatever differs with each request', async (t) => {
    const of = (id: string) => ({ authorization: 'Bearer ann', 'x-request-id': id, 'x-forwarded-for': `10.0.0.${id}` })
    equal(new Set(await sessionsOf(t, ['1', '2', '3'].map(of))).size, 1)
  })

  it('does not share upstream state with callers that have the same key but other forwarded fields', async (t) => {
    const of = (user: string) => ({ authorization: 'Bearer shared', 'x-user': user })
    const [ann, bob, again] = await sessionsOf(t, ['ann', 'bob', 'ann'].map(of))
    equal(ann, again)
    notEqual(ann, bob)
  })

  it('works with servers of both eras at once', async (t) => {
    const old = await startMcp(t, { setUp: stateful })
    const young = await startStateless(t, { setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('old', old.port), httpTarget('young', young.port)], KNOWN))
    const client = await statelessClientOf(t, url, ELICITS, TESTER)
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }))
    match(client.getInstructions() ?? '', /\[old\]\nBe kind\.\n\n\[young\]\nBe brief\./)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    ok(names.includes('old_echo') && names.includes('young_echo'))
    equal(textOf(await client.callTool({ name: 'old_echo', arguments: { text: 'hi' } })), 'stateful: hi')
    equal(textOf(await client.callTool({ name: 'young_echo', arguments: { text: 'hi' } })), 'stateless: hi')
    equal(textOf(await client.callTool({ name: 'old_greet' })), 'accept Ada')
    equal(textOf(await client.callTool({ name: 'young_greet' })), 'accept Ada')
    const { contents } = await client.readResource({ uri: 'young+test://a' })
    deepEqual(contents, [{ uri: 'young+test://a', text: 'A' }])
    await rejects(client.callTool({ name: 'young_none' }), /none/)
    const { promise, resolve } = Promise.withResolvers<string>()
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve('changed'))
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['old+test://a'] })
    deepEqual(subscription.honoredFilter, { toolsListChanged: true, resourceSubscriptions: ['old+test://a'] })
    young.handler.notify.toolsChanged()
    equal(await promise, 'changed')
    await subscription.close()
  })
})

describe('an anonymous client of 2026-07-28', () => {
  const offered = async (url: string): Promise<readonly string[]> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {}
    }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }
    const answer = await post(url, { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta } }, headers)
    return ((await answer.json()) as { result: { supportedVersions: string[] } }).result.supportedVersions
  }

  it('is offered a handshake by servers with sessions, and its own revision by all others', async (t) => {
    const old = httpTarget('old', (await startMcp(t, { setUp: stateful })).port)
    const young = httpTarget('young', (await startStateless(t, { setUp: stateless })).port)
    const dual = httpTarget('dual', (await startStateless(t, { isDual: true, setUp: stateless })).port)
    const first = async (targets: (typeof old)[], more = {}, options = {}): Promise<string> =>
      (await offered((await gatewayOf(t, mcpOf(targets, more), options)).url))[0]!
    equal(await first([old]), '2025-11-25')
    equal(await first([old, young]), '2025-11-25')
    equal(await first([young, dual]), '2026-07-28')
    equal(await first([dual]), '2026-07-28')
    equal(await first([old], { sessionRouting: 'Stateless' }), '2026-07-28')
    equal(await first([old], { session: { key: null, idleMs: 60_000, anonymous: 'PerRequest' } }), '2026-07-28')
  })

  it('has a session of its own for each request, if it wants no handshake', async (t) => {
    const upstream = await startMcp(t, { setUp: stateful })
    const session = { key: null, idleMs: 60_000, anonymous: 'PerRequest' as const }
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)], { session }))
    const client = await statelessClientOf(t, url, ELICITS)
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }))
    for (let i = 0; i < 2; i++) equal(textOf(await client.callTool({ name: 'greet' })), 'accept Ada')
    const used = upstream.seen
      .filter(({ body }) => body.includes('"tools/call"'))
      .map(({ headers }) => headers['mcp-session-id'])
    equal(new Set(used).size, 2)
  })
})

describe('a stateful client', () => {
  it('works with a stateless server', async (t) => {
    const upstream = await startStateless(t, { setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const { client } = await clientOf(t, url)
    equal(client.getServerVersion()?.name, 'stateless')
    equal(client.getInstructions(), 'Be brief.')
    deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ['echo', 'greet', 'work']
    )
    equal(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })), 'stateless: hi')
    deepEqual((await client.readResource({ uri: 'test://a' })).contents, [{ uri: 'test://a', text: 'A' }])
    await client.ping()
    await rejects(client.callTool({ name: 'none', arguments: {} }), /none/)
  })

  it('is asked what a stateless server wants to know', async (t) => {
    const upstream = await startStateless(t, { setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const made = new StatefulClient({ name: 'tester', version: '1' }, ELICITS)
    made.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Ada' } }))
    const { client } = await clientOf(t, url, {}, made)
    equal(textOf(await client.callTool({ name: 'greet', arguments: {} })), 'accept Ada')
    const retry = JSON.parse(upstream.seen.at(-1)!.body) as { params: { requestState?: string } }
    equal(retry.params.requestState, 'asked once')
  })

  it('hears progress, and logs once it has asked for them', async (t) => {
    const upstream = await startStateless(t, { setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const { client } = await clientOf(t, url)
    const logs: unknown[] = []
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params.data))
    const progress: number[] = []
    const onprogress = (event: { progress: number }): void => void progress.push(event.progress)
    await client.callTool({ name: 'work', arguments: {} }, undefined, { onprogress })
    deepEqual([progress, logs], [[1], []])
    await client.setLoggingLevel('info')
    await client.callTool({ name: 'work', arguments: {} })
    deepEqual(logs, ['loud'])
  })

  it('hears on its GET stream what a stateless server tells subscribers', async (t) => {
    const upstream = await startStateless(t, { setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const { client } = await clientOf(t, url)
    const changed = Promise.withResolvers<string>()
    const updated = Promise.withResolvers<string>()
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve('changed'))
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updated.resolve(params.uri))
    await client.subscribeResource({ uri: 'test://a' })
    const notifier = setInterval(() => {
      upstream.handler.notify.toolsChanged()
      upstream.handler.notify.resourceUpdated('test://a')
    }, 20)
    t.after(() => clearInterval(notifier))
    equal(await changed.promise, 'changed')
    equal(await updated.promise, 'test://a')
  })

  it('speaks its own era to a server of both', async (t) => {
    const upstream = await startStateless(t, { isDual: true, setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const { client } = await clientOf(t, url)
    equal(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })), 'stateless: hi')
    equal(
      upstream.seen.some(({ body }) => body.includes('server/discover')),
      false
    )
  })

  it('works with servers of both eras at once', async (t) => {
    const old = await startMcp(t, { setUp: stateful })
    const young = await startStateless(t, { setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('old', old.port), httpTarget('young', young.port)]))
    const made = new StatefulClient({ name: 'tester', version: '1' }, { capabilities: { elicitation: {}, roots: {} } })
    made.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Ada' } }))
    made.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [] }))
    const { client } = await clientOf(t, url, {}, made)
    equal(textOf(await client.callTool({ name: 'old_greet', arguments: {} })), 'accept Ada')
    equal(textOf(await client.callTool({ name: 'young_greet', arguments: {} })), 'accept Ada')
  })
})

describe('a child process', () => {
  const child = (args: readonly string[]): McpStdioTarget => ({
    kind: 'stdio',
    name: 'one',
    cmd: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', ...args],
    env: {},
    cwd: null,
    authorization: null
  })
  const everything = join(
    import.meta.dirname,
    '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js'
  )
  const young = fileURLToPath(new URL('../testing/stateless-child.fixture.ts', import.meta.url))

  it('of the old era serves a stateless client, and asks it', async (t) => {
    const { url } = await gatewayOf(t, mcpOf([child([everything, 'stdio'])], { targetTimeoutMs: 30_000, ...KNOWN }))
    const client = await statelessClientOf(t, url, ELICITS, TESTER)
    client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' }))
    ok((await client.listTools()).tools.some(({ name }) => name === 'echo'))
    match(textOf(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })), /hi/)
    match(textOf(await client.callTool({ name: 'trigger-elicitation-request' })), /declined/)
  })

  it('of the new era serves clients of both, and asks them', async (t) => {
    const { url } = await gatewayOf(t, mcpOf([child([young])], { targetTimeoutMs: 30_000 }))
    const modern = await statelessClientOf(t, url, ELICITS)
    modern.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }))
    equal(textOf(await modern.callTool({ name: 'greet' })), 'hello Ada')
    const made = new StatefulClient({ name: 'tester', version: '1' }, ELICITS)
    made.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Bob' } }))
    const { client } = await clientOf(t, url, {}, made)
    equal(textOf(await client.callTool({ name: 'greet', arguments: {} })), 'hello Bob')
  })
})

describe('the endpoint', () => {
  const META = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {}
  }
  const FIELDS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } }

  it('answers requests of the stateless era with their statuses', async (t) => {
    const upstream = await startStateless(t, { setUp: stateless })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('one', upstream.port)]))
    const fine = await post(url, LIST, FIELDS)
    equal(fine.status, 200)
    equal(fine.headers.get('mcp-session-id'), null)
    const cases: [object, Record<string, string>, number, number][] = [
      [LIST, { ...FIELDS, 'mcp-method': 'tools/call' }, 400, -32020],
      [{ ...LIST, params: {} }, FIELDS, 400, -32602],
      [{ ...LIST, method: 'ping' }, { ...FIELDS, 'mcp-method': 'ping' }, 404, -32601],
      [{ ...LIST, params: {} }, { ...FIELDS, 'mcp-protocol-version': '2099-01-01' }, 400, -32022]
    ]
    for (const [body, fields, status, code] of cases) {
      const answer = await post(url, body, fields)
      const { error } = (await answer.json()) as { error: { code: number } }
      deepEqual([answer.status, error.code], [status, code])
    }
    const notice = await post(
      url,
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: META } },
      FIELDS
    )
    equal(notice.status, 202)
    const gotten = await fetch(url, { headers: { ...FIELDS, accept: 'text/event-stream' } })
    deepEqual([gotten.status, gotten.headers.get('allow')], [405, 'POST'])
  })
})
