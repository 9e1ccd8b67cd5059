import assert from 'node:assert/strict'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'

interface Stand {
  readonly gateway: TestGateway
  /** Waits until the access log has so many lines. */
  lines(count: number): Promise<string[]>
}

let files = 0

async function stand(t: TestContext, yaml: string): Promise<Stand> {
  const path = join(tmpdir(), `weir-tcp-${process.pid}-${files++}.log`)
  const gateway = await startGateway(yaml, { log: { format: 'text', fd: openSync(path, 'w') } })
  t.after(() => gateway.close())
  return {
    gateway,
    async lines(count) {
      for (;;) {
        const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
        if (lines.length >= count) return lines
        await turn()
      }
    }
  }
}

/** A server of TCP that hands out its connections; half-open ones stay. */
async function listen(t: TestContext, onSocket: (socket: net.Socket) => void): Promise<number> {
  const open = new Set<net.Socket>()
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket.on('error', () => {}))
    onSocket(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function connect(t: TestContext, port: number): net.Socket {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => socket.destroy())
  return socket
}

/** Everything until the end; rejects when the connection breaks. The socket stays open for writing. */
async function readAll(socket: net.Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
  await once(socket, 'end')
  return Buffer.concat(chunks).toString('latin1')
}

/** Whether the socket broke; resolves when it is closed. */
function closeOf(socket: net.Socket): Promise<boolean> {
  socket.on('error', () => {})
  return new Promise((resolve) => void socket.once('close', resolve))
}

const tcp = (backends: string, more = '') =>
  `binds: [{ port: 0, ${more} listeners: [{ name: l, protocol: TCP, tcpRoutes: [{ name: r, backends: [${backends}] }] }] }]`

const echo = (socket: net.Socket) => void socket.pipe(socket)

test('bytes pass both ways, and each half ends on its own', async (t) => {
  const heard = Promise.withResolvers<string>()
  const port = await listen(t, (socket) => {
    // The server speaks first, and last: after the client's end.
    socket.write('hello ')
    readAll(socket).then((text) => {
      heard.resolve(text)
      socket.end('bye')
    }, heard.reject)
  })
  const { gateway, lines } = await stand(t, tcp(`{ host: 127.0.0.1:${port} }`))
  const socket = connect(t, gateway.port)
  socket.end('abc')
  assert.equal(await readAll(socket), 'hello bye')
  assert.equal(await heard.promise, 'abc')
  const [line] = await lines(1)
  assert.match(
    line!,
    / listener=l route=r endpoint=127\.0\.0\.1:\d+ backend=l\/r\/0 src\.addr=127\.0\.0\.1:\d+ protocol=tcp/
  )
  assert.match(line!, / bytes\.in=3 bytes\.out=9 duration=/)
  assert.doesNotMatch(line!, /reason=|error=/)
})

test('the server ends first, the client goes on', async (t) => {
  const heard = Promise.withResolvers<string>()
  const port = await listen(t, (socket) => {
    socket.end('done')
    readAll(socket).then(heard.resolve, heard.reject)
  })
  const { gateway } = await stand(t, tcp(`{ host: 127.0.0.1:${port} }`))
  const socket = connect(t, gateway.port)
  assert.equal(await readAll(socket), 'done')
  socket.end('still here')
  assert.equal(await heard.promise, 'still here')
})

test('much of it, both ways at once, arrives whole', async (t) => {
  const port = await listen(t, echo)
  const { gateway, lines } = await stand(t, tcp(`{ host: 127.0.0.1:${port} }`))
  const socket = connect(t, gateway.port)
  const piece = Buffer.from(Array.from({ length: 1 << 16 }, (_, i) => i * 7))
  const sum = { sent: 0, got: 0, wrong: 0 }
  socket.on('data', (chunk: Buffer) => {
    for (let i = 0; i < chunk.length; i += 997) if (chunk[i] !== piece[(sum.got + i) % piece.length]) sum.wrong++
    sum.got += chunk.length
  })
  for (; sum.sent < 32 << 20; sum.sent += piece.length) if (!socket.write(piece)) await once(socket, 'drain')
  socket.end()
  await once(socket, 'end')
  assert.deepEqual(sum, { sent: 32 << 20, got: 32 << 20, wrong: 0 })
  assert.match((await lines(1))[0]!, /bytes\.in=33554432 bytes\.out=33554432 /)
})

test('a client that reads nothing stops the server, and loses nothing', async (t) => {
  let sent = 0
  const stopped = Promise.withResolvers<void>()
  const total = 64 << 20
  const piece = Buffer.alloc(1 << 16, 'x')
  const port = await listen(t, (socket) => {
    const write = () => {
      while (sent < total) {
        sent += piece.length
        if (!socket.write(piece)) {
          stopped.resolve()
          socket.once('drain', write)
          return
        }
      }
      socket.end()
    }
    write()
  })
  const { gateway } = await stand(t, tcp(`{ host: 127.0.0.1:${port} }`))
  const socket = connect(t, gateway.port).pause()
  await stopped.promise
  // What is under way fits into the buffers of the kernel and a few slots: wait until nothing moves.
  for (let before = -1, same = 0; same < 200; ) {
    same = sent === before ? same + 1 : 0
    before = sent
    await turn()
  }
  assert.ok(sent < total, `${sent}`)
  let got = 0
  socket.on('data', (chunk: Buffer) => {
    got += chunk.length
  })
  socket.resume()
  await once(socket, 'end')
  assert.equal(got, total)
})

test('a reset goes to the other side, and has its reason', async (t) => {
  const sockets: net.Socket[] = []
  let wake = () => {}
  const port = await listen(t, (socket) => {
    sockets.push(socket)
    socket.on('data', () => wake())
  })
  const { gateway, lines } = await stand(t, tcp(`{ host: 127.0.0.1:${port} }`))
  const talk = async () => {
    const heard = new Promise<void>((resolve) => {
      wake = resolve
    })
    const socket = connect(t, gateway.port)
    socket.write('a')
    await heard
    return socket
  }
  const first = await talk()
  const closed = closeOf(sockets[0]!)
  first.resetAndDestroy()
  assert.equal(await closed, true)
  assert.match((await lines(1))[0]!, /reason=CLIENT_RESET/)
  const second = await talk()
  const failed = once(second, 'error')
  sockets[1]!.resetAndDestroy()
  assert.equal(((await failed)[0] as NodeJS.ErrnoException).code, 'ECONNRESET')
  assert.match((await lines(2))[1]!, /error="the backend broke the connection off" reason=UPSTREAM_RESET/)
})

test('a server that is gone for good is noticed by a client that goes on', async (t) => {
  const port = await listen(t, (socket) => {
    socket.once('data', () => {
      socket.end('x', () => socket.destroy())
    })
  })
  const { gateway, lines } = await stand(t, tcp(`{ host: 127.0.0.1:${port} }`))
  const socket = connect(t, gateway.port)
  const closed = closeOf(socket)
  socket.write('a')
  socket.resume()
  await once(socket, 'end')
  while (!socket.destroyed) {
    socket.write('more')
    await turn()
  }
  await closed
  assert.match((await lines(1))[0]!, /reason=UPSTREAM_RESET/)
})

test('weights share connections out; what cannot be reached is left out', async (t) => {
  const ports = [await listen(t, (s) => void s.end('a')), await listen(t, (s) => void s.end('b'))]
  const closed = await closedPort()
  const { gateway, lines } = await stand(
    t,
    tcp(
      `{ host: 127.0.0.1:${ports[0]}, weight: 3 }, { host: 127.0.0.1:${ports[1]} }, { host: 127.0.0.1:${closed}, weight: 4 }, { host: 127.0.0.1:1, weight: 0 }`
    )
  )
  let all = ''
  for (let i = 0; i < 8; i++) all += await readAll(connect(t, gateway.port).end())
  assert.equal(all.replace(/b/g, '').length + all.replace(/a/g, '').length, 8)
  assert.ok(all.includes('aaa') || all.includes('a'), all)
  const received = await lines(8)
  assert.ok(
    received.every((line) => !line.includes('reason=')),
    received.join('\n')
  )
  assert.match(gateway.metrics(), /weir_tcp_connections_total\{[^}]*route="r",backend="l\/r\/0",reason=""\} [4-8]/)
})

async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

test('without a reachable backend the connection ends, and the log has the reason', async (t) => {
  const closed = await closedPort()
  const { gateway, lines } = await stand(t, tcp(`{ host: 127.0.0.1:${closed} }`))
  assert.equal(await readAll(connect(t, gateway.port)), '')
  assert.match((await lines(1))[0]!, /error="the backend refused the connection" reason=CONNECT_FAILURE/)
  await gateway.reload(tcp(''))
  assert.equal(await readAll(connect(t, gateway.port)), '')
  assert.match((await lines(2))[1]!, /reason=NO_BACKEND/)
  await gateway.reload('binds: [{ port: 0, listeners: [{ name: l, protocol: TCP }] }]')
  assert.equal(await readAll(connect(t, gateway.port)), '')
  assert.match((await lines(3))[2]!, /listener=l .*reason=ROUTE_NOT_FOUND/)
  await gateway.reload(tcp('{ host: nobody.invalid:1 }'))
  assert.equal(await readAll(connect(t, gateway.port)), '')
  assert.match((await lines(4))[3]!, /reason=DNS_FAILURE/)
})

test('a reload leaves connections alone; new ones take the new route', async (t) => {
  const ports = [await listen(t, echo), await listen(t, (s) => void s.end('new'))]
  const { gateway } = await stand(t, tcp(`{ host: 127.0.0.1:${ports[0]} }`))
  const old = connect(t, gateway.port)
  old.write('1')
  assert.equal(String((await once(old, 'data'))[0]), '1')
  await gateway.reload(tcp(`{ host: 127.0.0.1:${ports[1]} }`))
  assert.equal(await readAll(connect(t, gateway.port)), 'new')
  old.end('2')
  assert.equal(await readAll(old), '2')
  // From TCP to HTTP and back, on the same socket.
  await gateway.reload(
    'binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 200, body: http } } }] }] }]'
  )
  const http = connect(t, gateway.port)
  http.end('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  assert.match(await readAll(http), /^HTTP\/1\.1 200 OK.*http$/s)
})

test('a silent connection is closed after the idle timeout', async (t) => {
  const port = await listen(t, echo)
  const { gateway, lines } = await stand(
    t,
    `frontendPolicies: { tcp: { idleTimeout: 1s } }\n${tcp(`{ host: 127.0.0.1:${port} }`)}`
  )
  const startedAt = performance.now()
  await closeOf(connect(t, gateway.port).resume())
  const elapsed = performance.now() - startedAt
  // Timers count from the turn that they begin in, which on a busy machine began long before.
  assert.ok(elapsed >= 500, `${elapsed}`)
  assert.match((await lines(1))[0]!, /reason=IDLE_TIMEOUT/)
})

test('the end of the gateway cuts what is left', async (t) => {
  const port = await listen(t, echo)
  const { gateway, lines } = await stand(t, tcp(`{ host: 127.0.0.1:${port} }`))
  const socket = connect(t, gateway.port)
  const closed = closeOf(socket)
  socket.write('1')
  await once(socket, 'data')
  await gateway.close()
  await closed
  assert.match((await lines(1))[0]!, /reason=DRAINING/)
})

test('unix sockets', async (t) => {
  const path = join(tmpdir(), `weir-tcp-${process.pid}.sock`)
  const server = net.createServer({ allowHalfOpen: true }, echo).listen(path)
  await once(server, 'listening')
  t.after(() => server.close())
  const { gateway } = await stand(t, tcp(`{ host: "unix:${path}" }`))
  const socket = connect(t, gateway.port)
  socket.end('abc')
  assert.equal(await readAll(socket), 'abc')
})
