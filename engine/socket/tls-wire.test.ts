/** TLS that ends here: the same tests over both socket layers, with node:tls as the client. */
import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { llhttp } from '#engine/http/llhttp.ts'
import { authority, selfSigned } from '#engine/testing/certificates.ts'
import { Ear } from '#engine/testing/ear.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { openSockets } from './open-sockets.ts'
import { inTurn } from './round.ts'
import { type TlsFacts, TlsServer, type TlsServerSettings } from './tls-server.ts'
import type { Wire, WireOwner } from './wire.ts'

const { memory } = llhttp()
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const own = selfSigned(['a.test'])
const SETTINGS: TlsServerSettings = {
  certificates: [own],
  clientCa: null,
  minVersion: '1.2',
  maxVersion: '1.3',
  cipherSuites: null,
  alpn: ['http/1.1']
}
const SECRET = randomBytes(32)

interface Outcome {
  readonly code: string | null
  readonly wire: Wire | null
  readonly facts: TlsFacts | null
}

for (const kind of ['handles', 'net'] as const) {
  const layer = openSockets(memory, kind)

  /** A listener whose connections are TLS; each outcome of a handshake in turn. */
  async function listen(settings: Partial<TlsServerSettings> = {}, server?: TlsServer) {
    const tls = server ?? new TlsServer({ ...SETTINGS, ...settings }, SECRET)
    const ear = new Ear(memory.bytes)
    const outcomes: Outcome[] = []
    const acceptor = await layer.listen(0, { timeMs: 0 }, (wire) => {
      const first: WireOwner = {
        onRead(start, end) {
          const bytes = Buffer.from(memory.bytes.subarray(start, end))
          layer.startTls(wire, bytes, tls, (code, secured, facts) => {
            if (secured !== null) secured.owner = ear
            outcomes.push({ code, wire: secured, facts })
          })
        },
        onEnd: () => wire.destroy(),
        onError() {},
        onDrain() {}
      }
      wire.owner = first
    })
    const next = async (count = 1): Promise<Outcome> => {
      while (outcomes.length < count) await turn()
      return outcomes[count - 1]!
    }
    const dial = (options: ConnectionOptions = {}): TLSSocket => {
      const { port } = acceptor
      const defaults = { host: '127.0.0.1', servername: 'a.test', ca: own.cert, ALPNProtocols: ['http/1.1'] }
      const socket = connect({ port, ...defaults, ...options })
      // What fails is seen at the other end, or waited for.
      socket.on('error', () => {})
      return socket
    }
    return { port: acceptor.port, ear, outcomes, next, dial, close: () => acceptor.close() }
  }

  /** Everything that the client gets. */
  function received(socket: TLSSocket): { text: string } {
    const all = { text: '' }
    socket.on('data', (chunk: Buffer) => {
      all.text += chunk.toString('latin1')
    })
    return all
  }

  describe(`TLS over ${kind}`, () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      it(`carries bytes both ways over ${version} and says what was agreed`, async () => {
        const server = await listen()
        const client = server.dial({ minVersion: version, maxVersion: version })
        const all = received(client)
        await once(client, 'secureConnect')
        client.write(Buffer.from('ping\xff', 'latin1'))
        const { wire, facts } = await server.next()
        equal(facts!.version, version)
        equal(facts!.alpn, 'http/1.1')
        equal(facts!.isResumed, false)
        equal(facts!.peer, null)
        ok(facts!.cipher.length > 0)
        match(wire!.ends.remoteAddress, /127\.0\.0\.1$/)
        equal(wire!.ends.remotePort, client.localPort)
        match(wire!.ends.localAddress, /127\.0\.0\.1$/)
        while (server.ear.text.length < 5) await turn()
        equal(server.ear.text, 'ping\xff')
        inTurn(() => {
          wire!.write('head\xfe')
          wire!.writeBytes(Buffer.alloc(3_000, 'b'), 0, 3_000, null)
          wire!.writeBytes(Buffer.alloc(40_000, 'c'), 0, 40_000, null)
          wire!.write('d')
          wire!.writeBytes(Buffer.alloc(400_000, 'e'), 1, 400_000, null)
          wire!.write('.')
        })
        while (!all.text.endsWith('.')) await turn()
        ok(all.text === `head\xfe${'b'.repeat(3_000)}${'c'.repeat(40_000)}d${'e'.repeat(399_999)}.`)
        wire!.close(false)
        await once(client, 'end')
        server.close()
      })
    }

    for (const [what, ciphers, chosen] of [
      [
        'AES-128 and SHA-256 before what the client would rather have',
        'TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256',
        'TLS_AES_128_GCM_SHA256'
      ],
      ['what the client has', 'TLS_AES_256_GCM_SHA384', 'TLS_AES_256_GCM_SHA384'],
      [
        'ChaCha20 for a client that likes it best',
        'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256',
        'TLS_CHACHA20_POLY1305_SHA256'
      ]
    ] as const) {
      it(`chooses ${what}`, async () => {
        const server = await listen()
        const client = server.dial({ ciphers })
        const { wire, facts } = await server.next()
        equal(facts!.cipher, chosen)
        wire!.destroy()
        client.destroy()
        server.close()
      })
    }

    it('reads much, and passes on when the peer stops and goes on reading', async () => {
      const server = await listen()
      const client = server.dial()
      client.write(Buffer.alloc(3_000_000, 'u'))
      const { wire } = await server.next()
      while (server.ear.bytes < 3_000_000) await turn()
      client.pause()
      let written = 0
      for (let silent = 0; silent < 50; ) {
        const before = server.ear.drains
        while (!wire!.congested) {
          wire!.writeBytes(Buffer.alloc(65_536, 'x'), 0, 65_536, null)
          written += 65_536
        }
        ok(written < 64 * 1024 * 1024, 'a peer that does not read holds nobody up')
        await turn()
        silent = server.ear.drains === before ? silent + 1 : 0
      }
      let got = 0
      client.on('data', (chunk: Buffer) => {
        got += chunk.length
      })
      client.resume()
      while (wire!.congested) await turn()
      ok(server.ear.drains > 0)
      while (got < written) await turn()
      client.destroy()
      while (server.ear.ends + server.ear.errors.length === 0) await turn()
      wire!.destroy()
      server.close()
    })

    it('ends with what was written last, and with the end of TLS', async () => {
      const server = await listen()
      for (const linger of [true, false]) {
        const client = server.dial()
        const all = received(client)
        const { wire } = await server.next(linger ? 1 : 2)
        wire!.writeBytes(Buffer.alloc(200_000, 'z'), 0, 200_000, null)
        wire!.write('last')
        wire!.close(linger)
        await once(client, 'end')
        equal(all.text.length, 200_004)
        ok(all.text.endsWith('last'))
        client.destroy()
      }
      server.close()
    })

    it('half-closes: what comes after still arrives', async () => {
      const server = await listen()
      const client = server.dial({ allowHalfOpen: true } as ConnectionOptions)
      const { wire } = await server.next()
      wire!.write('bye')
      wire!.finish()
      const all = received(client)
      await once(client, 'end')
      equal(all.text, 'bye')
      client.end('late')
      while (server.ear.text.length < 4) await turn()
      while (server.ear.ends === 0) await turn()
      wire!.destroy()
      server.close()
    })

    it('resumes sessions, also with another server of the same secret, and not with another certificate', async () => {
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const servers = [await listen(), await listen(), await listen({ certificates: [selfSigned(['a.test'])] })]
        const limits = { minVersion: version, maxVersion: version, rejectUnauthorized: false }
        const first = servers[0]!.dial(limits)
        const [session] = (await once(first, 'session')) as [Buffer]
        const reused: boolean[] = []
        for (const server of servers) {
          const socket = server.dial({ ...limits, session })
          await once(socket, 'secureConnect')
          const { facts } = await server.next(server === servers[0] ? 2 : 1)
          equal(facts!.isResumed, socket.isSessionReused())
          reused.push(facts!.isResumed)
          socket.destroy()
          server.close()
        }
        deepEqual(reused, [true, true, false])
        first.destroy()
      }
    })

    it('asks for a certificate and takes only those of its authority', async () => {
      const ca = authority('clients')
      const server = await listen({ clientCa: ca.cert })
      const good = server.dial(ca.issue('/O=Weir/CN=robot', ['DNS:robot.test', 'URI:spiffe://td/ns/n/sa/s']))
      const { facts } = await server.next()
      equal(facts!.peer!.subject, 'CN=robot,O=Weir')
      equal(facts!.peer!.issuer, 'CN=clients')
      deepEqual(facts!.peer!.subjectAltNames, ['robot.test', 'spiffe://td/ns/n/sa/s'])
      match(facts!.peer!.serial, /^[0-9a-f]+$/)
      match(facts!.peer!.fingerprintSha256, /^[0-9a-f]{64}$/)
      good.destroy()
      server.dial()
      equal((await server.next(2)).code, 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE')
      server.dial(authority('others').issue('/CN=robot'))
      match((await server.next(3)).code!, /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY/)
      server.dial(ca.issue('/CN=robot', [], -1))
      equal((await server.next(4)).code, 'CERT_HAS_EXPIRED')
      server.close()
    })

    it('fails where nothing is agreed: protocol, version, garbage, a client that leaves', async () => {
      const server = await listen({ minVersion: '1.3' })
      const alpn = server.dial({ ALPNProtocols: ['imap'] })
      const [error] = (await once(alpn, 'error')) as [NodeJS.ErrnoException]
      match(error.code!, /NO_APPLICATION_PROTOCOL/)
      equal((await server.next()).code, 'ERR_SSL_NO_APPLICATION_PROTOCOL')
      const old = server.dial({ maxVersion: 'TLSv1.2' })
      await once(old, 'error')
      equal((await server.next(2)).code, 'ERR_SSL_UNSUPPORTED_PROTOCOL')
      const garbage = await rawClient(server.port)
      garbage.send('GET / HTTP/1.1\r\n\r\n')
      equal((await server.next(3)).code, 'ERR_SSL_HTTP_REQUEST')
      await garbage.untilEnd()
      const gone = await rawClient(server.port)
      gone.send('\x16\x03\x01\x02\x00\x01')
      gone.close()
      equal((await server.next(4)).code, 'ECONNRESET')
      server.close()
    })

    it('is dead after a reset or a destroy, and says nothing more', async () => {
      const server = await listen()
      for (const [i, end] of (['reset', 'destroy'] as const).entries()) {
        const client = server.dial()
        const { wire } = await server.next(i + 1)
        const closed = new Promise((resolve) => client.on('close', resolve))
        wire!.write('never mind')
        wire![end]()
        await closed
        wire!.write('x')
        wire!.close(true)
      }
      deepEqual([server.ear.ends, server.ear.errors], [0, []])
      server.close()
    })
  })
}

describe('negotiated parameters', () => {
  it('refuses a key that is of another certificate', () => {
    throws(
      () => new TlsServer({ ...SETTINGS, certificates: [{ ...own, key: selfSigned(['b.test']).key }] }, SECRET),
      /key values mismatch/
    )
  })

  it('takes other ticket keys when half a day is over, and keeps them until then', () => {
    const set: string[] = []
    const server = new TlsServer(SETTINGS, SECRET)
    const inside = server.context().context as { setTicketKeys(keys: Buffer): void }
    inside.setTicketKeys = (keys) => set.push(keys.toString('hex'))
    const start = Math.ceil(Date.now() / 43_200_000) * 43_200_000
    for (const after of [0, 1, 43_199_999, 43_200_000]) server.context(start + after)
    equal(set.length, 2)
    equal(new Set(set).size, 2)
  })
})
