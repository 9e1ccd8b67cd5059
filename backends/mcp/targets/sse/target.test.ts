/** Servers of the HTTP+SSE transport: a real one, and some that nobody should trust. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import type { Target } from '#backends/mcp/targets/target.ts'
import { ask, callTool, initialize, optionsOf } from '#backends/mcp/testing/links.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { freePort } from '#engine/testing/program.ts'
import { startStack } from '#engine/testing/stack.ts'
import { ChildrenOfWorker } from '#engine/workers/children/client.ts'
import { ChildHub } from '#engine/workers/children/hub.ts'
import { type SseOptions, sseTarget } from './target.ts'

const EVERYTHING = join(
  import.meta.dirname,
  '../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js'
)

async function targetOf(t: TestContext, port: number, more: Partial<SseOptions> = {}): Promise<Target> {
  const stack = await startStack({ upstream: port })
  const hub: ChildHub = new ChildHub({
    log: () => {},
    post: (_worker, report) => setImmediate(() => children.receive(structuredClone(report)))
  })
  const children: ChildrenOfWorker = new ChildrenOfWorker((order) => hub.receive(0, structuredClone(order)))
  t.after(async () => {
    await hub.close()
    stack.close()
  })
  const { endpoint, lifecycle, upstream } = stack
  const lent = inProcess({ events: lifecycle, upstream, timers: lifecycle.timers })
  const place = { backend: 'b', name: 'old', origin: `http://127.0.0.1:${port}`, path: '/sse', identity: '' }
  const ask: SseOptions['ask'] = (request, events) => lent.call(endpoint, request, events)
  const options = { ...place, ask, messageBytesMax: 100_000, idleMs: 0, ...more }
  return sseTarget(options, children)
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A server whose stream is `stream`, and whose POSTs are `post`. */
async function serve(t: TestContext, stream: Handler, post: Handler = accept): Promise<number> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => (request.method === 'GET' ? stream : post)(request, response, body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const accept: Handler = (_request, response) => void response.writeHead(202).end('Accepted')

function begin(response: ServerResponse, endpoint: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  response.write(`event: endpoint\ndata: ${endpoint}\n\n`)
}

function say(response: ServerResponse, message: object): void {
  response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
}

test('server-everything over SSE: tools, progress, its own requests, and two sessions apart', async (t) => {
  const port = await freePort()
  const server = spawn(process.execPath, [EVERYTHING, 'sse'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  t.after(() => server.kill('SIGKILL'))
  let text = ''
  while (!text.includes('running on port')) text += String((await once(server.stderr, 'data'))[0])
  const target = await targetOf(t, port)
  equal(target.traits.isProcess, false)
  const link = target.open(optionsOf('s'))
  const { response } = await initialize(link, { roots: { listChanged: true } })
  ok(response?.result?.capabilities)
  const roots = new Promise<RpcRequest>((resolve) => {
    link.listen(null, {
      message: (message) =>
        void ('method' in message && message.method === 'roots/list' && resolve(message as RpcRequest)),
      ended: () => undefined
    })
  })
  equal(await link.send({ jsonrpc: '2.0', id: (await roots).id, result: { roots: [] } }), null)
  match(await callTool(link, 'echo', { message: 'hello' }), /hello/)
  const params = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 3 } }
  const long = await ask(link, 'tools/call', { ...params, _meta: { progressToken: 1 } })
  equal(long.messages.length, 3)
  // Another link of the session, after a reload say, and another session.
  match(await callTool(target.open(optionsOf('s', link.upstreamSession)), 'echo', { message: 'again' }), /again/)
  const { failure } = await ask(target.open(optionsOf('other', link.upstreamSession)), 'tools/list')
  equal(failure?.kind, 'expired')
})

test('the fields of the configuration and of the client go along; nothing overtakes "initialized"', async (t) => {
  const seen: string[] = []
  const streams: ServerResponse[] = []
  const gate = Promise.withResolvers<void>()
  const hold = Promise.withResolvers<void>()
  const port = await serve(
    t,
    ({ headers }, response) => {
      seen.push(`GET ${headers.accept} ${headers['x-key']} ${headers.traceparent}`)
      streams.push(response)
      begin(response, `/messages?session=${streams.length}`)
    },
    ({ headers, url = '' }, response, body) => {
      const { id, method } = JSON.parse(body) as { id?: number; method: string }
      seen.push(`${method} ${url} ${headers['content-type']} ${headers['x-key']} ${headers.traceparent}`)
      if (id !== undefined) say(streams[Number(url.split('=')[1]) - 1]!, { id, result: {} })
      if (method !== 'notifications/initialized') response.writeHead(202).end()
      else {
        gate.resolve()
        void hold.promise.then(() => response.writeHead(202).end())
      }
    }
  )
  const target = await targetOf(t, port)
  const options = optionsOf('s')
  options.headers.append('x-key', 'k')
  options.headers.append('traceparent', '00-1')
  const link = target.open(options)
  await ask(link, 'initialize')
  const both = [link.send({ jsonrpc: '2.0', method: 'notifications/initialized' }), ask(link, 'tools/list')]
  await gate.promise
  // While the server thinks about it, another session comes through.
  await ask(target.open(optionsOf('other')), 'ping')
  const before = seen.length
  hold.resolve()
  await Promise.all(both)
  const rest = 'application/json k 00-1'
  deepEqual(seen, [
    'GET text/event-stream k 00-1',
    `initialize /messages?session=1 ${rest}`,
    `notifications/initialized /messages?session=1 ${rest}`,
    'GET text/event-stream undefined undefined',
    'ping /messages?session=2 application/json undefined undefined',
    `tools/list /messages?session=1 ${rest}`
  ])
  equal(before, seen.length - 1)
})

test('a server that sends messages elsewhere gets none', async (t) => {
  for (const elsewhere of [
    'http://127.0.0.1:1/x',
    '//evil.example/x',
    'file:///etc/passwd',
    'http://[',
    'x'.repeat(5000)
  ]) {
    const port = await serve(
      t,
      (_request, response) => begin(response, elsewhere),
      () => ok(false)
    )
    const { failure } = await initialize((await targetOf(t, port)).open(optionsOf('s')))
    equal(failure?.kind, 'unreachable')
    match(failure?.message ?? '', /another server/)
  }
})

test('failures name the cause: no event stream, refused, unreachable', async (t) => {
  const kindsOf = async (stream: Handler) => {
    const { failure } = await initialize((await targetOf(t, await serve(t, stream))).open(optionsOf('s')))
    return `${failure?.kind} ${failure?.status} ${failure?.message}`
  }
  equal(await kindsOf((_q, response) => void response.writeHead(401).end()), 'unreachable 401 answered with status 401')
  match(await kindsOf((_q, response) => void response.end('hello')), /^unreachable null .*no stream of events/)
  match(await kindsOf((_q, response) => void response.destroy()), /^unreachable null the backend /)
  const { failure } = await initialize((await targetOf(t, await freePort())).open(optionsOf('s')))
  equal(failure?.kind, 'unreachable')
})

test('a message that is refused fails its request; 404 is the end of the session', async (t) => {
  let status = 202
  const streams: ServerResponse[] = []
  const port = await serve(
    t,
    (_request, response) => {
      streams.push(response)
      begin(response, '/m')
    },
    (_request, response, body) => {
      response.writeHead(status).end()
      const { id } = JSON.parse(body) as { id?: number }
      if (status === 202 && id !== undefined) say(streams.at(-1)!, { id, result: {} })
    }
  )
  const target = await targetOf(t, port)
  const link = target.open(optionsOf('s'))
  await initialize(link)
  const ended = new Promise<string | undefined>((resolve) => {
    link.listen(null, { message: () => undefined, ended: (failure) => resolve(failure?.kind) })
  })
  status = 413
  const refused = (await ask(link, 'tools/list')).failure
  deepEqual([refused?.kind, refused?.status], ['broken', 413])
  status = 404
  const gone = (await ask(link, 'tools/list')).failure
  deepEqual([gone?.kind, gone?.status], ['expired', 404])
  equal(await ended, 'expired')
  equal((await ask(link, 'tools/list')).failure?.kind, 'expired')
  status = 202
  equal((await initialize(target.open(optionsOf('s')))).failure, undefined)
})

test('garbage is passed over, a message that is too long fails what waits, and a stream that ends is the end', async (t) => {
  let stream: ServerResponse | null = null
  const port = await serve(
    t,
    (_request, response) => {
      stream = response
      begin(response, '/m')
      response.write(': hello\n\nevent: message\ndata: {not json\n\nevent: other\ndata: {}\n\ndata: []\n\n')
      response.write('event: endpoint\ndata: /elsewhere\n\n')
    },
    (request, response, body) => {
      const { id, method } = JSON.parse(body) as { id?: number; method: string }
      equal(request.url, '/m')
      response.writeHead(202).end()
      if (method === 'huge') say(stream!, { id, result: { text: 'x'.repeat(200_000) } })
      else if (method === 'end') stream!.end()
      else if (id !== undefined) say(stream!, { id, result: {} })
    }
  )
  const link = (await targetOf(t, port)).open(optionsOf('s'))
  equal((await initialize(link)).failure, undefined)
  equal((await ask(link, 'huge')).failure?.kind, 'tooLarge')
  equal((await ask(link, 'fine')).failure, undefined)
  const { failure } = await ask(link, 'end')
  deepEqual([failure?.kind, failure?.message], ['broken', 'its stream ended before it answered'])
})

test('close ends the stream', async (t) => {
  const closed = Promise.withResolvers<void>()
  let stream: ServerResponse | null = null
  const port = await serve(
    t,
    (_request, response) => {
      stream = response
      response.on('close', () => closed.resolve())
      begin(response, 'm')
    },
    (_request, response, body) => {
      response.writeHead(202).end()
      const { id } = JSON.parse(body) as { id?: number }
      if (id !== undefined) say(stream!, { id, result: {} })
    }
  )
  const link = (await targetOf(t, port)).open(optionsOf('s'))
  await initialize(link)
  link.close()
  await closed.promise
})
