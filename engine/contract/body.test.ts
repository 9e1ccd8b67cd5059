/** Whole bodies in a running stack: collected, bounded, replaced, given up. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HeaderBlock } from '#engine/http/headers.ts'
import { buildReply, dropServer, replyFor } from '#engine/lifecycle/local-reply.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'
import { UWS_STACK } from '#engine/testing/transports.ts'
import { collectRequest, collectResponse, replaceRequestBody, replaceResponseBody, whenResponse } from './body.ts'
import { BODY_LENGTH, BODY_NONE, type ClientStream, Exchange } from './exchange.ts'
import { abortSignal, whenOver } from './exchange-signal.ts'
import { CONTINUE, type Hook, LATER } from './filter.ts'

const MAX = 1000

const KINDS: readonly (readonly [name: string, options: Omit<StackOptions, 'upstream'>])[] = [
  ['handles', { sockets: 'handles' }],
  ['net', { sockets: 'net' }],
  ['uws', UWS_STACK]
]

describe('an answer that a backend waits for', () => {
  /** An exchange whose answer has just come to its end. */
  function answered(calls: string[], then: () => void = () => {}): Exchange {
    const ex = new Exchange({} as ClientStream, 'GET', '/', '', 'a.test', new HeaderBlock(), BODY_NONE, 0, 0)
    ex.status = 200
    ex.response = new HeaderBlock()
    ex.responseBody = BODY_LENGTH
    ex.responseLength = 2
    whenOver(ex, () => calls.push('over'))
    const fail = () => calls.push('fail')
    assert.equal(
      whenResponse(ex, MAX, fail, () => {
        calls.push(`read ${ex.responseBytes}`)
        then()
      }),
      LATER
    )
    ex.responseCollector!.take(Buffer.from('ok'), 0, 2)
    ex.responseCollector!.end()
    return ex
  }

  it('is read at the end of the round', async () => {
    const calls: string[] = []
    const ex = answered(calls)
    assert.deepEqual(calls, [])
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(calls, ['read ok'])
    abortSignal(ex)
    assert.deepEqual(calls, ['read ok', 'over'])
  })

  it('is read all the same, and once, when the client leaves before that', async () => {
    const calls: string[] = []
    const ex = answered(calls)
    // As the engine does when a client has gone.
    dropServer(ex)
    abortSignal(ex)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(calls, ['read ok', 'over'])
    assert.equal(ex.responseBytes, null)
  })

  it('is read, and changes nothing of a reply of its own that the gateway has sent before that', async () => {
    const calls: string[] = []
    const ex = answered(calls, () => {
      calls.push(String(ex.status))
      ex.status = 502
      replaceResponseBody(ex, Buffer.from('more'))
    })
    dropServer(ex)
    ex.localReply = replyFor(ex, 'REQUEST_TIMEOUT')
    buildReply(ex, ex.localReply)
    const length = ex.response!.get('content-length')
    abortSignal(ex)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(calls, ['read ok', '200', 'over'])
    assert.equal(ex.status, 504)
    assert.equal(ex.response!.get('content-length'), length)
    assert.equal(ex.heldResponse, null)
  })
})

for (const [name, kind] of KINDS) {
  describe(`bodies, over ${name}`, () => {
    /** A stack that collects both bodies and notes them; `hook` runs behind the collector of its side. */
    async function start(upstream: number, hooks: { request?: Hook; response?: Hook } = {}, options: object = {}) {
      const bodies: (string | null)[] = []
      const arrived = Promise.withResolvers<void>()
      const arrive: Hook = () => {
        arrived.resolve()
        return CONTINUE
      }
      const note =
        (side: 'requestBytes' | 'responseBytes', hook?: Hook): Hook =>
        (ex) => {
          bodies.push(ex[side]?.toString('latin1') ?? null)
          return hook?.(ex) ?? CONTINUE
        }
      const fail = (ex: Exchange, code: Parameters<Stack['fail']>[1]): void => stack.fail(ex, code)
      const stack: Stack = await startStack({
        upstream,
        ...kind,
        ...options,
        ...('request' in hooks
          ? { requestHooks: [arrive, collectRequest(MAX), note('requestBytes', hooks.request)] }
          : {}),
        ...('response' in hooks
          ? { responseHooks: [collectResponse(MAX, fail), note('responseBytes', hooks.response)] }
          : {})
      })
      return { stack, bodies, arrived: arrived.promise }
    }
    const pass: Hook = () => CONTINUE
    const post = (more: string) => `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n${more}`

    it('a sized request body is there when the hook runs, and arrives whole', async () => {
      const origin = await startOrigin()
      const { stack, bodies } = await start(origin.port, { request: pass })
      const client = await rawClient(stack.port)
      client.send(post('Content-Length: 10\r\n\r\nabc'))
      client.send('defghij')
      assert.match(await client.untilEnd(), /\r\n\r\nabcdefghij$/)
      assert.deepEqual([bodies, origin.seen[0]!.body], [['abcdefghij'], 'abcdefghij'])
      stack.close()
      origin.close()
    })

    it('a chunked one too, split anywhere', async () => {
      const origin = await startOrigin()
      const { stack, bodies } = await start(origin.port, { request: pass })
      const client = await rawClient(stack.port)
      for (const piece of [
        post('Transfer-Encoding: chunked\r\n\r\n'),
        '3\r\nab',
        'c\r\n',
        '2\r\nde\r\n',
        '0\r\n\r\n'
      ]) {
        client.send(piece)
      }
      await client.untilEnd()
      assert.deepEqual([bodies, origin.seen[0]!.body], [['abcde'], 'abcde'])
      stack.close()
      origin.close()
    })

    it('a request without body does not wait', async () => {
      const origin = await startOrigin()
      const { stack, bodies } = await start(origin.port, { request: pass })
      assert.deepEqual(
        statuses(await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')),
        [200]
      )
      assert.deepEqual(bodies, [null])
      stack.close()
      origin.close()
    })

    it('a request body over the limit is 413, announced or not, and the backend hears nothing', async () => {
      const origin = await startOrigin()
      const { stack, bodies } = await start(origin.port, { request: pass })
      assert.deepEqual(
        statuses(await exchangeRaw(stack.port, post(`Content-Length: ${MAX + 1}\r\n\r\n${'x'.repeat(MAX + 1)}`))),
        [413]
      )
      const chunk = `${MAX.toString(16)}\r\n${'x'.repeat(MAX)}\r\n`
      const chunked = await exchangeRaw(
        stack.port,
        post(`Transfer-Encoding: chunked\r\n\r\n${chunk}1\r\ny\r\n0\r\n\r\n`)
      )
      assert.deepEqual(statuses(chunked), [413])
      assert.match(chunked, /the request body is larger than what a policy may keep of it\n$/)
      assert.deepEqual([bodies, origin.seen], [[], []])
      assert.deepEqual(
        stack.records.map((record) => record.error),
        ['BODY_NOT_BUFFERED', 'BODY_NOT_BUFFERED']
      )
      stack.close()
      origin.close()
    })

    it('bytes that arrive while an earlier hook waits count too', async () => {
      const origin = await startOrigin()
      const open: (() => void)[] = []
      const wait: Hook = () => new Promise((resolve) => open.push(() => resolve(CONTINUE)))
      const stack = await startStack({ upstream: origin.port, ...kind, requestHooks: [wait, collectRequest(MAX)] })
      const client = await rawClient(stack.port)
      client.send(post(`Content-Length: ${MAX}\r\n\r\n${'x'.repeat(MAX)}`))
      const chunked = await rawClient(stack.port)
      chunked.send(post(`Transfer-Encoding: chunked\r\n\r\n7d0\r\n${'x'.repeat(2000)}\r\n0\r\n\r\n`))
      while (open.length < 2) await new Promise((resolve) => setImmediate(resolve))
      for (const go of open) go()
      assert.deepEqual([statuses(await client.untilEnd()), statuses(await chunked.untilEnd())], [[200], [413]])
      assert.equal(origin.seen.length, 1)
      for (const one of [client, chunked]) one.close()
      stack.close()
      origin.close()
    })

    it('a body of exactly the limit passes', async () => {
      const origin = await startOrigin()
      const { stack } = await start(origin.port, { request: pass, response: pass })
      const answer = await exchangeRaw(stack.port, post(`Content-Length: ${MAX}\r\n\r\n${'x'.repeat(MAX)}`))
      assert.ok(answer.endsWith(`\r\n\r\n${'x'.repeat(MAX)}`))
      stack.close()
      origin.close()
    })

    it('a client that expects 100 Continue gets it once, and the backend is not asked for it again', async () => {
      const origin = await startOrigin()
      const { stack } = await start(origin.port, { request: pass })
      const client = await rawClient(stack.port)
      client.send(post('Content-Length: 3\r\nExpect: 100-continue\r\n\r\n'))
      await client.until('100 Continue')
      client.send('abc')
      assert.deepEqual(statuses(await client.untilEnd()), [100, 200])
      assert.ok(!origin.seen[0]!.headers.some((field) => field.toLowerCase() === 'expect'))
      stack.close()
      origin.close()
    })

    it('a client that leaves in the middle takes its body along', async () => {
      const origin = await startOrigin()
      const { stack, bodies, arrived } = await start(origin.port, { request: pass })
      const client = await rawClient(stack.port)
      client.send(post('Content-Length: 10\r\n\r\nabc'))
      await arrived
      client.socket.resetAndDestroy()
      assert.equal((await stack.recorded(1))[0]!.error, 'CLIENT_GONE')
      assert.deepEqual([bodies, origin.seen], [[], []])
      stack.close()
      origin.close()
    })

    it('gives an upgrade no body: its bytes would be the first of the other protocol', async () => {
      const heads: string[] = []
      const server = await rawServer(async (client) => {
        heads.push(await client.until('\r\n\r\n'))
        client.send('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      })
      const replace: Hook = (ex) => {
        replaceRequestBody(ex, Buffer.from('GET /other HTTP/1.1'))
        return CONTINUE
      }
      const { stack } = await start(server.port, { request: replace })
      const client = await rawClient(stack.port)
      const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
      client.send(`GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${key}\r\n`)
      await client.until('\r\n\r\n')
      client.close()
      stack.close()
      server.close()
      assert.match(heads[0]!, /upgrade: websocket\r\n/i)
      assert.doesNotMatch(heads[0]!, /content-length|other/i)
    })

    it('a replaced request body is framed anew', async () => {
      const origin = await startOrigin()
      const replace: Hook = (ex) => {
        replaceRequestBody(ex, Buffer.from('größer'))
        return CONTINUE
      }
      const { stack } = await start(origin.port, { request: replace })
      await exchangeRaw(
        stack.port,
        post('Transfer-Encoding: chunked\r\nContent-Encoding: x\r\n\r\n1\r\na\r\n0\r\n\r\n')
      )
      const [seen] = origin.seen
      assert.equal(Buffer.from(seen!.body, 'latin1').toString(), 'größer')
      const names = seen!.headers.filter((_, i) => i % 2 === 0).map((header) => header.toLowerCase())
      assert.deepEqual(
        ['content-length', 'transfer-encoding', 'content-encoding'].map((header) => names.includes(header)),
        [true, false, false]
      )
      stack.close()
      origin.close()
    })

    it('a response is there when the hook runs, chunked or sized, and is passed on', async () => {
      for (const sized of [true, false]) {
        const origin = await startOrigin((response) => {
          if (sized) response.setHeader('Content-Length', 6)
          response.write('abc')
          setImmediate(() => response.end('def'))
        })
        const { stack, bodies } = await start(origin.port, { response: pass })
        const answer = await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
        assert.deepEqual([bodies, statuses(answer)], [['abcdef'], [200]])
        assert.match(answer, sized ? /\r\n\r\nabcdef$/ : /\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n$/)
        stack.close()
        origin.close()
      }
    })

    it('a response over the limit is 502, and nothing of it is sent', async () => {
      for (const sized of [true, false]) {
        const origin = await startOrigin((response) => {
          if (sized) response.setHeader('Content-Length', MAX + 1)
          response.end('x'.repeat(MAX + 1))
        })
        const { stack } = await start(origin.port, { response: pass })
        const answer = await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
        assert.deepEqual([statuses(answer), answer.includes('xxx')], [[502], false])
        assert.equal(stack.records[0]!.error, 'RESPONSE_NOT_BUFFERED')
        stack.close()
        origin.close()
      }
    })

    it('a backend that dies in the middle is 502, not half an answer', async () => {
      const server = await rawServer(async (upstream) => {
        await upstream.until('\r\n\r\n')
        upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf-')
        upstream.socket.end()
      })
      const { stack } = await start(server.port, { response: pass })
      const answer = await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
      assert.deepEqual([statuses(answer), answer.includes('half-')], [[502], false])
      stack.close()
      server.close()
    })

    it('a replaced response body is framed anew, and describes itself', async () => {
      const origin = await startOrigin((response) => {
        response.setHeader('ETag', '"1"')
        response.end('abc')
      })
      const replace: Hook = (ex) => {
        replaceResponseBody(ex, Buffer.from('longer than before'))
        return CONTINUE
      }
      const { stack } = await start(origin.port, { response: replace })
      const answer = await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
      assert.match(answer, /\r\ncontent-length: 18\r\n/i)
      assert.doesNotMatch(answer, /etag|chunked/i)
      assert.ok(answer.endsWith('\r\n\r\nlonger than before'))
      const head = await exchangeRaw(stack.port, 'HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
      assert.deepEqual([statuses(head), head.endsWith('\r\n\r\n')], [[200], true])
      stack.close()
      origin.close()
    })

    it("the gateway's own reply can be replaced too", async () => {
      const replace: Hook = (ex) => {
        replaceResponseBody(ex, Buffer.from(`was: ${String(ex.responseBytes)}`))
        return CONTINUE
      }
      const { stack } = await start(1, { response: replace }, { refuse: () => null })
      const answer = await exchangeRaw(stack.port, 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
      assert.match(answer, /^HTTP\/1\.1 502 [\s\S]*\r\n\r\nwas: the backend refused the connection\n$/)
      stack.close()
    })
  })
}

it('a collected body is sent again when a kept connection turned out to be dead', async () => {
  let connections = 0
  const server = await rawServer(async (upstream) => {
    connections++
    await upstream.until('\r\n\r\n')
    upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    if (connections > 1) return
    // The second request on the first connection is read and not answered.
    await upstream.until('second')
    upstream.socket.resetAndDestroy()
  })
  const stack = await startStack({ upstream: server.port, requestHooks: [collectRequest(MAX)] })
  const client = await rawClient(stack.port)
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await client.until('ok')
  client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecond')
  assert.deepEqual(statuses(await client.untilEnd()), [200, 200])
  assert.equal(connections, 2)
  stack.close()
  server.close()
})
