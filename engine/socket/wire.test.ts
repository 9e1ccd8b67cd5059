/** The contract of Wire and SocketLayer: the same tests over both layers. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { llhttp } from '#engine/http/llhttp.ts'
import { Ear } from '#engine/testing/ear.ts'
import { type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'
import { keepLingering, stopLingering } from './linger.ts'
import { openSockets } from './open-sockets.ts'
import { inTurn } from './round.ts'
import { BULK_LONG, type Wire } from './wire.ts'

const { memory } = llhttp()
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

for (const kind of ['handles', 'net'] as const) {
  const layer = openSockets(memory, kind)

  /** A client and the wire that accepted it. */
  async function pair(): Promise<{ client: RawClient; wire: Wire; ear: Ear; done(): void }> {
    const ear = new Ear(memory.bytes)
    const accepted = Promise.withResolvers<Wire>()
    const acceptor = await layer.listen(0, { timeMs: 1_000 }, (wire) => {
      wire.owner = ear
      accepted.resolve(wire)
    })
    const client = await rawClient(acceptor.port)
    const wire = await accepted.promise
    return {
      client,
      wire,
      ear,
      done() {
        wire.destroy()
        client.close()
        acceptor.close()
      }
    }
  }

  describe(`sockets over ${kind}`, () => {
    it('names its layer, its peer and reads every byte value', async () => {
      const { client, wire, ear, done } = await pair()
      equal(layer.kind, kind)
      match(wire.ends.remoteAddress, /127\.0\.0\.1$/)
      equal(wire.ends.remotePort, client.socket.localPort)
      const all = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i))
      client.send(all)
      while (ear.text.length < 256) await turn()
      equal(ear.text, all)
      done()
    })

    it('sends what is written in one turn together and in order', async () => {
      const { client, wire, ear, done } = await pair()
      const bytes = Buffer.from('<views>')
      ear.onText = () => {
        wire.write('a\xff')
        wire.writeBytes(bytes, 1, 6, null)
        wire.write('b')
        wire.writeBytes(Buffer.alloc(40_000, 'c'), 0, 40_000, null)
        wire.write('d')
      }
      client.send('go')
      await client.until('d')
      equal(client.received, `a\xffviewsb${'c'.repeat(40_000)}d`)
      done()
    })

    it('tells what it has handed to the kernel, and keeps the rest to the end of the round, dead or not', async () => {
      const { client, wire, done } = await pair()
      const before = wire.handed
      inTurn(() => {
        wire.write('head ')
        wire.writeBytes(Buffer.from('short'), 0, 5, null)
        if (kind === 'handles') {
          const box = Buffer.alloc(4_000, 'b')
          wire.writeBytes(box, 0, box.length, null)
          wire.write('end')
          deepEqual([wire.handed, wire.waiting], [before, 4_013])
          equal(wire.unsent(), `head short${'b'.repeat(4_000)}end`)
        }
      })
      while (wire.handed === before) await turn()
      deepEqual([wire.waiting, wire.unsent()], [0, ''])
      const after = wire.handed
      inTurn(() => {
        wire.write('lost')
        wire.destroy()
        deepEqual([wire.handed, wire.waiting, wire.unsent()], [after, 4, 'lost'])
      })
      while (wire.waiting > 0) await turn()
      equal(wire.handed, after)
      ok(!(await client.untilEnd()).includes('lost'))
      done()
    })

    it('sends what is written outside of any turn', async () => {
      const { client, wire, done } = await pair()
      wire.write('now')
      await client.until('now')
      done()
    })

    it('says when the peer does not read, and when it does again', async () => {
      const { client, wire, ear, done } = await pair()
      client.socket.pause()
      let written = 0
      while (!wire.congested) {
        inTurn(() => {
          wire.writeBytes(Buffer.alloc(65_536, 'x'), 0, 65_536, null)
        })
        written += 65_536
        ok(written < 64 * 1024 * 1024)
        await turn()
      }
      equal(ear.drains, 0)
      client.socket.resume()
      while (wire.congested) await turn()
      while (ear.drains === 0) await turn()
      while (client.received.length < written) await turn()
      done()
    })

    it('a peer that does not read does not change the writes of others in the same round', async () => {
      const slow = await pair()
      const others = [await pair(), await pair()]
      slow.client.socket.pause()
      const much = Buffer.alloc(64_000, 's')
      while (!slow.wire.congested) {
        slow.wire.writeBytes(much, 0, much.length, null)
        await turn()
      }
      const sized = (letter: string) => Buffer.alloc(5_000, letter)
      inTurn(() => {
        slow.wire.writeBytes(sized('t'), 0, 5_000, null)
        for (const { wire } of others) wire.writeBytes(sized('a'), 0, 5_000, null)
        // The region of the last of them grows, that of the first one cannot.
        for (const { wire } of others) wire.writeBytes(sized('b'), 0, 5_000, null)
        slow.wire.writeBytes(sized('u'), 0, 5_000, null)
        for (const { wire } of others) wire.write('.')
      })
      await turn()
      // A later round has memory that what is stuck does not lie in.
      inTurn(() => {
        for (const { wire } of others) wire.writeBytes(sized('c'), 0, 5_000, null)
        for (const { wire } of others) wire.write('!')
      })
      for (const { client } of others) {
        await client.until('!')
        const all = `${'a'.repeat(5_000)}${'b'.repeat(5_000)}.${'c'.repeat(5_000)}!`
        ok(client.received === all, 'other bytes have arrived')
      }
      slow.client.socket.resume()
      await slow.client.until('u'.repeat(5_000))
      ok(slow.client.received.endsWith(`s${'t'.repeat(5_000)}${'u'.repeat(5_000)}`), 'other bytes have arrived')
      for (const one of [slow, ...others]) one.done()
    })

    it('a head and the long body behind it are one write, whole also where the peer reads slowly', async () => {
      const { client, wire, done } = await pair()
      const slot = memory.take()
      ok(slot !== null)
      slot.view.fill('s')
      const { offset, view } = slot
      client.socket.pause()
      let expected = ''
      while (!wire.congested && expected.length < 64 * 1024 * 1024) {
        const before = wire.handed
        inTurn(() => {
          wire.write('head;')
          wire.writeBytes(Buffer.alloc(30_000, 'k'), 0, 30_000, null)
          wire.write('text;')
          wire.writeBytes(memory.bytes, offset, offset + view.length, slot)
        })
        expected += `head;${'k'.repeat(30_000)}text;${'s'.repeat(view.length)}`
        if (kind === 'handles') equal(wire.handed, before + 1)
        await turn()
      }
      memory.release(slot)
      client.socket.resume()
      while (client.received.length < expected.length) await turn()
      ok(client.received === expected, 'other bytes have arrived')
      while (wire.congested) await turn()
      equal(memory.busy, 0)
      done()
    })

    it('says so within one turn, however short the texts are', async () => {
      const { client, wire, done } = await pair()
      client.socket.pause()
      const text = `${'x'.repeat(99)}\n`
      const most = 64 * 1024 * 1024
      let written = 0
      const congested = inTurn(() => {
        while (!wire.congested && written < most) {
          wire.write(text)
          written += text.length
        }
        return wire.congested
      })
      client.socket.resume()
      while (client.received.length < written) await turn()
      done()
      ok(congested, 'a client that sends requests and reads nothing would make us keep every answer')
      equal(client.received, text.repeat(written / text.length))
    })

    it('does not read while paused', async () => {
      const { client, wire, ear, done } = await pair()
      wire.pause()
      wire.pause()
      client.send('held')
      for (let i = 0; i < 20; i++) await turn()
      equal(ear.bytes, 0)
      wire.resume()
      while (ear.text !== 'held') await turn()
      done()
    })

    it('goes on sending after the peer has finished, and finishes itself', async () => {
      const { client, wire, ear, done } = await pair()
      client.send('question')
      client.socket.end()
      while (ear.ends === 0) await turn()
      inTurn(() => {
        wire.write('answer')
        wire.finish()
      })
      equal(await client.untilEnd(), 'answer')
      deepEqual([ear.ends, ear.errors.length], [1, 0])
      done()
    })

    it('an end that was requested before the close loses no bytes, however slowly the peer reads', async () => {
      const { client, wire, done } = await pair()
      client.socket.pause()
      inTurn(() => {
        wire.write('x'.repeat(8_000_000))
        wire.finish()
      })
      for (let i = 0; i < 5; i++) await turn()
      wire.close(false)
      for (let i = 0; i < 5; i++) await turn()
      client.socket.resume()
      equal((await client.untilEnd()).length, 8_000_000)
      done()
    })

    it('is closed by a reset while its end is being sent', async () => {
      const { client, wire, done } = await pair()
      wire.finish()
      wire.reset()
      await client.untilEnd()
      // Nobody is there any more: the system answers with a reset, and an end that was left open would not.
      while (!client.socket.destroyed) {
        client.send('late')
        await turn()
      }
      done()
    })

    it('close sends everything first, and tells the owner nothing more', async () => {
      for (const linger of [false, true]) {
        const { client, wire, ear, done } = await pair()
        inTurn(() => {
          wire.write('x'.repeat(3_000_000))
          wire.close(linger)
          wire.close(linger)
        })
        if (linger) client.send('late')
        equal((await client.untilEnd()).length, 3_000_000)
        client.close()
        for (let i = 0; i < 5; i++) await turn()
        deepEqual([ear.text, ear.ends, ear.errors.length], ['', 0, 0])
        done()
      }
    })

    it('a lingering close does not reset what the peer has not read yet', async () => {
      const { client, wire, done } = await pair()
      client.socket.pause()
      client.send('x'.repeat(500_000))
      for (let i = 0; i < 5; i++) await turn()
      inTurn(() => {
        wire.write('the answer')
        wire.close(true)
      })
      client.send('x'.repeat(500_000))
      client.socket.resume()
      equal(await client.untilEnd(), 'the answer')
      done()
    })

    it('reports a reset once', async () => {
      const { client, ear, done } = await pair()
      client.socket.resetAndDestroy()
      while (ear.errors.length === 0) await turn()
      deepEqual([ear.ends, ear.errors], [0, ['ECONNRESET']])
      done()
    })

    it('reset is an error for the peer, destroy an end', async () => {
      for (const how of ['reset', 'destroy'] as const) {
        const { client, wire, done } = await pair()
        const outcome = Promise.withResolvers<string>()
        client.socket.on('error', (error: NodeJS.ErrnoException) => outcome.resolve(error.code ?? ''))
        client.socket.on('end', () => outcome.resolve('FIN'))
        wire[how]()
        wire.write('lost')
        equal(await outcome.promise, how === 'reset' ? 'ECONNRESET' : 'FIN')
        done()
      }
    })

    it('connects to addresses and unix sockets, and gives slots back after bulk reads', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'weir-'))
      const unixPath = join(folder, 's')
      const big = 'z'.repeat(2_000_000)
      const unix = createServer((socket) => socket.end(big)).listen(unixPath)
      const tcp = await rawServer((client) => {
        client.send(big)
        client.socket.end()
      })
      for (const address of [{ unixPath }, { ip: '127.0.0.1', port: tcp.port, family: 4 as const }]) {
        const ear = new Ear(memory.bytes)
        const connected = Promise.withResolvers<Wire | null>()
        layer.connect(address, (_code, wire) => {
          if (wire !== null) {
            wire.owner = ear
            wire.bulk = BULK_LONG
          }
          connected.resolve(wire)
        })
        const wire = await connected.promise
        while (ear.ends === 0) await turn()
        equal(ear.bytes, big.length)
        wire?.destroy()
        equal(memory.busy, 0)
      }
      unix.close()
      tcp.close()
      rmSync(folder, { recursive: true })
    })

    it('says why a connection failed', async () => {
      const gone = await rawServer(() => {})
      gone.close()
      for (const [address, code] of [
        [{ ip: '127.0.0.1', port: gone.port, family: 4 as const }, 'ECONNREFUSED'],
        [{ unixPath: '/nowhere/weir.sock' }, 'ENOENT']
      ] as const) {
        const failed = Promise.withResolvers<string | null>()
        layer.connect(address, (got) => failed.resolve(got))
        equal(await failed.promise, code)
      }
    })

    it('says nothing about a connection that was given up', async () => {
      const server = await rawServer(() => {})
      let calls = 0
      const giveUp = layer.connect({ ip: '127.0.0.1', port: server.port, family: 4 }, () => calls++)
      giveUp()
      giveUp()
      for (let i = 0; i < 20; i++) await turn()
      equal(calls, 0)
      server.close()
    })

    it('a listener that closes first takes every connection that waits', async () => {
      const acceptor = await layer.listen(0, { timeMs: 0 }, (wire) => {
        wire.write('welcome')
        wire.close(false)
      })
      // Made in one turn: all of them wait in the kernel when the listener is told to close.
      const clients = Array.from({ length: 20 }, () => rawClient(acceptor.port))
      acceptor.close()
      for (const client of await Promise.all(clients)) equal(await client.untilEnd(), 'welcome')
      await rejects(rawClient(acceptor.port), { code: 'ECONNREFUSED' })
    })

    it('a port can be shared, and one that is taken is an error', async () => {
      const first = await layer.listen(0, { timeMs: 0 }, () => {})
      const second = await layer.listen(first.port, { timeMs: 0 }, () => {})
      equal(second.port, first.port)
      first.close()
      second.close()
      const exclusive = createServer().listen(0)
      const port = (exclusive.address() as { port: number }).port
      const failure = await layer
        .listen(port, { timeMs: 0 }, () => {})
        .catch((error: NodeJS.ErrnoException) => error.code)
      equal(failure, 'EADDRINUSE')
      exclusive.close()
    })
  })
}

describe('lingering', () => {
  it('ends in time, each with its own', async () => {
    const ended: string[] = []
    const wire = (name: string) => ({ destroy: () => ended.push(name) })
    const stopped = wire('stopped')
    const long = wire('long')
    keepLingering(long, 60_000)
    keepLingering(stopped, 10)
    stopLingering(stopped)
    // Lingering alone keeps no process alive, so the test has to.
    const alive = setInterval(() => {}, 1_000)
    await new Promise<void>((resolve) => keepLingering({ destroy: () => resolve() }, 10))
    clearInterval(alive)
    deepEqual(ended, [])
    stopLingering(long)
  })
})
