/** Pipelining, early answers and clients that leave: order, bounds, and nothing left behind. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { llhttp } from '#engine/http/llhttp.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'

const HOST = 'Host: a.test\r\n'
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`
const LAST = get('/last', 'Connection: close\r\n')

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Lets everything happen that can happen without further input. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

/** Nothing is under way or leaked once the downstream connections are closed. */
function equalCounts(stack: Stack): void {
  deepEqual(stack.upstream.counts().busy, 0)
  equal(stack.connections.opened, stack.connections.closed)
  // A connection keeps its parser: those to the origin are idle now.
  equal(llhttp().busy, stack.upstream.counts().idle)
}

/** Every request is answered at its head, and the rest of one is not waited for for long. */
const REFUSING = { upstream: 1, refuse: () => 'ROUTE_NOT_FOUND' as const, http: { bodyTimeoutMs: 60 } }

for (const sockets of ['handles', 'net'] as const) {
  describe(`one connection, many requests, over ${sockets}`, () => {
    it('answers requests that come in one write in their order', async () => {
      const origin = await startOrigin((response, { url, body }) => {
        const answer = () => response.end(`<${url}${body}>`)
        // Later ones are faster: an answer out of order would show.
        if (url === '/0') setImmediate(() => setImmediate(answer))
        else answer()
      })
      const stack = await startStack({ upstream: origin.port, sockets })
      for (const count of [1, 2, 50]) {
        const requests = Array.from({ length: count }, (_, i) =>
          i % 3 === 2 ? `POST /${i} HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\n!` : get(`/${i}`)
        )
        const answer = await exchangeRaw(stack.port, requests.join('') + LAST)
        const bodies = [...answer.matchAll(/<(.*?)>/g)].map((match) => match[1])
        deepEqual(bodies, [...requests.map((_, i) => (i % 3 === 2 ? `/${i}!` : `/${i}`)), '/last'])
      }
      equalCounts(stack)
      stack.close()
      origin.close()
    })

    it('keeps what is sent ahead bounded, whole and in order while a response is pending', async () => {
      let first: RawClient | null = null
      const bodies: string[] = []
      const server = await rawServer(async (client) => {
        first ??= client
        let at = 0
        client.socket.on('data', () => {
          for (;;) {
            const request = /(?:GET|POST) (\/\S+)[\s\S]*?\r\n\r\n/g
            request.lastIndex = at
            const found = request.exec(client.received)
            if (found === null) return
            const length = Number(/content-length: (\d+)/i.exec(found[0])?.[1] ?? 0)
            if (client.received.length < request.lastIndex + length) return
            bodies.push(`${found[1]} ${client.received.slice(request.lastIndex, request.lastIndex + length)}`)
            at = request.lastIndex + length
            if (found[1] !== '/wait') client.send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
          }
        })
      })
      const stack = await startStack({ upstream: server.port, sockets })
      const client = await rawClient(stack.port)
      client.send(get('/wait'))
      const body = Array.from({ length: 60_000 }, (_, i) => `${i}.`).join('')
      const post = `POST /big HTTP/1.1\r\n${HOST}Content-Length: ${body.length}\r\n\r\n${body}`
      const flood = `${get('/a')}${post}${get('/b')}${post}`
      client.send(flood)
      // As much again as the kernel's buffers take: it stays unread by the gateway.
      const more = 'x'.repeat(4_000_000)
      client.send(`POST /big HTTP/1.1\r\n${HOST}Content-Length: ${more.length}\r\n\r\n${more}${LAST}`)
      while (first === null) await turn()
      await (first as RawClient).until('/wait')
      await turns(50)
      ok(client.socket.writableLength > 0, 'the gateway has stopped reading')
      equal(bodies.length, 1)
      ;(first as RawClient).send('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      const answer = await client.untilEnd()
      deepEqual(statuses(answer), [200, 200, 200, 200, 200, 200, 200])
      deepEqual(bodies, ['/wait ', '/a ', `/big ${body}`, '/b ', `/big ${body}`, `/big ${more}`, '/last '])
      client.close()
      equalCounts(stack)
      stack.close()
      server.close()
    })

    it('does not answer a client without bound that sends requests and reads nothing', async () => {
      const body = 'b'.repeat(10_000)
      const origin = await startOrigin((response) => response.end(body))
      const stack = await startStack({ upstream: origin.port, sockets })
      const client = await rawClient(stack.port)
      client.socket.pause()
      // 5,000 answers are 50 MB; the sockets' buffers hold a few.
      client.send(get('/').repeat(5_000) + LAST)
      let before = -1
      while (before !== origin.seen.length || before === 0) {
        before = origin.seen.length
        await turns(200)
      }
      ok(before < 2_500, `${before} requests were answered`)
      client.socket.resume()
      const answer = await client.untilEnd()
      equal(statuses(answer).length, 5_001)
      client.close()
      stack.close()
      origin.close()
    })

    it('passes an early answer on, and closes both connections when much of the request is missing', async () => {
      const server = await rawServer(async (upstream) => {
        await upstream.until('\r\n\r\n')
        upstream.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig')
      })
      const stack = await startStack({ upstream: server.port, sockets })
      for (let i = 1; i <= 2; i++) {
        const client = await rawClient(stack.port)
        client.send(`POST / HTTP/1.1\r\n${HOST}Content-Length: 20000000\r\n\r\nstart`)
        const answer = await client.untilEnd()
        deepEqual(statuses(answer), [413])
        match(answer, /\r\nConnection: close\r\n/)
        ok(answer.endsWith('\r\n\r\nbig'))
        client.close()
        // Nothing of the unfinished request may reach the next one: each has a connection of its own.
        equal(server.accepted(), i)
      }
      deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
      equalCounts(stack)
      stack.close()
      server.close()
    })

    it('drops what a client sends behind an early answer, and serves its next request', async () => {
      const server = await rawServer(async (upstream) => {
        const head = await upstream.until('\r\n\r\n')
        upstream.send(
          `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n${head.startsWith('POST /1') ? 'one' : 'two'}`
        )
      })
      const stack = await startStack({ upstream: server.port, sockets })
      const client = await rawClient(stack.port)
      client.send(`POST /1 HTTP/1.1\r\n${HOST}Content-Length: 10\r\n\r\nhello`)
      await client.until('one')
      client.send(`world${get('/2')}`)
      await client.until('two')
      client.send(`POST /1 HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)
      await client.until(/one[\s\S]*one/)
      client.send(`5\r\nworld\r\n0\r\n\r\n${get('/2')}`)
      await client.until(/two[\s\S]*two/)
      // Who has not waited for 100 Continue, or not for long, sends all of it.
      client.send(`POST /1 HTTP/1.1\r\n${HOST}Content-Length: 10\r\nExpect: 100-continue\r\n\r\nhello`)
      await client.until(/(?:one[\s\S]*){3}/)
      client.send(`world${get('/2')}`)
      deepEqual(statuses(await client.until(/(?:two[\s\S]*){3}/)), [200, 200, 200, 200, 200, 200])
      client.close()
      stack.close()
      server.close()
    })

    it('does not wait for long, nor for much, behind an early answer', async () => {
      const stack = await startStack({ ...REFUSING, sockets })
      const head = `POST / HTTP/1.1\r\n${HOST}`
      deepEqual(statuses(await exchangeRaw(stack.port, `${head}Content-Length: 10\r\n\r\nhello`)), [404])
      const chunk = `100000\r\n${'a'.repeat(1_048_576)}\r\n`
      const client = await rawClient(stack.port)
      client.send(`${head}Transfer-Encoding: chunked\r\n\r\n`)
      for (let i = 0; i < 18; i++) client.send(chunk)
      deepEqual(statuses(await client.untilEnd()), [404])
      const expecting = `${head}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`
      deepEqual(statuses(await exchangeRaw(stack.port, expecting)), [404])
      client.close()
      stack.close()
    })

    it('does not answer twice when a body breaks behind an early answer', async () => {
      const stack = await startStack({ ...REFUSING, sockets })
      const head = `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`
      deepEqual(statuses(await exchangeRaw(stack.port, `${head}zz\r\n`)), [404])
      deepEqual(statuses(await exchangeRaw(stack.port, `${head}5\r\nhe`)), [404])
      stack.close()
    })
  })

  describe(`clients that leave, over ${sockets}`, () => {
    const STAGES: readonly (readonly [string, string, string])[] = [
      ['during the body', `POST / HTTP/1.1\r\n${HOST}Content-Length: 10\r\n\r\nhello`, ''],
      ['waiting for the answer to a GET', get('/'), ''],
      ['waiting for the answer to a POST', `POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`, ''],
      ['during the answer', get('/'), 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello'],
      ['during a chunked answer', get('/'), 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n']
    ]
    for (const [name, request, answer] of STAGES) {
      for (const how of ['FIN', 'RST'] as const) {
        it(`${name}, by ${how}: the upstream connection is closed`, async () => {
          const closed: Promise<unknown>[] = []
          let received = 0
          const server = await rawServer((upstream) => {
            closed.push(once(upstream.socket, 'close'))
            upstream.socket.on('data', () => received++)
            upstream.socket.on('end', () => upstream.socket.end())
          })
          const stack = await startStack({ upstream: server.port, sockets })
          const client = await rawClient(stack.port)
          client.send(request)
          while (received === 0) await turn()
          if (answer !== '') {
            for (const socket of server.sockets) socket.write(answer, 'latin1')
            await client.until('hello')
          }
          if (how === 'FIN') client.socket.end()
          else client.socket.resetAndDestroy()
          const [record] = await stack.recorded(1)
          equal(record?.error, 'CLIENT_GONE')
          await Promise.all(closed)
          deepEqual(stack.upstream.counts(), { idle: 0, busy: 0 })
          equalCounts(stack)
          client.close()
          stack.close()
          server.close()
        })
      }
    }

    // More pieces than are parsed in one poll.
    const CHUNKS = '1\r\na\r\n'.repeat(30_000)
    for (const [name, behind] of [
      ['a body of many pieces', ''],
      ['a body of many pieces with requests behind it', get('/next').repeat(100)]
    ] as const) {
      it(`behind ${name}: the upstream connection is closed`, async () => {
        const received: string[] = []
        const server = await rawServer((upstream) => {
          let text = ''
          upstream.socket.on('data', (chunk) => {
            text = (text + chunk.toString('latin1')).slice(-9)
            if (text.endsWith('\n0\r\n\r\n')) received.push(text)
          })
          upstream.socket.on('end', () => upstream.socket.end())
        })
        const stack = await startStack({ upstream: server.port, sockets })
        const client = await rawClient(stack.port)
        const head = `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`
        client.send(`${head}${CHUNKS}0\r\n\r\n${behind}`)
        while (received.length === 0) await turn()
        await turns(20)
        client.socket.resetAndDestroy()
        const [record] = await stack.recorded(1)
        equal(record?.error, 'CLIENT_GONE')
        client.close()
        stack.close()
        server.close()
      })
    }

    it('before its head is complete: nothing is recorded, nothing stays', async () => {
      const stack = await startStack({ upstream: 1, sockets })
      for (const bytes of ['', 'G', `GET / HTTP/1.1\r\n${HOST}`]) {
        const client = await rawClient(stack.port)
        if (bytes !== '') client.send(bytes)
        client.socket.end()
        await client.untilEnd()
        client.close()
      }
      equal(stack.records.length, 0)
      equalCounts(stack)
      stack.close()
    })
  })
}
