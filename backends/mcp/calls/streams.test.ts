/** Streams: what servers say unasked, where a stream goes on, and what happens when somebody leaves. */
import { deepEqual, equal } from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { hostile } from '#backends/mcp/targets/http/hostile.fixture.ts'
import { clientOf, gatewayOf, httpTarget, INITIALIZE, mcpOf, post } from '#backends/mcp/testing/gateway.ts'
import { startMcp } from '#backends/mcp/testing/servers.ts'

const note = (data: string): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })

interface Listened {
  readonly lastId: string | undefined
  readonly response: ServerResponse
}

/** Servers whose GET streams a test writes itself. */
async function streaming(t: TestContext, count: number, more: Parameters<typeof mcpOf>[1] = {}) {
  const heard = new EventEmitter()
  const servers: { readonly name: string; readonly port: number }[] = []
  for (const name of ['a', 'b'].slice(0, count)) {
    const server = await hostile(t, (_body, response, { method, headers }) => {
      if (method !== 'GET') response.writeHead(202).end()
      else {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        heard.emit(name, { lastId: headers['last-event-id'] as string | undefined, response } satisfies Listened)
      }
    })
    servers.push({ name, port: server.port })
  }
  const { url } = await gatewayOf(
    t,
    mcpOf(
      servers.map(({ name, port }) => httpTarget(name, port)),
      more
    )
  )
  const begun = await post(url, INITIALIZE)
  await begun.text()
  const session = begun.headers.get('mcp-session-id')!
  const listen = async (lastId: string | null) => {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session }
    const streams = Promise.all(servers.map(async ({ name }) => (await once(heard, name))[0] as Listened))
    const response = fetch(url, { headers: { ...headers, ...(lastId === null ? {} : { 'last-event-id': lastId }) } })
    return { streams: await streams, response: await response }
  }
  return { url, session, listen, heard }
}

/** Reads events until there are `count`: [id, data]. */
async function events(response: Response, count: number): Promise<readonly (readonly [string, string])[]> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body!) {
    text += decoder.decode(piece as Uint8Array, { stream: true })
    const all = text.split('\n\n').slice(0, -1)
    if (all.length < count) continue
    return all.map((event) => [/^id: (.*)$/m.exec(event)?.[1] ?? '', /^data: (.*)$/m.exec(event)![1]!] as const)
  }
  throw new Error(`the stream has ended: ${text}`)
}

describe('the stream behind GET', () => {
  it('of one target passes with its ids, and goes on where it broke off', async (t) => {
    const { listen } = await streaming(t, 1)
    const first = await listen(null)
    equal(first.response.headers.get('content-type'), 'text/event-stream')
    first.streams[0]!.response.write(`id: 41\ndata: ${note('x')}\n\n`)
    deepEqual(await events(first.response, 1), [['41', note('x')]])
    const again = await listen('41')
    equal(again.streams[0]!.lastId, '41')
  })

  it('of several is one, and each goes on where it broke off', async (t) => {
    const { listen } = await streaming(t, 2)
    const first = await listen(null)
    first.streams[0]!.response.write(`id: 1\ndata: ${note('x')}\n\n`)
    const [[id1]] = (await events(first.response, 1)) as [readonly [string, string]]
    const second = await listen(id1)
    deepEqual(
      second.streams.map(({ lastId }) => lastId),
      ['1', undefined]
    )
  })

  it('that brings a list which broke off has it filtered and named as any other', async (t) => {
    const authorization = { allow: ['mcp.tool.name == "open"'], deny: [], require: [] }
    for (const [count, name] of [
      [1, 'open'],
      [2, 'a_open']
    ] as const) {
      const { listen } = await streaming(t, count, { authorization })
      const from = Buffer.from('{"a":"41","b":null}').toString('base64url')
      const { streams, response } = await listen(count === 1 ? '41' : from)
      const result = { tools: [{ name: 'open' }, { name: 'secret' }] }
      streams[0]!.response.write(`id: 42\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 5, result })}\n\n`)
      const [[, data]] = (await events(response, 1)) as [readonly [string, string]]
      deepEqual(JSON.parse(data).result, { tools: [{ name }] })
    }
  })

  it('is refused where no server has one, and with an unknown id', async (t) => {
    const server = await hostile(t, (_body, response) => void response.writeHead(405).end())
    const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port), httpTarget('b', server.port)]))
    const begun = await post(url, INITIALIZE)
    await begun.text()
    const headers = { accept: 'text/event-stream', 'mcp-session-id': begun.headers.get('mcp-session-id')! }
    equal((await fetch(url, { headers })).status, 405)
    equal((await fetch(url, { headers: { ...headers, 'last-event-id': 'zz' } })).status, 400)
  })

  it('ends at the server when the client leaves', async (t) => {
    const { listen } = await streaming(t, 1)
    const { streams, response } = await listen(null)
    const closed = once(streams[0]!.response, 'close')
    await response.body!.cancel()
    await closed
  })
})

describe('the stream of a request that its server has closed', () => {
  it('goes on at that server, in the client’s names, with what the client may see', async (t) => {
    const heard: string[] = []
    const answering = (name: string) =>
      hostile(t, (body, response, { method, headers }) => {
        const stream = () => response.writeHead(200, { 'content-type': 'text/event-stream' })
        if (method === 'GET') {
          heard.push(`${name} ${headers['last-event-id']}`)
          const result = { tools: [{ name: 'open' }, { name: 'secret' }] }
          stream().end(`id: 8\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 5, result })}\n\n`)
        } else if (body.includes('tools/call')) stream().end('id: 7\nretry: 250\ndata: \n\n')
        else if (!body.includes('tools/list')) response.writeHead(202).end()
        else {
          response.writeHead(200, { 'content-type': 'application/json' })
          response.end(
            JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: { tools: [{ name: 'open' }] } })
          )
        }
      })
    const servers = [await answering('a'), await answering('b')]
    const authorization = { allow: ['mcp.tool.name == "open"'], deny: [], require: [] }
    const targets = servers.map(({ port }, i) => httpTarget(i === 0 ? 'a' : 'b', port))
    const { url } = await gatewayOf(t, mcpOf(targets, { authorization }))
    const begun = await post(url, INITIALIZE)
    await begun.text()
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id')! }
    const call = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'b_open' } }
    const text = await (await post(url, call, session)).text()
    const [, id] = /^id: (.+)\nretry: 250\ndata: \n\n$/.exec(text)!
    deepEqual(JSON.parse(Buffer.from(id!, 'base64url').toString()), { b: '7' })
    const again = { ...session, accept: 'text/event-stream', 'last-event-id': id! }
    const [[, data]] = (await events(await fetch(url, { headers: again }), 1)) as [readonly [string, string]]
    deepEqual(JSON.parse(data).result, { tools: [{ name: 'b_open' }] })
    deepEqual(heard, ['b 7'])
  })
})

describe('calls under way', () => {
  const slow = async (t: TestContext, count: number) => {
    const heard = new EventEmitter()
    const servers = []
    for (const name of ['a', 'b'].slice(0, count)) {
      const server = await hostile(t, (body, response) => {
        if (body.includes('"method":"notifications')) response.writeHead(202).end()
        else heard.emit(name, response)
      })
      servers.push({ name, ...server })
    }
    const { url } = await gatewayOf(t, mcpOf(servers.map(({ name, port }) => httpTarget(name, port))))
    const begun = await post(url, INITIALIZE)
    await begun.text()
    return { url, heard, servers, session: { 'mcp-session-id': begun.headers.get('mcp-session-id')! } }
  }
  const CALL = { jsonrpc: '2.0', id: 'c1', method: 'tools/call', params: { name: 'b_x' } }

  it('are given up at the server when the client leaves', async (t) => {
    const { url, heard, session } = await slow(t, 1)
    const leaving = new AbortController()
    const arrived = once(heard, 'a') as Promise<ServerResponse[]>
    const headers = { ...session, 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const call = fetch(url, { method: 'POST', headers, body: JSON.stringify(CALL), signal: leaving.signal })
    const [response] = await arrived
    const closed = once(response!, 'close')
    leaving.abort()
    await Promise.allSettled([call, closed])
  })

  it('are cancelled at their own server only', async (t) => {
    const { url, heard, session, servers } = await slow(t, 2)
    const arrived = once(heard, 'b') as Promise<ServerResponse[]>
    const call = post(url, CALL, session)
    const [response] = await arrived
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c1' } }
    equal((await post(url, cancelled, session)).status, 202)
    response!.writeHead(200, { 'content-type': 'application/json' })
    response!.end('{"jsonrpc":"2.0","id":"c1","result":{}}')
    await (await call).text()
    const counts = servers.map(({ seen }) => seen.filter(({ body }) => body.includes('notifications/cancelled')).length)
    deepEqual(counts, [0, 1])
  })

  it('end at the timeout of the route: the server gets a cancellation, the client an error', async (t) => {
    for (const begins of [false, true]) {
      const server = await hostile(t, (body, response) => {
        if (body.includes('"method":"notifications')) response.writeHead(202).end()
        else if (begins) {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          response.write(`data: ${note('x')}\n\n`)
        }
      })
      const policies = { timeouts: { request: '300ms' } }
      const { url } = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]), { policies })
      const begun = await post(url, INITIALIZE)
      await begun.text()
      const response = await post(url, CALL, { 'mcp-session-id': begun.headers.get('mcp-session-id')! })
      equal(response.status, 200)
      const text = await response.text()
      const counts = '{"jsonrpc":"2.0","id":"c1","error":{"code":-32603,"message":"target a: no answer in time"}}'
      equal(text.includes(counts), true, text)
      equal(text.startsWith('event: message'), begins)
      while (!server.seen.some(({ body }) => body.includes('notifications/cancelled'))) await server.next()
      const { body } = server.seen.findLast((one) => one.body.includes('notifications/cancelled'))!
      equal(JSON.parse(body).params.requestId, 'c1')
    }
  })

  it('outlive a reload of the configuration, and so does what the worker knows of the session', async (t) => {
    const server = await startMcp(t, { setUp: (made) => void made.registerTool('x', {}, () => ({ content: [] })) })
    const gateway = await gatewayOf(t, mcpOf([httpTarget('a', server.port)]))
    const { client } = await clientOf(t, gateway.url)
    server.forget()
    await client.callTool({ name: 'x' })
    await gateway.again()
    await client.callTool({ name: 'x' })
    equal(server.seen.filter(({ body }) => body.includes('"initialize"')).length, 2)
  })
})
