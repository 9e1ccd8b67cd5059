/** Clients that mean harm, or are broken, on a port of TLS: bounded in time and number, while others are served. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect as tcp } from 'node:net'
import { after, describe, it } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { PROTOCOL_DEFAULTS } from '#engine/ir/plain.ts'
import type { Bind } from '#engine/ir/snapshot.ts'
import { secret } from '#engine/kit/secret.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import { answering, OK } from '#engine/testing/downstream-support.ts'
import { exchangeRaw, type RawClient, rawClient } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'

const own = selfSigned(['a.test'])
const listeners: Bind['listeners'] = [
  {
    name: 'a',
    hostname: 'a.test',
    protocol: 'HTTPS',
    tls: {
      cert: own.cert,
      key: secret(own.key),
      clientCa: null,
      minVersion: null,
      maxVersion: null,
      cipherSuites: null
    },
    routes: [],
    tcpRoutes: [],
    policies: {},
    preRouting: {}
  }
]

const stacks: Stack[] = []
after(() => {
  for (const stack of stacks) stack.close()
})

async function open(sockets: 'handles' | 'net', options: Partial<StackOptions> = {}): Promise<Stack> {
  const origin = await answering(OK)
  const stack = await startStack({ upstream: origin.port, sockets, listeners, ...options })
  stacks.push(stack)
  return stack
}

function dial(port: number): TLSSocket {
  const socket = connect({ host: '127.0.0.1', port, servername: 'a.test', ca: own.cert })
  // Those that are cut off are seen at their end.
  socket.on('error', () => {})
  return socket
}

async function served(port: number): Promise<void> {
  const socket = dial(port)
  socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  match(answer.toString('latin1'), /^HTTP\/1\.1 200 OK/)
  socket.destroy()
}

/** A record with the ClientHello of a real client, and after it whatever that client says: in pieces of its own. */
async function recorded(port: number): Promise<string[]> {
  const pieces: string[] = []
  const { createServer } = await import('node:net')
  const between = createServer((client) => {
    const server = tcp(port, '127.0.0.1')
    client.on('data', (bytes: Buffer) => {
      pieces.push(bytes.toString('latin1'))
      server.write(bytes)
    })
    client.on('error', () => {})
    client.on('close', () => server.destroy())
    server.on('error', () => client.destroy())
    server.pipe(client)
  })
  between.listen(0, '127.0.0.1')
  await once(between, 'listening')
  await served((between.address() as { port: number }).port)
  between.close()
  return pieces
}

for (const sockets of ['handles', 'net'] as const) {
  describe(`hostile clients of TLS over ${sockets}`, () => {
    it('lets half-open handshakes push each other out, and serves others meanwhile', async () => {
      const stack = await open(sockets, { clientsMax: 100 })
      const [hello] = await recorded(stack.port)
      const clients: RawClient[] = []
      for (let i = 0; i < 600; i++) {
        const client = await rawClient(stack.port)
        client.send(i % 3 === 0 ? hello! : hello!.slice(0, i % 200))
        clients.push(client)
        if (i % 200 === 199) await served(stack.port)
      }
      await served(stack.port)
      ok(stack.bind.connections() <= 100, `${stack.bind.connections()} connections`)
      for (const client of clients) client.close()
      while (stack.bind.connections() > 0) await new Promise((resolve) => setImmediate(resolve))
      equal(stack.connections.opened, stack.connections.closed)
    })

    it('survives records that are cut, doubled or changed, at every place', async () => {
      const tls = { ...PROTOCOL_DEFAULTS.tls, handshakeTimeoutMs: 500 }
      const stack = await open(sockets, { frontend: { tls } })
      const pieces = await recorded(stack.port)
      const all = pieces.join('')
      const attempts: Promise<string>[] = []
      const attempt = (text: string) => attempts.push(exchangeRaw(stack.port, text))
      for (let at = 0; at < all.length; at += 97) {
        attempt(all.slice(0, at) + String.fromCharCode(all.charCodeAt(at) ^ 0x55) + all.slice(at + 1))
        attempt(all.slice(0, at))
      }
      attempt(pieces[0]! + pieces[0]!)
      attempt(`${pieces[0]}\x17\x03\x03\xff\xff`)
      attempt(`${pieces[0]}\x15\x03\x03\x00\x02\x02\x00`)
      await Promise.all(attempts)
      await served(stack.port)
      while (stack.bind.connections() > 0) await new Promise((resolve) => setImmediate(resolve))
      equal(stack.connections.opened, stack.connections.closed)
      deepEqual(
        stack.records.map(({ status }) => status).filter((status) => status !== 200),
        []
      )
    })

    it('refuses names that are no host names', async () => {
      const stack = await open(sockets)
      const [hello] = await recorded(stack.port)
      for (const name of ['a\x00test', '../../', '\xff\xfe.t.', 'a..tes']) {
        const answer = await exchangeRaw(stack.port, hello!.replace('a.test', name.slice(0, 6).padEnd(6, '\x00')))
        equal(answer, '\x15\x03\x03\x00\x02\x02\x70')
      }
      equal(stack.handshakes.filter(({ result }) => result === 'no_listener').length, 4)
    })

    it('drains: a handshake that is under way is finished and answered, and then it is over', async () => {
      const stack = await open(sockets)
      const socket = dial(stack.port)
      await once(socket, 'connect')
      while (stack.bind.connections() === 0) await new Promise((resolve) => setImmediate(resolve))
      stack.bind.stopAccepting()
      stack.bind.drain()
      socket.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
      const [answer] = (await once(socket, 'data')) as [Buffer]
      match(answer.toString('latin1'), /^HTTP\/1\.1 200 OK[\s\S]*Connection: close/)
      await once(socket, 'close')
      const silent = await open(sockets)
      const idle = await rawClient(silent.port)
      while (silent.bind.connections() === 0) await new Promise((resolve) => setImmediate(resolve))
      silent.bind.drain()
      await idle.untilEnd()
      equal(silent.bind.connections(), 0)
    })
  })
}
