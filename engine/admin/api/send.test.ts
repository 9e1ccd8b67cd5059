import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { AdminState } from '#engine/admin/state.ts'
import type { Call } from './operation.ts'
import { type SentLine, sendOperation } from './send.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Stands for the gateway at a port of its own. */
async function gateway(t: TestContext, answer: Answer): Promise<{ port: number; server: Server }> {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, server }
}

function operationAt(port: number, protocol = 'HTTP') {
  const snapshot = { binds: [{ port, listeners: [{ protocol }] }] }
  return sendOperation(() => ({ snapshot }) as unknown as AdminState)
}

const ask = async (port: number, body: unknown, protocol = 'HTTP') =>
  await operationAt(port, protocol).answer({ body } as Call)

async function linesOf(port: number, body: unknown): Promise<SentLine[]> {
  const reply = await ask(port, body)
  equal(reply.status, 200, reply.body)
  const lines: SentLine[] = []
  for await (const line of reply.stream!(new AbortController().signal)) lines.push(JSON.parse(line))
  return lines
}

test('a request gets to the port with its name as Host, and the answer comes piece by piece', async (t) => {
  const { port } = await gateway(t, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method, url, headers } = request
    response.writeHead(201, { 'x-answer': 'yes' })
    response.write(JSON.stringify([method, url, headers.host, headers['x-team'], headers.connection]))
    response.end(`|${Buffer.concat(chunks)}|é`)
  })
  const headers = [
    ['x-team', 'red'],
    ['Host', 'evil.example'],
    ['content-length', '1'],
    ['transfer-encoding', 'chunked']
  ]
  const lines = await linesOf(port, { method: 'POST', url: `http://shop.example:${port}/a?b=c#d`, headers, body: 'hé' })
  const [head, ...rest] = lines
  ok(head?.kind === 'head')
  equal(head.status, 201)
  deepEqual(
    head.headers.find(([name]) => name === 'x-answer'),
    ['x-answer', 'yes']
  )
  const text = rest.map((line) => (line.kind === 'piece' ? line.text : '')).join('')
  equal(text, `["POST","/a?b=c","shop.example:${port}","red","close"]|hé|é`)
  equal(lines.at(-1)!.kind, 'end')
})

test('no other port, machine or protocol is reached by it', async (t) => {
  let calls = 0
  const { port } = await gateway(t, (_, response) => {
    calls++
    response.end()
  })
  const refused = async (url: string, protocol?: string) => {
    const reply = await ask(port, { method: 'GET', url }, protocol)
    deepEqual([reply.status, JSON.parse(reply.body).error.field], [400, 'url'], url)
    return JSON.parse(reply.body).error.message as string
  }
  match(await refused('http://127.0.0.1:1/'), /port 1 is none of this gateway's; it has \d+/)
  match(await refused('http://169.254.169.254/latest'), /port 80 is none/)
  match(await refused(`https://localhost:${port}/`), /no listener of port \d+ speaks HTTPS/)
  match(await refused(`http://localhost:${port}/`, 'TCP'), /speaks HTTP/)
  for (const url of ['', '/path', 'file:///etc/passwd', `ftp://localhost:${port}/`, 'http://']) await refused(url)
  equal(calls, 0)
})

test('what is no request is refused, and names the field', async () => {
  const field = async (body: unknown) => JSON.parse((await ask(80, body)).body).error.field
  const url = 'http://localhost/'
  equal(await field({ method: 'get', url }), 'method')
  equal(await field({ method: 'GET', url, headers: [['a b', 'c']] }), 'headers')
  equal(await field({ method: 'GET', url, headers: [['a', 'c\r\nx: y']] }), 'headers')
  equal(await field({ method: 'GET', url, headers: [['a', 'c\u0100']] }), 'headers')
  equal(await field({ method: 'GET', url, headers: [['a']] }), 'headers.0')
  equal(await field({ method: 'GET', url, body: 1 }), 'body')
})

test('a gateway that is away, or breaks off, is told so', async (t) => {
  const { port, server } = await gateway(t, (_, response) => {
    response.writeHead(200)
    response.write('half', () => response.destroy())
  })
  const broken = await linesOf(port, { method: 'GET', url: `http://localhost:${port}/` })
  deepEqual(
    broken.map(({ kind }) => kind),
    ['head', 'piece', 'failed']
  )
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
  const [away] = await linesOf(port, { method: 'GET', url: `http://localhost:${port}/` })
  ok(away?.kind === 'failed' && /ECONNREFUSED/.test(away.message))
})

test('when the page leaves, the request ends', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { port } = await gateway(t, (_, response) => {
    response.writeHead(200)
    response.write('one')
    response.once('close', resolve)
  })
  const reply = await ask(port, { method: 'GET', url: `http://localhost:${port}/` })
  const left = new AbortController()
  for await (const line of reply.stream!(left.signal)) if (JSON.parse(line).kind === 'piece') left.abort()
  await closed
})

test('an answer beyond its bound is cut, and so many at once are refused', async (t) => {
  const { port } = await gateway(t, (request, response) => {
    if (request.url === '/long') response.end(Buffer.alloc(5 * 1024 * 1024, 'x'))
    else response.flushHeaders()
  })
  const long = await linesOf(port, { method: 'GET', url: `http://localhost:${port}/long` })
  const last = long.at(-1)!
  ok(last.kind === 'end' && last.isCut)
  const operation = operationAt(port)
  const left = new AbortController()
  const open = await Promise.all(
    Array.from({ length: 16 }, async () => {
      const reply = await operation.answer({ body: { method: 'GET', url: `http://localhost:${port}/` } } as Call)
      const lines = reply.stream!(left.signal)[Symbol.asyncIterator]()
      equal(JSON.parse((await lines.next()).value as string).kind, 'head')
      return lines
    })
  )
  const body = { method: 'GET', url: `http://localhost:${port}/` }
  equal((await operation.answer({ body } as Call)).status, 429)
  left.abort()
  for (const lines of open) while ((await lines.next()).done !== true);
  equal((await operation.answer({ body } as Call)).status, 200)
})
