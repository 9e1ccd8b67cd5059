/** Beginnings of bodies in a running stack: looked at, bounded, and everything behind them passed on. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { exchangeRaw, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'
import { UWS_STACK } from '#engine/testing/transports.ts'
import { collectRequest } from './body.ts'
import { collectRequestPrefix, collectResponsePrefix } from './body-prefix.ts'
import type { Exchange } from './exchange.ts'
import { CONTINUE, type Hook } from './filter.ts'

const MAX = 1_000

const KINDS: readonly (readonly [name: string, options: Omit<StackOptions, 'upstream'>])[] = [
  ['handles', { sockets: 'handles' }],
  ['net', { sockets: 'net' }],
  ['uws', UWS_STACK]
]

const text = (bytes: Buffer | null): string | null => bytes?.toString() ?? null
const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const post = (more: string) => `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n${more}`

for (const [name, kind] of KINDS) {
  describe(`beginnings of bodies, over ${name}`, () => {
    async function start(upstream: number, side: 'request' | 'response', ...more: Hook[]) {
      const seen: (string | null)[] = []
      const note: Hook = (ex) => {
        seen.push(text(side === 'request' ? ex.requestPrefix : ex.responsePrefix))
        return CONTINUE
      }
      const stack: Stack = await startStack({
        upstream,
        ...kind,
        ...(side === 'request'
          ? { requestHooks: [collectRequestPrefix(MAX), note, ...more] }
          : { responseHooks: [collectResponsePrefix(MAX, (ex, code) => stack.fail(ex, code)), note, ...more] })
      })
      return { stack, seen }
    }

    it('of a request: all of a short one, the first bytes of a long one, and the backend gets both whole', async () => {
      const origin = await startOrigin()
      const { stack, seen } = await start(origin.port, 'request')
      const bodies = ['abc', 'x'.repeat(MAX), `${'x'.repeat(MAX)}y`, 'z'.repeat(300_000)]
      for (const body of bodies) {
        const answer = await exchangeRaw(stack.port, post(`Content-Length: ${body.length}\r\n\r\n${body}`))
        assert.deepEqual(statuses(answer), [200])
      }
      const chunk = `${(2 * MAX).toString(16)}\r\n${'c'.repeat(2 * MAX)}\r\n`
      await exchangeRaw(stack.port, post(`Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`))
      assert.deepEqual(
        seen,
        [...bodies, 'c'.repeat(4 * MAX)].map((body) => body.slice(0, MAX))
      )
      assert.deepEqual(
        origin.seen.map(({ body }) => body),
        [...bodies, 'c'.repeat(4 * MAX)]
      )
      stack.close()
      origin.close()
    })

    it('the hook runs while the rest of a request is still to come', async () => {
      const origin = await startOrigin()
      const ran = Promise.withResolvers<void>()
      const { stack } = await start(origin.port, 'request', () => {
        ran.resolve()
        return CONTINUE
      })
      const client = await rawClient(stack.port)
      client.send(post(`Content-Length: ${MAX + 3}\r\nExpect: 100-continue\r\n\r\n`))
      await client.until('100 Continue')
      client.send('x'.repeat(MAX))
      await ran.promise
      client.send('end')
      assert.match(await client.untilEnd(), /xend$/)
      stack.close()
      origin.close()
    })

    it('a character is not cut in two, and bytes that are no text are', async () => {
      const origin = await startOrigin()
      const { stack, seen } = await start(origin.port, 'request')
      const body = Buffer.from(`${'x'.repeat(MAX - 2)}€€`)
      const head = (length: number) => post(`Content-Length: ${length}\r\n\r\n`)
      const client = await rawClient(stack.port)
      client.send(head(body.length))
      client.socket.write(body)
      await client.untilEnd()
      assert.deepEqual(seen, ['x'.repeat(MAX - 2)])
      stack.close()
      origin.close()
    })

    it('a later hook that needs the whole body gets it, or the client gets 413', async () => {
      const origin = await startOrigin()
      const bodies: (string | null)[] = []
      const all: Hook = (ex: Exchange) => {
        bodies.push(text(ex.requestBytes))
        return CONTINUE
      }
      const { stack, seen } = await start(origin.port, 'request', collectRequest(MAX), all)
      const long = 'y'.repeat(MAX + 1)
      const answers = [
        await exchangeRaw(stack.port, post('Content-Length: 3\r\n\r\nabc')),
        await exchangeRaw(stack.port, post(`Transfer-Encoding: chunked\r\n\r\n3e9\r\n${long}\r\n0\r\n\r\n`))
      ]
      assert.deepEqual(answers.map(statuses), [[200], [413]])
      assert.deepEqual([seen, bodies], [['abc', long.slice(0, MAX)], ['abc']])
      stack.close()
      origin.close()
    })

    it('of a response, which is passed on whole; without a body there is nothing to wait for', async () => {
      const sent = ['', 'abc', 'r'.repeat(MAX), 's'.repeat(200_000)]
      let next = 0
      const origin = await startOrigin((response) => {
        const body = sent[next++]!
        response.write(body.slice(0, 2))
        setImmediate(() => response.end(body.slice(2)))
      })
      const { stack, seen } = await start(origin.port, 'response')
      for (const body of sent) {
        const answer = await exchangeRaw(stack.port, GET)
        assert.deepEqual(statuses(answer), [200])
        assert.equal(answer.split('r'.repeat(5)).length > 1, body.startsWith('rrrrr'))
        if (body.startsWith('s')) assert.equal(answer.match(/s/g)!.length >= body.length, true)
      }
      assert.deepEqual(
        seen,
        sent.map((body) => body.slice(0, MAX))
      )
      stack.close()
      origin.close()
    })

    it('a stream goes on behind its beginning, and a backend that dies before is 502', async () => {
      const server = await rawServer(async (upstream) => {
        const head = await upstream.until('\r\n\r\n')
        upstream.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n`)
        if (head.startsWith('GET /dies')) {
          upstream.send('3\r\nxyz\r\n')
          upstream.socket.end()
          return
        }
        upstream.send(`3e8\r\n${'x'.repeat(MAX)}\r\n`)
      })
      const { stack, seen } = await start(server.port, 'response')
      const client = await rawClient(stack.port)
      client.send(GET)
      // The end has not come.
      await client.until('x'.repeat(MAX))
      client.close()
      const broken = await exchangeRaw(stack.port, GET.replace('/ ', '/dies '))
      assert.deepEqual([statuses(broken), broken.includes('xyz')], [[502], false])
      assert.equal(seen[0], 'x'.repeat(MAX))
      // The gateway's own answer is looked at like any other.
      assert.match(seen[1]!, /\n$/)
      stack.close()
      server.close()
    })
  })
}
