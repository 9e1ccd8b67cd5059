/** Cases of engine/downstream/contract.test.ts: limits, time, backpressure, drain. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { answering, type Case, digest, GET, manyTurns, OK, upstream } from './downstream-support.ts'
import { exchangeRaw, rawClient } from './raw.ts'

/** A clock that stands still where a slow machine would let a time pass that the test is about. */
function stoppable() {
  let until = Number.POSITIVE_INFINITY
  return {
    now: () => Math.min(performance.now(), until),
    stop: () => {
      until = performance.now()
    },
    goOn: () => {
      until = Number.POSITIVE_INFINITY
    }
  }
}

const MB = 1024 * 1024

/** Writes `count` times `piece`, waiting whenever the socket is full. Returns what has been written so far. */
function pour(socket: import('node:net').Socket, piece: Buffer, count: number): () => number {
  let written = 0
  const more = async () => {
    while (written < count && !socket.destroyed) {
      written++
      if (!socket.write(piece)) await once(socket, 'drain')
    }
  }
  more().catch((error: unknown) => {
    if (!socket.destroyed) throw error
  })
  return () => written * piece.length
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** The body of a chunked response. Throws when it is not framed as it must be. */
function unchunk(response: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = response.indexOf('\r\n\r\n') + 4; ; ) {
    const start = response.indexOf('\r\n', at) + 2
    const size = response.subarray(at, start - 2).toString()
    assert.match(size, /^[0-9a-f]+$/i, `no size of a chunk at ${at}`)
    const end = start + Number.parseInt(size, 16)
    assert.equal(response.subarray(end, end + 2).toString(), '\r\n', `the chunk at ${at} is not so long`)
    if (start === end) return Buffer.concat(pieces)
    pieces.push(response.subarray(start, end))
    at = end + 2
  }
}

export const FLOW_CASES: Record<string, Case> = {
  async 'what is too large is refused'(open) {
    const server = await answering(OK)
    const limits = { uriBytesMax: 100, headersMax: 5, bodyBytesMax: 10 }
    const stack = await open({ upstream: server.port, http: limits })
    const many = 'X: 1\r\n'.repeat(5)
    for (const [text, status] of [
      [`GET /${'a'.repeat(100)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414],
      [`GET / HTTP/1.1\r\nHost: a\r\n${many}\r\n`, 431],
      ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world', 413]
    ] as const) {
      const client = await rawClient(stack.port)
      client.send(text)
      assert.match(await client.until('\r\n\r\n'), new RegExp(`^HTTP/1.1 ${status} `))
      client.close()
    }
    assert.equal(server.accepted(), 0)
  },

  async 'a body that grows over the limit is refused'(open) {
    const server = await upstream(() => {})
    const stack = await open({ upstream: server.port, http: { bodyBytesMax: 10 } })
    const client = await rawClient(stack.port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n')
    assert.match(await client.until('\r\n\r\n'), /^HTTP\/1.1 413 /)
    client.close()
  },

  async 'a body that does not come is given up'(open) {
    const server = await upstream(() => {})
    const stack = await open({ upstream: server.port, http: { bodyTimeoutMs: 60 } })
    const client = await rawClient(stack.port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello')
    assert.match(await client.until('\r\n\r\n'), /^HTTP\/1.1 408 /)
    client.close()
  },

  async 'a client that does not read is given up'(open) {
    const server = await upstream(async (peer) => {
      await peer.until('\r\n\r\n')
      peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${64 * MB}\r\n\r\n`)
      pour(peer.socket, Buffer.alloc(MB), 64)
    })
    const stack = await open({ upstream: server.port, http: { sendTimeoutMs: 60 } })
    const client = await rawClient(stack.port)
    client.socket.pause()
    client.send(GET)
    const [record] = await stack.recorded(1)
    assert.equal(record!.error, 'CLIENT_GONE')
    client.close()
  },

  async 'a slow client holds the upstream back'(open) {
    for (const framing of [`Content-Length: ${64 * MB}\r\n\r\n`, 'Transfer-Encoding: chunked\r\n\r\n']) {
      let poured = () => 0
      const piece = framing.startsWith('C')
        ? Buffer.alloc(MB, 'a')
        : Buffer.from(`${MB.toString(16)}\r\n${'a'.repeat(MB)}\r\n`)
      const server = await upstream(async (peer) => {
        await peer.until('\r\n\r\n')
        peer.send(`HTTP/1.1 200 OK\r\n${framing}`)
        poured = pour(peer.socket, piece, 64)
        if (framing.startsWith('C')) return
        while (poured() < 64 * piece.length) await once(peer.socket, 'drain')
        peer.send('0\r\n\r\n')
      })
      const stack = await open({ upstream: server.port })
      const client = await rawClient(stack.port)
      client.socket.removeAllListeners('data')
      client.socket.pause()
      client.send(GET)
      await manyTurns()
      assert.ok(poured() < 24 * MB, `${poured()} bytes went into nobody`)
      let bytes = 0
      const whole = Promise.withResolvers<void>()
      client.socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes >= 64 * MB) whole.resolve()
      })
      client.socket.resume()
      await whole.promise
      client.close()
    }
  },

  async 'what a slow client gets is what was sent'(open) {
    const sent = createHash('sha256')
    const server = await upstream(async (peer) => {
      await peer.until('\r\n\r\n')
      peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      for (let i = 0; i < 1_000; i++) {
        // Sizes around those at which what waits is cut, each of them read by itself.
        const piece = Buffer.alloc(16_000 + (i % 7) * 2_000, `${i} `)
        sent.update(piece)
        peer.send(`${piece.length.toString(16)}\r\n`)
        peer.socket.write(piece)
        peer.send('\r\n')
        if (peer.socket.writableNeedDrain) await once(peer.socket, 'drain')
        await turn()
      }
      peer.send('0\r\n\r\n')
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.socket.removeAllListeners('data')
    client.send(GET)
    const got: Buffer[] = []
    let bytes = 0
    for await (const chunk of client.socket as AsyncIterable<Buffer>) {
      got.push(chunk)
      bytes += chunk.length
      if (bytes > 200_000) for (bytes = 0; bytes < 20; bytes++) await turn()
      if (chunk.subarray(-5).equals(LAST_CHUNK)) break
    }
    client.close()
    assert.equal(digest(unchunk(Buffer.concat(got))), sent.digest('hex'))
  },

  async 'a slow upstream holds the client back'(open) {
    const server = await upstream(async (peer) => {
      peer.socket.removeAllListeners('data')
      peer.socket.pause()
      let seen = 0
      peer.socket.on('data', (chunk: Buffer) => {
        seen += chunk.length
        if (seen >= 64 * MB) peer.send(OK)
      })
      peer.socket.pause()
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send(`POST / HTTP/1.1\r\nHost: b\r\nContent-Length: ${64 * MB}\r\n\r\n`)
    const poured = pour(client.socket, Buffer.alloc(MB, 'a'), 64)
    await manyTurns()
    assert.ok(poured() < 24 * MB, `${poured()} bytes went into nobody`)
    for (const socket of server.sockets) socket.resume()
    await client.until('ok')
    client.close()
  },

  async 'drain announces the end'(open) {
    const server = await answering(OK)
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send(GET)
    await client.until('ok')
    const busy = await rawClient(stack.port)
    busy.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n')
    await busy.until('ok').catch(() => '')
    const late = await rawClient(stack.port)
    stack.bind.drain()
    late.send(GET)
    await late.until(/\r\nConnection: close\r\n/i).catch(() => assert.ok(late.ended))
    for (const one of [client, busy, late]) one.close()
  },

  async 'drain answers what is on the way, telling of the end, and ends idle connections soon'(open) {
    const server = await answering(OK)
    const clock = stoppable()
    const stack = await open({ upstream: server.port, timers: new TimerWheel(clock.now) })
    const [idle, busy] = [await rawClient(stack.port), await rawClient(stack.port)]
    for (const client of [idle, busy]) {
      client.send(GET)
      await client.until('ok')
    }
    // The second that is left does not pass before the request is there.
    clock.stop()
    stack.bind.drain()
    await manyTurns()
    busy.send(GET)
    await busy.until(/ok[\s\S]*ok/)
    clock.goOn()
    assert.match(await busy.untilEnd(), /ok[\s\S]*\r\nConnection: close\r\n[\s\S]*ok$/)
    assert.doesNotMatch(await idle.untilEnd(), /Connection: close/)
    assert.equal(stack.bind.connections(), 0)
  },

  async 'an answer that had promised another one when the drain began is followed by one'(open) {
    let finish = () => {}
    const server = await upstream(async (peer) => {
      await peer.until('\r\n\r\n')
      peer.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
      finish = () => peer.send('world')
      await peer.until(/\r\n\r\n[\s\S]*\r\n\r\n/)
      peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
    const clock = stoppable()
    const stack = await open({ upstream: server.port, timers: new TimerWheel(clock.now) })
    const client = await rawClient(stack.port)
    client.send(GET)
    await client.until('hello')
    clock.stop()
    stack.bind.drain()
    await manyTurns()
    finish()
    await client.until('world')
    client.send(GET)
    await client.until(/world[\s\S]*ok/)
    clock.goOn()
    assert.match(await client.untilEnd(), /helloworld[\s\S]*\r\nConnection: close\r\n[\s\S]*ok$/)
  },

  async 'an exchange under way survives drain and is cut at the end'(open) {
    const server = await upstream(async (peer) => {
      await peer.until('\r\n\r\n')
      peer.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send(GET)
    await client.until('hello')
    stack.bind.stopAccepting()
    stack.bind.drain()
    await manyTurns()
    assert.equal(client.ended, false)
    stack.bind.closeAll()
    await client.untilEnd()
    assert.equal(stack.bind.connections(), 0)
    const [record] = await stack.recorded(1)
    assert.equal(record!.error, 'CLIENT_GONE')
    assert.deepEqual(stack.connections, { opened: 1, closed: 1 })
  },

  async 'a bind that no longer accepts refuses connections'(open) {
    const stack = await open({ upstream: 1 })
    stack.bind.stopAccepting()
    await manyTurns()
    await assert.rejects(exchangeRaw(stack.port, GET), /ECONNREFUSED/)
  }
}
