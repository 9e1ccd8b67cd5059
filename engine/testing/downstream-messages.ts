/** Cases of engine/downstream/contract.test.ts: messages. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answering, type Case, digest, GET, manyTurns, OK, passOne, upstream } from './downstream-support.ts'
import { exchangeRaw, rawClient } from './raw.ts'

export const MESSAGE_CASES: Record<string, Case> = {
  async 'a connection serves one request after the other'(open) {
    const server = await answering(OK)
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    for (let n = 1; n <= 3; n++) {
      client.send(GET)
      await client.until(new RegExp(`(?:[\\s\\S]*?\r\n\r\nok){${n}}`))
    }
    assert.equal(stack.connections.opened, 1)
    assert.equal(stack.bind.connections(), 1)
    assert.equal(server.accepted(), 1)
    client.close()
  },

  async 'requests sent ahead are answered in order'(open) {
    let n = 0
    const server = await upstream(async (client) => {
      for (;;) {
        await client.until(new RegExp(`(?:[\\s\\S]*?\r\n\r\n){${++n}}`))
        client.send(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${n}`)
      }
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send(GET + GET + GET)
    assert.match(await client.until(/\r\n\r\n3/), /\r\n\r\n1[\s\S]*\r\n\r\n2[\s\S]*\r\n\r\n3$/)
    client.close()
  },

  async 'a request that asks for it closes the connection'(open) {
    const server = await answering(OK)
    const stack = await open({ upstream: server.port })
    const answer = await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    assert.match(answer, /\r\nConnection: close\r\n[\s\S]*ok$/)
  },

  async 'HEAD keeps the length and has no body'(open) {
    const server = await upstream(async (client) => {
      await client.until('HEAD')
      client.send('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n')
      await client.until('GET')
      client.send(OK)
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.match(await client.until('\r\n\r\n'), /\r\nContent-Length: 5000\r\n/)
    client.send(GET)
    assert.match(await client.until('ok'), /\r\n\r\nHTTP\/1.1 200 OK\r\n/)
    assert.equal(stack.connections.opened, 1)
    client.close()
  },

  async '204 and 304 have no body, and the connection goes on'(open) {
    const answers = ['HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n', OK]
    let n = 0
    const server = await upstream(async (client) => {
      for (const answer of answers) {
        await client.until(new RegExp(`(?:[\\s\\S]*?\r\n\r\n){${++n}}`))
        client.send(answer)
      }
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    for (const end of [/ 204 [\s\S]*\r\n\r\n$/, / 304 [\s\S]*\r\n\r\n$/, /ok$/]) {
      client.send(GET)
      await client.until(end)
    }
    assert.doesNotMatch(client.received.split('HTTP/1.1 304')[0]!, /content-length|transfer-encoding/i)
    client.close()
  },

  async 'a chunked request is forwarded as it comes'(open) {
    const server = await upstream(async (client) => {
      await client.until('one')
      client.send('HTTP/1.1 100 Continue\r\n\r\n')
      await client.until('0\r\n\r\n')
      client.send(OK)
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n')
    const [peer] = [...server.sockets]
    if (peer === undefined) await manyTurns()
    client.send('3\r\ntwo\r\n0\r\n\r\n')
    await client.until('ok')
    const [record] = await stack.recorded(1)
    assert.equal(record!.bytesReceived, 6)
    client.close()
  },

  async 'a response without length is sent in chunks'(open) {
    const answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n'
    const { client } = await passOne(open, answer, GET, '\r\n0\r\n\r\n')
    assert.match(client, /\r\nTransfer-Encoding: chunked\r\n/)
    const body = client.slice(client.indexOf('\r\n\r\n') + 4)
    assert.equal(body.replace(/[0-9a-f]+\r\n([\s\S]*?)\r\n/g, '$1'), 'onetwo')
  },

  async 'a megabyte passes both ways, sized and chunked'(open) {
    const server = createServer((req, res) => {
      if (req.headers['content-length'] !== undefined) res.setHeader('Content-Length', req.headers['content-length'])
      req.pipe(res)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stack = await open({ upstream: (server.address() as AddressInfo).port })
    const sent = randomBytes(1024 * 1024 + 7)
    for (const sized of [true, false]) {
      const req = httpRequest({ port: stack.port, method: 'POST', agent: false })
      if (sized) req.setHeader('Content-Length', sent.length)
      else req.write(sent.subarray(0, 100_000))
      req.end(sized ? sent : sent.subarray(100_000))
      const [res] = (await once(req, 'response')) as [AsyncIterable<Buffer>]
      const got: Buffer[] = []
      for await (const piece of res) got.push(piece)
      assert.equal(digest(Buffer.concat(got)), digest(sent))
    }
    const records = await stack.recorded(2)
    for (const { bytesReceived, bytesSent } of records)
      assert.deepEqual([bytesReceived, bytesSent], [sent.length, sent.length])
    server.closeAllConnections()
    server.close()
  },

  async 'a response that comes before the end of the request arrives'(open) {
    const server = await upstream(async (client) => {
      await client.until('\r\n\r\nbegin')
      client.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbegin')
    assert.match(await client.until('\r\n\r\nno'), / 403 /)
    client.close()
  },

  async 'a client that leaves cancels the request upstream'(open) {
    const left = Promise.withResolvers<void>()
    const came = Promise.withResolvers<void>()
    const server = await upstream(async (client) => {
      await client.until('\r\n\r\n')
      came.resolve()
      await client.untilEnd()
      left.resolve()
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send(GET)
    await came.promise
    client.close()
    await left.promise
    const [record] = await stack.recorded(1)
    assert.deepEqual([record!.status, record!.error], [499, 'CLIENT_GONE'])
  },

  async 'an upstream that breaks off breaks the response'(open) {
    for (const framing of ['Content-Length: 100\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n5\r\n']) {
      const server = await upstream(async (client) => {
        await client.until('\r\n\r\n')
        client.send(`HTTP/1.1 200 OK\r\n${framing}start`)
        client.socket.end()
      })
      const stack = await open({ upstream: server.port })
      const answer = await exchangeRaw(stack.port, GET)
      assert.doesNotMatch(answer, /\r\n0\r\n\r\n$/)
      const [record] = await stack.recorded(1)
      assert.equal(record!.error, 'UPSTREAM_RESET')
    }
  },

  async 'a client that expects 100 Continue gets it before it sends'(open) {
    const server = await upstream(async (client) => {
      if (/expect/i.test(await client.until('\r\n\r\n'))) client.send('HTTP/1.1 100 Continue\r\n\r\n')
      await client.until('body')
      client.send(OK)
    })
    const stack = await open({ upstream: server.port })
    const client = await rawClient(stack.port)
    client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n')
    await client.until('HTTP/1.1 100 Continue\r\n\r\n')
    client.send('body')
    assert.match(await client.until('ok'), /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n/)
    client.close()
  }
}
