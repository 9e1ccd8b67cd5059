/** Lists of servers, remembered by a whole gateway: how long, for whom, and until what. */
import { deepEqual, equal } from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { McpServer, RegisteredTool } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { clientOf, gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'
import { startStateless, statelessClientOf } from '#backends/mcp/testing/stateless.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'

const INFO = { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' } }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {}
}

/** A server of 2026-07-28 whose tools are named after who asks; what it says of caches is the test's. */
async function hinting(t: TestContext, hints: { ttlMs?: number; cacheScope?: string }, pages = 1) {
  const requests: string[] = []
  const http = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => {
      body += piece
    })
    request.on('end', () => {
      const { id, method, params } = JSON.parse(body)
      response.setHeader('content-type', 'application/json')
      const say = (result: object) => response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      const whole = { resultType: 'complete', _meta: INFO }
      if (method === 'server/discover')
        say({
          ...whole,
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {} },
          ttlMs: 0,
          cacheScope: 'public'
        })
      else if (method === 'tools/list') {
        const page = Number(params.cursor ?? 0)
        requests.push(String(page))
        const user = request.headers['x-user'] ?? request.headers['x-signature'] ?? 'all'
        const inputSchema = { type: 'object' }
        const tools = [`${user}-${page}`, `secret-${page}`].map((name) => ({ name, inputSchema }))
        say({ ...whole, ...hints, tools, ...(page + 1 < pages ? { nextCursor: String(page + 1) } : {}) })
      } else {
        response.statusCode = 404
        response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }))
      }
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  return { port: (http.address() as AddressInfo).port, requests }
}

/** What a client of 2026-07-28 is told: the result. */
async function listed(url: string, headers: Record<string, string> = {}, params: object = {}, id = 1) {
  const fields = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list', ...headers }
  const body = { jsonrpc: '2.0', id, method: 'tools/list', params: { _meta: META, ...params } }
  const response = await post(url, body, fields)
  const message = (await response.json()) as {
    id: number
    result: { tools: { name: string }[]; ttlMs?: number; cacheScope?: string; nextCursor?: string }
  }
  equal(message.id, id)
  return { ...message.result, names: message.result.tools.map(({ name }) => name) }
}

const LONG = { ttlMs: 600_000, cacheScope: 'public' }

describe('a list that its server lets be kept', () => {
  it('is asked for once for everybody, and each caller sees his part', async (t) => {
    const servers = [await hinting(t, LONG, 3), await hinting(t, LONG)]
    const key = signingKey('ES256')
    const jwtAuthentication = { issuer: 'https://issuer.example', jwks: keySet([key]) }
    const authorization = { allow: ['jwt.sub == "ann"', '!mcp.tool.name.startsWith("secret")'], deny: [], require: [] }
    const backend = mcpOf([httpTarget('a', servers[0]!.port), httpTarget('b', servers[1]!.port)], { authorization })
    const { url } = await gatewayOf(t, backend, { policies: { jwtAuthentication } })
    const as = async (sub: string) => ({ authorization: `Bearer ${await token(key, hour({ sub }))}` })
    const [ann, bob] = [await as('ann'), await as('bob')]
    const open = ['a_all-0', 'a_all-1', 'a_all-2', 'b_all-0']
    for (let i = 0; i < 3; i++) {
      deepEqual((await listed(url, bob, {}, i)).names, open)
      const { names, ttlMs, cacheScope } = await listed(url, ann, {}, i + 10)
      deepEqual(
        names.filter((name) => !name.includes('secret')),
        open
      )
      equal(names.length, 8)
      deepEqual([ttlMs, cacheScope], [0, 'private'])
    }
    deepEqual([servers[0]!.requests, servers[1]!.requests], [['0', '1', '2'], ['0']])
  })

  it('of one server is kept page by page, and says how long it is good for yet', async (t) => {
    const server = await hinting(t, LONG, 2)
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
    for (let i = 0; i < 2; i++) {
      const first = await listed(url)
      deepEqual([first.names, first.nextCursor], [['all-0', 'secret-0'], '1'])
      const second = await listed(url, {}, { cursor: '1' })
      deepEqual([second.names, second.nextCursor, second.cacheScope], [['all-1', 'secret-1'], undefined, 'public'])
      equal(second.ttlMs! <= LONG.ttlMs && second.ttlMs! > LONG.ttlMs - 60_000, true)
    }
    deepEqual(server.requests, ['0', '1'])
  })

  for (const count of [1, 2]) {
    it(`is not shared where it is private or the server sees the caller: ${count}`, async (t) => {
      for (const cacheScope of ['private', 'public']) {
        const server = await hinting(t, { ttlMs: 600_000, cacheScope })
        const targets = [httpTarget('a', server.port), httpTarget('b', server.port)].slice(0, count)
        const { url } = await gatewayOf(t, mcpOf(targets, { forwardHeaders: ['x-user'] }))
        const prefix = count === 1 ? '' : 'a_'
        for (const user of ['ann', 'bob', 'ann', 'bob'])
          equal((await listed(url, { 'x-user': user })).names[0], `${prefix}${user}-0`)
        equal(server.requests.length, 2 * count, cacheScope)
      }
    })
  }

  for (const count of [1, 2]) {
    it(`is not shared where the server is shown a key in a field that else differs by request: ${count}`, async (t) => {
      const server = await hinting(t, LONG)
      const keys = ['ann', 'bob'].map((key) => ({ key }))
      const shown = httpTarget('a', server.port, { auth: { kind: 'passthrough' } })
      const targets = [shown, httpTarget('b', server.port)].slice(0, count)
      const { url } = await gatewayOf(t, mcpOf(targets), {
        policies: { apiKeyAuthentication: { keys, location: { header: { name: 'x-signature' } } } }
      })
      const prefix = count === 1 ? '' : 'a_'
      for (const key of ['ann', 'bob', 'ann', 'bob'])
        equal((await listed(url, { 'x-signature': key })).names[0], `${prefix}${key}-0`)
      equal(server.requests.length, 2 * count)
    })
  }

  it('is cached per caller where it is private, although the server does not see the caller', async (t) => {
    const server = await hinting(t, { ttlMs: 600_000, cacheScope: 'private' })
    const keys = ['a', 'b'].map((key) => ({ key: `key-${key}`, metadata: { role: key } }))
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]), {
      policies: { apiKeyAuthentication: { keys } }
    })
    for (const key of ['key-a', 'key-a', 'key-b', 'key-b', 'key-a'])
      await listed(url, { authorization: `Bearer ${key}` })
    equal(server.requests.length, 2)
  })

  it('is asked for each time without a time, and where a request says what may change it', async (t) => {
    for (const hints of [{}, { ttlMs: 0, cacheScope: 'public' }, { ttlMs: -1, cacheScope: 'public' }]) {
      const server = await hinting(t, hints)
      const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port), httpTarget('b', server.port)]))
      await listed(url)
      await listed(url)
      equal(server.requests.length, 4, JSON.stringify(hints))
    }
    const server = await hinting(t, LONG)
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
    await listed(url)
    await listed(url, {}, { _meta: { ...META, 'example.org/flavour': 'sweet' } })
    equal(server.requests.length, 2)
  })

  it('stays over a reload that leaves its target alone, and goes with one that does not', async (t) => {
    const server = await hinting(t, LONG)
    let path = '/mcp'
    const targets = () => [httpTarget('a', server.port, { path }), httpTarget('b', server.port)]
    const backend = mcpOf([])
    const { url, again } = await gatewayOf(t, {
      ...backend,
      get targets() {
        return targets()
      }
    } as typeof backend)
    await listed(url)
    await again()
    await listed(url)
    equal(server.requests.length, 2)
    path = '/mcp?two'
    await again()
    await listed(url)
    equal(server.requests.length, 3)
  })

  it('is kept for clients of the old era too', async (t) => {
    const server = await hinting(t, LONG)
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
    for (let i = 0; i < 2; i++) {
      const { client } = await clientOf(t, url)
      const result = await client.listTools()
      deepEqual(
        result.tools.map(({ name }) => name),
        ['all-0', 'secret-0']
      )
      deepEqual([result.ttlMs, result.cacheScope], [undefined, undefined])
    }
    equal(server.requests.length, 1)
  })

  it('of a session is kept by the headers that its server gets', async (t) => {
    const server = await hinting(t, { ttlMs: 600_000, cacheScope: 'private' })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)], { forwardHeaders: ['x-user'] }))
    const begun = await post(url, INITIALIZE)
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id')! }
    await begun.text()
    for (const user of ['ann', 'bob', 'ann']) {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      const text = await (await post(url, body, { ...session, 'x-user': user })).text()
      equal(text.includes(`${user}-0`), true, text)
    }
    equal(server.requests.length, 2)
  })
})

/** A server of the old era whose tools come and go. */
async function changing(t: TestContext) {
  let tool: RegisteredTool | null = null
  const server = await startMcp(t, {
    setUp(made: McpServer) {
      made.registerTool('fixed', {}, () => ({ content: [] }))
      tool = made.registerTool('other', {}, () => ({ content: [] }))
      made.registerTool('turn', {}, () => {
        tool!.disable()
        return { content: [] }
      })
    }
  })
  const lists = () => server.seen.filter(({ body }) => body.includes('"tools/list"')).length
  return { ...server, lists, disable: () => tool!.disable() }
}

describe('a list whose server tells of changes', () => {
  for (const count of [1, 2]) {
    it(`is kept as long as the session listens, until it has changed: ${count}`, async (t) => {
      const server = await changing(t)
      const other = await changing(t)
      const targets = [httpTarget('a', server.port), httpTarget('b', other.port)].slice(0, count)
      const { url } = await gatewayOf(t, mcpOf(targets))
      const { client, transport } = await clientOf(t, url)
      const names = async () => {
        const { tools } = await client.listTools()
        return tools.map(({ name }) => name.replace('a_', '')).filter((name) => !name.startsWith('b_'))
      }
      // The first listed after the stream is open.
      while (!(await isHeard(server, names))) deepEqual(await names(), ['fixed', 'other', 'turn'])
      const before = server.lists()
      for (let i = 0; i < 3; i++) deepEqual(await names(), ['fixed', 'other', 'turn'])
      equal(server.lists(), before)
      const notified = new Promise<void>((resolve) =>
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve())
      )
      server.disable()
      await notified
      deepEqual(await names(), ['fixed', 'turn'])
      deepEqual(await names(), ['fixed', 'turn'])
      equal(server.lists(), before + 1)
      await client.callTool({ name: count === 1 ? 'fixed' : 'a_fixed' })
      await names()
      equal(server.lists(), before + 2)
      equal(transport.sessionId !== undefined, true)
    })
  }

  it('is fetched each time where no session has its stream open', async (t) => {
    const server = await changing(t)
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port), httpTarget('b', server.port)]))
    const begun = await post(url, INITIALIZE)
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id')! }
    await begun.text()
    for (let i = 1; i < 4; i++) {
      const listing = await post(url, { jsonrpc: '2.0', id: i, method: 'tools/list' }, session)
      await listing.text()
      equal(server.lists(), 2 * i)
    }
  })

  it('of the new era expires early when a subscription announces a change', async (t) => {
    let tools = ['x']
    const server = await startStateless(t, {
      setUp(made) {
        for (const name of tools) made.registerTool(name, {}, () => ({ content: [] }))
      }
    })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
    const notified = Promise.withResolvers<void>()
    const listChanged = { tools: { onChanged: () => notified.resolve(), autoRefresh: false } }
    const client = await statelessClientOf(t, url, { listChanged })
    const names = async () => (await client.listTools()).tools.map(({ name }) => name)
    deepEqual(await names(), ['x'])
    tools = ['x', 'y']
    server.handler.notify.toolsChanged()
    await notified.promise
    deepEqual(await names(), ['x', 'y'])
  })
})

/** Whether a list has been given without its server, twice in a row. */
async function isHeard(server: { lists(): number }, names: () => Promise<unknown>): Promise<boolean> {
  await names()
  const before = server.lists()
  await names()
  return server.lists() === before
}
