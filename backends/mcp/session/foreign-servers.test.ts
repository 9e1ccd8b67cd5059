/**
 * Servers as they are met: what they have not declared they answer with anything, what they have forgotten they say in
 * words of their own, and what extensions give them no revision knows.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { JsonObject, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { SharedRevocations } from '#engine/workers/shared.ts'

interface Seen {
  readonly verb: string
  readonly headers: IncomingHttpHeaders
  readonly message: Partial<RpcRequest>
}

interface RawOptions {
  readonly capabilities: JsonObject
  /** Whether it is of 2026-07-28 and nothing else. */
  readonly isStateless?: boolean
  /** Null: it answers with an empty result. */
  readonly answer?: (message: Partial<RpcRequest>, response: ServerResponse, verb: string) => boolean
}

/** A server byte by byte: what is not answered by the test is answered with an empty result. */
async function raw(t: TestContext, { capabilities, isStateless = false, answer = () => false }: RawOptions) {
  const seen: Seen[] = []
  let sessions = 0
  const http = createServer((request, response) => {
    let body = ''
    request.on('data', (piece) => {
      body += piece
    })
    request.on('end', () => {
      const message = (body === '' ? {} : JSON.parse(body)) as Partial<RpcRequest>
      const verb = request.method!
      seen.push({ verb, headers: request.headers, message })
      const { id, method } = message
      const say = (result: object, headers: Record<string, string> = {}): void => {
        response.writeHead(200, { 'content-type': 'application/json', ...headers })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      }
      const serverInfo = { name: 'raw', version: '1' }
      if (method === 'initialize' && !isStateless)
        say({ protocolVersion: '2025-11-25', capabilities, serverInfo }, { 'mcp-session-id': `s${++sessions}` })
      else if (method === 'server/discover' && isStateless)
        say({
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities,
          ttlMs: 0,
          cacheScope: 'private'
        })
      else if (answer(message, response, verb)) return
      else if (verb !== 'POST') response.writeHead(405).end()
      else if (id === undefined) response.writeHead(202).end()
      else if (method === 'initialize' || method === 'server/discover') error(response, 404, -32601, id)
      else if (method?.endsWith('/list'))
        say({ [method.split('/')[0]!]: [{ name: 'x', uri: 'x://x' }], resultType: 'complete' })
      else say({ resultType: 'complete' })
    })
  })
  await once(http.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  const requestsOf = (method: string): Seen[] => seen.filter(({ message }) => message.method === method)
  return { port, seen, requestsOf }
}

function error(response: ServerResponse, status: number, code: number, id: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } }))
}

async function sessionOf(url: string): Promise<Record<string, string>> {
  const response = await post(url, INITIALIZE)
  await response.text()
  return { 'mcp-session-id': response.headers.get('mcp-session-id')! }
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'com.example/pots': {} } }
}

/** A request of 2026-07-28. `name`: Mcp-Name. */
function modern(url: string, method: string, params: object = {}, name: string | null = null): Promise<Response> {
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name === null ? {} : { 'mcp-name': name })
  }
  return post(url, { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: META } }, headers)
}

const CALL = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'x' } }

describe('a server that has forgotten a session', () => {
  const rpc = (message: string, id: object = { id: null }): string =>
    JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, ...id })
  const WAYS: [string, number, string, string][] = [
    ['the reference servers', 400, 'application/json', rpc('Bad Request: No valid session ID provided', {})],
    ['with an id', 400, 'application/json', rpc('Bad Request: No valid session ID provided')],
    ['Python SDK 1', 400, 'application/json', rpc('Bad Request: No valid session ID provided', { id: 'server-error' })],
    ['as MCP says', 404, 'application/json', rpc('Session not found')],
    ['a gateway', 404, 'application/json', rpc('Session not found', { id: 5 })],
    ['in plain text', 400, 'text/plain', 'Invalid session ID\n'],
    ['as gone', 410, 'text/plain', 'session expired'],
    ['Rust SDK', 401, 'text/plain', 'Unauthorized: Session not found']
  ]
  for (const [label, status, type, text] of WAYS) {
    it(`is begun with anew: ${label}, ${status}`, async (t) => {
      let isForgotten = true
      const server = await raw(t, {
        capabilities: { tools: {} },
        answer: (_message, response) => {
          if (isForgotten) response.writeHead(status, { 'content-type': type }).end(text)
          return isForgotten
        }
      })
      const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
      const session = await sessionOf(url)
      // A notification that meets it has nobody to reach, which is no fault of the gateway.
      equal((await post(url, { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }, session)).status, 202)
      const call = post(url, CALL, session)
      while (server.requestsOf('initialize').length < 2) await new Promise((then) => setImmediate(then))
      isForgotten = false
      const answer = await call
      deepEqual(
        [answer.status, await answer.json()],
        [200, { jsonrpc: '2.0', id: 5, result: { resultType: 'complete' } }]
      )
      equal(server.requestsOf('tools/call').at(-1)!.headers['mcp-session-id'], 's2')
    })
  }

  it('is begun with anew for the stream of a client', async (t) => {
    const server = await raw(t, {
      capabilities: {},
      answer: (_message, response, verb) => {
        if (verb !== 'GET' || server.requestsOf('initialize').length > 1) return false
        response.writeHead(400, { 'content-type': 'application/json' })
        response.end(rpc('Bad Request: No valid session ID provided', {}))
        return true
      }
    })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
    const session = await sessionOf(url)
    const stream = await fetch(url, { headers: { ...session, accept: 'text/event-stream' } })
    // It has no stream, as it says in its new session.
    deepEqual([stream.status, server.requestsOf('initialize').length], [405, 2])
  })

  it('is not the cause of a refused call: the server has read an id that it returns, and the call runs once', async (t) => {
    const refusals: [status: number, code: number, message: string][] = [
      [400, -32602, 'invalid session of parliament'],
      [401, -32001, 'paid, but the airline session is closed'],
      [400, -32000, 'Session not found in the calendar'],
      [410, -32600, 'the session is unknown'],
      [404, -32602, 'Resource not found'],
      [404, -32000, 'no such flight']
    ]
    for (const [status, code, message] of refusals) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 5, error: { code, message } })
      const server = await raw(t, {
        capabilities: { tools: {} },
        answer: ({ method }, response) => {
          if (method === 'tools/call') response.writeHead(status, { 'content-type': 'application/json' }).end(body)
          return method === 'tools/call'
        }
      })
      const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
      equal(await (await post(url, CALL, await sessionOf(url))).text(), body)
      deepEqual([server.requestsOf('initialize').length, server.requestsOf('tools/call').length], [1, 1], body)
    }
  })
})

describe('a capability that a server has not declared', () => {
  const STRANGE: Record<string, (response: ServerResponse, id: unknown) => void> = {
    'with another error': (response, id) => error(response, 200, -32602, id),
    'with status 400': (response) => void response.writeHead(400).end('what?'),
    'with status 500': (response) => void response.writeHead(500).end(),
    'with nothing': () => undefined
  }
  for (const [how, answer] of Object.entries(STRANGE)) {
    it(`is not requested from a server that would answer ${how}`, async (t) => {
      const whole = await raw(t, { capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} } })
      const tools = await raw(t, {
        capabilities: { tools: {} },
        answer: ({ method, id }, response) => {
          const isStrange = method !== 'tools/list' && id !== undefined
          if (isStrange) answer(response, id)
          return isStrange
        }
      })
      const shared = { secret: randomBytes(32), revocations: new SharedRevocations() }
      const mcp = mcpOf([httpTarget('whole', whole.port), httpTarget('tools', tools.port)], { targetTimeoutMs: 2_000 })
      const [here, there] = [await gatewayOf(t, mcp, shared), await gatewayOf(t, mcp, shared)]
      const session = await sessionOf(here.url)
      // Also in a worker that has not begun the session.
      for (const { url } of [here, there]) {
        const list = async (method: string) =>
          await (await post(url, { jsonrpc: '2.0', id: 1, method }, session)).text()
        match(await list('prompts/list'), /"whole_x"/)
        match(await list('resources/list'), /"whole\+x:/)
        match(await list('tools/list'), /"whole_x".*"tools_x"/)
        const level = { jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level: 'info' } }
        deepEqual(await (await post(url, level, session)).json(), { jsonrpc: '2.0', id: 2, result: {} })
      }
      deepEqual(
        [tools.requestsOf('prompts/list'), tools.requestsOf('resources/list'), tools.requestsOf('logging/setLevel')],
        [[], [], []]
      )
    })
  }

  it('is not requested for clients of 2026-07-28 either', async (t) => {
    for (const isStateless of [true, false]) {
      const whole = await raw(t, { isStateless, capabilities: { tools: {}, prompts: {} } })
      const tools = await raw(t, {
        isStateless,
        capabilities: { tools: {} },
        answer: ({ method, id }, response) => {
          if (method === 'prompts/list') error(response, 400, -32602, id)
          return method === 'prompts/list'
        }
      })
      const { url } = await gatewayOf(t, mcpOf([httpTarget('whole', whole.port), httpTarget('tools', tools.port)]))
      for (let i = 0; i < 2; i++) match(await (await modern(url, 'prompts/list')).text(), /"whole_x"/)
      // Only the very first question may have come before its declaration.
      ok(tools.requestsOf('prompts/list').length <= 1)
    }
  })

  it('is asked all the same of one that declares nothing at all', async (t) => {
    const silent = await raw(t, { capabilities: {} })
    const other = await raw(t, { capabilities: { tools: {} } })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('silent', silent.port), httpTarget('other', other.port)]))
    const list = await post(url, { jsonrpc: '2.0', id: 1, method: 'prompts/list' }, await sessionOf(url))
    match(await list.text(), /"silent_x"/)
  })
})

describe('an extension', () => {
  const POTS = { tools: {}, extensions: { 'com.example/pots': {} } }
  const knows = (message: Partial<RpcRequest>, response: ServerResponse): boolean => {
    const { id, method } = message
    if (method !== 'pots/water') return false
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', wet: true } }))
    return true
  }
  const strange = ({ id, method }: Partial<RpcRequest>, response: ServerResponse): boolean => {
    if (method !== 'pots/water') return false
    error(response, 404, -32601, id)
    return true
  }

  for (const isStateless of [true, false]) {
    const era = isStateless ? '2026-07-28' : '2025-11-25'
    it(`of one server of ${era} is reached, with the name that the client gives`, async (t) => {
      const server = await raw(t, { isStateless, capabilities: POTS, answer: knows })
      const { url } = await gatewayOf(t, mcpOf([httpTarget('one', server.port)]))
      const answer = await modern(url, 'pots/water', { pot: 'fern' }, 'fern')
      equal(answer.status, 200)
      match(await answer.text(), /"wet":true/)
      const [request] = server.requestsOf('pots/water')
      if (isStateless) deepEqual([request!.headers['mcp-method'], request!.headers['mcp-name']], ['pots/water', 'fern'])
    })

    it(`of one of several servers of ${era} is found, in both eras of clients`, async (t) => {
      const plain = await raw(t, { isStateless, capabilities: { tools: {} } })
      const other = await raw(t, { isStateless, capabilities: POTS, answer: strange })
      const server = await raw(t, { isStateless, capabilities: POTS, answer: knows })
      const targets = [httpTarget('a', plain.port), httpTarget('b', other.port), httpTarget('c', server.port)]
      const { url } = await gatewayOf(t, mcpOf(targets))
      match(await (await modern(url, 'tools/list')).text(), /"c_x"/)
      match(await (await modern(url, 'pots/water', { pot: 'fern' })).text(), /"wet":true/)
      const old = { jsonrpc: '2.0', id: 3, method: 'pots/water', params: { pot: 'fern' } }
      match(await (await post(url, old, await sessionOf(url))).text(), /"wet":true/)
      deepEqual([plain.requestsOf('pots/water').length, other.requestsOf('pots/water').length], [0, 2])
    })
  }

  it('that no target has is not found, and neither are methods of the other era', async (t) => {
    const server = await raw(t, { isStateless: true, capabilities: POTS, answer: strange })
    const targets = [httpTarget('a', server.port), httpTarget('b', server.port)]
    for (const { url } of [await gatewayOf(t, mcpOf(targets)), await gatewayOf(t, mcpOf(targets.slice(1)))]) {
      for (const method of [
        'pots/water',
        'logging/setLevel',
        'ping',
        'resources/subscribe',
        'tasks/list',
        'tasks/result'
      ]) {
        const answer = await modern(url, method)
        equal(answer.status, 404)
        match(await answer.text(), /-32601/)
      }
    }
    deepEqual([...new Set(server.seen.map(({ message }) => message.method))].toSorted(), [
      'pots/water',
      'server/discover'
    ])
  })

  it('of tasks: what is asked of a task has its name, whatever the client calls it', async (t) => {
    const server = await raw(t, { isStateless: true, capabilities: POTS })
    const one = await gatewayOf(t, mcpOf([httpTarget('one', server.port)]))
    const two = await gatewayOf(t, mcpOf([httpTarget('a', server.port), httpTarget('b', server.port)]))
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      for (const [url, taskId] of [
        [one.url, 'täsk 1'],
        [two.url, 'b+täsk 1']
      ] as const) {
        const encoded = `=?base64?${Buffer.from(taskId).toString('base64')}?=`
        equal((await modern(url, method, { taskId }, encoded)).status, 200)
        // SEP-2663 asks for it of clients; those that have not heard of it lose nothing.
        equal((await modern(url, method, { taskId })).status, 200)
        equal((await modern(url, method, { taskId }, 'another')).status, 400)
        const own = `=?base64?${Buffer.from('täsk 1').toString('base64')}?=`
        deepEqual(
          server
            .requestsOf(method)
            .slice(-2)
            .map(({ headers }) => headers['mcp-name']),
          [own, own]
        )
      }
    }
  })

  it('of tasks: a subscription tells each server of its own', async (t) => {
    const task = (message: Partial<RpcRequest>, response: ServerResponse): boolean => {
      if (message.method !== 'subscriptions/listen') return false
      const { notifications } = message.params as { notifications: JsonObject }
      const [taskId] = (notifications.taskIds ?? []) as string[]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const tell = (method: string, params: object): boolean =>
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`)
      tell('notifications/subscriptions/acknowledged', { notifications })
      if (taskId !== undefined) tell('notifications/tasks', { taskId, status: 'working' })
      return true
    }
    const a = await raw(t, { isStateless: true, capabilities: POTS, answer: task })
    const b = await raw(t, { isStateless: true, capabilities: POTS, answer: task })
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', a.port), httpTarget('b', b.port)]))
    const stream = await modern(url, 'subscriptions/listen', { notifications: { taskIds: ['b+1', 'c+2'] } })
    let text = ''
    for await (const piece of stream.body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      if (text.includes('"working"')) break
    }
    match(text, /"taskIds":\["b\+1"\]/)
    match(text, /"taskId":"b\+1"/)
    deepEqual(
      [a, b].map(
        (server) => (server.requestsOf('subscriptions/listen')[0]!.message.params!.notifications as JsonObject).taskIds
      ),
      [undefined, ['1']]
    )
  })
})
