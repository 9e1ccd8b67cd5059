/** PROXY headers to servers of HTTP: whose header a connection begins with, and whose exchanges it carries. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2, createSecureServer, connect as h2Connect } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, it } from 'node:test'
import { type ProxyHeader, readProxyHeader } from '#engine/socket/proxy-header.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import { type RawClient, rawClient } from '#engine/testing/raw.ts'
import { type StackOptions, startStack } from '#engine/testing/stack.ts'

const own = selfSigned(['api.test'])
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A server of either version that wants a header on each connection; its answers say whom that has named. */
async function headed(version: 'HTTP1' | 'HTTP2', isSecure: boolean, serve = answer) {
  const handle = (request: unknown, response: unknown) => {
    const { socket, headers } = request as IncomingMessage
    // Of HTTP/2 Node shows a proxy of the socket: its port is the same.
    serve(sources.get(socket.remotePort ?? 0) ?? 'nobody', headers, response as ServerResponse)
  }
  const sources = new Map<number, string>()
  const inner =
    version === 'HTTP1'
      ? isSecure
        ? createHttps(own, handle)
        : createHttp(handle)
      : isSecure
        ? createSecureServer(own, handle)
        : createHttp2(handle)
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    let bytes = Buffer.alloc(0)
    const read = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      const header = readProxyHeader(bytes, 0, bytes.length, 'all')
      if (header === 'more') return
      socket.off('data', read)
      socket.pause()
      if (typeof header === 'string') socket.destroy()
      else begin(socket, header, bytes)
    }
    socket.on('data', read)
  })
  const begin = (socket: Socket, { source, end }: ProxyHeader, bytes: Buffer) => {
    sources.set(socket.remotePort ?? 0, source === null ? 'unknown' : `${source.address}:${source.port}`)
    if (end < bytes.length) socket.unshift(bytes.subarray(end))
    inner.emit('connection', socket)
    if (version === 'HTTP1' && !isSecure) socket.resume()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    accepted: () => accepted,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

function answer(source: string, _headers: IncomingMessage['headers'], response: ServerResponse): void {
  response.end(`<${source}>`)
}

/** Asks once more on a connection that stays; what the server has been told of it. */
async function ask(client: RawClient): Promise<string> {
  client.received = ''
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  const got = await client.until(/<.*>|HTTP\/1\.1 [45]/)
  return /<(.*)>/.exec(got)?.[1] ?? got
}

const nameOf = ({ socket }: RawClient): string => `127.0.0.1:${socket.localPort}`

async function clients(port: number, count: number): Promise<RawClient[]> {
  return await Promise.all(Array.from({ length: count }, () => rawClient(port)))
}

const KINDS = (['HTTP1', 'HTTP2'] as const).flatMap((version) =>
  [false, true].flatMap((isSecure) =>
    (['handles', 'net'] as const).map((sockets) => ({ version, isSecure, sockets }) as const)
  )
)

for (const { version, isSecure, sockets } of KINDS) {
  describe(`PROXY headers, ${version}${isSecure ? ' over TLS' : ''}, ${sockets}`, () => {
    const open = async (options: Partial<StackOptions> = {}, serve = answer) => {
      const server = await headed(version, isSecure, serve)
      const tls = isSecure ? { tls: { serverName: 'api.test', ca: own.cert } } : {}
      const base = { upstream: server.port, sockets, spoken: { version }, proxyProtocol: 'v2' } as const
      const stack = await startStack({ ...base, ...tls, ...options })
      const close = (all: readonly RawClient[]) => {
        for (const client of all) client.close()
        stack.close()
        server.close()
      }
      return { server, stack, close }
    }

    it('each client is named by connections of its own, which it uses again', async () => {
      const { server, stack, close } = await open()
      const all = await clients(stack.port, 4)
      for (let round = 0; round < 3; round++) {
        for (const client of all) equal(await ask(client), nameOf(client))
      }
      equal(server.accepted(), 4)
      const together = await Promise.all(all.map((client) => ask(client)))
      deepEqual(together, all.map(nameOf))
      equal(server.accepted(), 4)
      deepEqual(stack.upstream.counts(), { idle: 4, busy: 0 })
      close(all)
      deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
    })

    it('more clients than connections: one that is idle gives way, and who waits gets a turn', async () => {
      const waiting: (() => void)[] = []
      const { server, stack, close } = await open({ poolMax: 2, proxyProtocol: 'v1' }, (source, headers, response) => {
        if (headers['x-slow'] === undefined) answer(source, headers, response)
        else waiting.push(() => answer(source, headers, response))
      })
      const all = await clients(stack.port, 6)
      for (const client of [...all, ...all]) equal(await ask(client), nameOf(client))
      ok(server.sockets.size <= 2 + 1, 'an end may be under way')
      for (const client of all) {
        client.received = ''
        client.send('GET / HTTP/1.1\r\nHost: a.test\r\nX-Slow: 1\r\n\r\n')
      }
      for (let served = 0; served < all.length; served++) {
        while (waiting.length === 0) await turn()
        const { idle, busy } = stack.upstream.counts()
        ok(idle + busy <= 2, `${idle} idle, ${busy} busy`)
        waiting.shift()!()
      }
      for (const client of all) match(await client.until('>'), new RegExp(`<${nameOf(client)}>`))
      close(all)
    })

    it('a server that cannot be reached is a 502, and nothing is left of it', async () => {
      const { server, stack, close } = await open()
      server.close()
      const all = await clients(stack.port, 2)
      for (const client of all) match(await ask(client), /HTTP\/1\.1 50[23]/)
      deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
      equal((stack.endpoint as unknown as { total: number }).total, 0)
      close(all)
    })
  })
}

it('clients that have gone are forgotten with their connections', async () => {
  const server = await headed('HTTP1', false)
  const stack = await startStack({ upstream: server.port, proxyProtocol: 'v2', poolMax: 3 })
  for (let i = 0; i < 50; i++) {
    const client = await rawClient(stack.port)
    equal(await ask(client), nameOf(client))
    client.close()
  }
  const endpoint = stack.endpoint as unknown as { readonly clients: number; readonly total: number }
  equal(endpoint.clients, 3)
  stack.upstream.closeIdle()
  deepEqual([endpoint.clients, endpoint.total], [0, 0])
  stack.close()
  server.close()
})

it('a client that asks for much takes turns with the others', async () => {
  const order: string[] = []
  const waiting: (() => void)[] = []
  const server = await headed('HTTP1', false, (_source, headers, response) => {
    order.push(String(headers['x-who']))
    waiting.push(() => response.end())
  })
  const stack = await startStack({ upstream: server.port, proxyProtocol: 'v2', poolMax: 1 })
  const greedy = h2Connect(`http://127.0.0.1:${stack.port}`)
  const requests = Array.from({ length: 20 }, () => greedy.request({ ':path': '/', 'x-who': 'greedy' }).resume())
  while (waiting.length === 0) await turn()
  // All that it has sent is there: its PING comes back behind that.
  await new Promise((resolve) => greedy.ping(resolve))
  const other = await rawClient(stack.port)
  other.send('GET / HTTP/1.1\r\nHost: a.test\r\nX-Who: other\r\n\r\n')
  const endpoint = stack.endpoint as unknown as { readonly clients: number }
  while (endpoint.clients < 2) await turn()
  const ends = Promise.all(requests.map((request) => once(request, 'close')))
  while (order.length < 21 || waiting.length > 0) {
    waiting.shift()?.()
    await turn()
  }
  await ends
  ok(order.indexOf('other') <= 2, order.join(' '))
  greedy.close()
  other.close()
  stack.close()
  server.close()
})
