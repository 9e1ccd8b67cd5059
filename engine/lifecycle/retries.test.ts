/** Attempts that fail and are made again: what is repeated, what never is, and that nothing is left over. */

import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { RetryPlan } from '#engine/contract/filter.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { startOrigin, statuses } from '#engine/testing/origin.ts'
import { dechunk, exchangeRaw, type RawClient, rawClient, rawServer } from '#engine/testing/raw.ts'
import { type Stack, type StackOptions, startStack } from '#engine/testing/stack.ts'
import { UWS_HTTP } from '#engine/testing/transports.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const BUSY = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const plan = (change: Partial<RetryPlan> = {}): RetryPlan => ({
  attempts: 2,
  codes: new Set([503]),
  backoffMs: 0,
  precondition: null,
  condition: null,
  budget: { percent: 100, minPerSecond: 100 },
  ...change
})

type Behaviour = (client: RawClient) => void

const reset: Behaviour = (client) => client.socket.resetAndDestroy()
const says =
  (text: string): Behaviour =>
  (client) =>
    client.send(text)

/** One behaviour per request, the last one for all that follow; each request is kept as it was received. */
async function start(t: TestContext, behaviours: readonly Behaviour[], options: Partial<StackOptions> = {}) {
  const seen: string[] = []
  const upstream = await rawServer((client) => {
    let from = 0
    client.socket.on('data', () => {
      const text = client.received.slice(from)
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      const head = text.indexOf('\r\n\r\n') + 4
      const isWhole = /chunked/i.test(text) ? text.includes('\r\n0\r\n') : head > 3 && text.length >= head + length
      if (!isWhole) return
      from = client.received.length
      const behaviour = behaviours[Math.min(seen.push(text), behaviours.length) - 1]!
      behaviour(client)
    })
  })
  const stack = await startStack({
    upstream: upstream.port,
    retry: plan(),
    tcp: { keepalive: { timeMs: 0 } },
    ...options,
    http: { ...UWS_HTTP, ...options.http }
  })
  t.after(() => {
    stack.close()
    upstream.close()
  })
  return { stack, upstream, seen }
}

async function isClean({ upstream, endpoint }: Stack): Promise<void> {
  while (upstream.counts().busy > 0) await turn()
  equal((endpoint as unknown as { total: number }).total, upstream.counts().idle)
}

for (const transport of ['node', 'uws'] as const) {
  describe(`retries, over ${transport}`, () => {
    it('503, then 200: the client sees the second answer, the backend which attempt it is', async (t) => {
      const { stack, seen } = await start(t, [says(BUSY), says(OK)], { transport })
      const answer = await exchangeRaw(stack.port, GET)
      deepEqual(statuses(answer), [200])
      doesNotMatch(answer, /busy/)
      doesNotMatch(seen[0]!, /x-retry-attempt/)
      match(seen[1]!, /\r\nx-retry-attempt: 1\r\n/)
      deepEqual(
        (await stack.recorded(1)).map(({ status, attempts, error }) => [status, attempts, error]),
        [[200, 2, null]]
      )
      await isClean(stack)
    })

    it('the last answer passes when the attempts are used up', async (t) => {
      const { stack, seen } = await start(t, [says(BUSY)], { transport })
      match(await exchangeRaw(stack.port, GET), /^HTTP\/1.1 503 [\s\S]*busy$/)
      equal(seen.length, 3)
      match(seen[2]!, /x-retry-attempt: 2\r\n/)
      equal(seen[2]!.match(/x-retry-attempt/g)!.length, 1)
      await isClean(stack)
    })

    it('a body with a length is sent again byte by byte', async (t) => {
      const bytes = Array.from({ length: 300_000 }, (_, i) => String.fromCharCode((i * 7) % 256)).join('')
      const { stack, seen } = await start(t, [says(BUSY), says(OK)], { transport })
      const head = `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${bytes.length}\r\n\r\n`
      deepEqual(statuses(await exchangeRaw(stack.port, head + bytes)), [200])
      for (const request of seen) ok(request.endsWith(`\r\n\r\n${bytes}`))
      equal(seen.length, 2)
      await isClean(stack)
    })

    it('a chunked body is sent again, in pieces as it came', async (t) => {
      const { stack, seen } = await start(t, [reset, says(OK)], { transport, retry: plan({ codes: new Set([502]) }) })
      const client = await rawClient(stack.port)
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n')
      client.send('5\r\nhello\r\n')
      while (stack.upstream.counts().busy === 0) await turn()
      client.send('6\r\n world\r\n0\r\n\r\n')
      deepEqual(statuses(await client.untilEnd()), [200])
      deepEqual(seen.map(dechunk), ['hello world', 'hello world'])
      await isClean(stack)
    })

    it('a body over the limit is sent once and whole; its answer passes', async (t) => {
      const body = 'x'.repeat(70_000)
      const limited = { transport, http: { maxBufferBytes: 65_536 } }
      const { stack, seen } = await start(t, [says(BUSY), says(OK)], limited)
      const sized = `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      deepEqual(statuses(await exchangeRaw(stack.port, sized)), [503])
      ok(seen[0]!.endsWith(body))
      equal(seen.length, 1)
      await isClean(stack)
    })

    it('a chunked body that turns out too long is sent once and whole', async (t) => {
      const limited = { transport, http: { maxBufferBytes: 65_536 } }
      const { stack, seen } = await start(t, [says(BUSY), says(OK)], limited)
      const chunk = `4000\r\n${'y'.repeat(0x4000)}\r\n`
      const head = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
      deepEqual(statuses(await exchangeRaw(stack.port, `${head}${chunk.repeat(5)}0\r\n\r\n`)), [503])
      equal(seen[0]!.match(/y/g)!.length, 5 * 0x4000)
      equal(seen.length, 1)
    })

    it('a client that leaves during the pause leaves nothing behind', async (t) => {
      const timers = new TimerWheel()
      const slow = { transport, timers, random: () => 0.5, retry: plan({ backoffMs: 3_600_000 }) }
      const { stack, seen } = await start(t, [says(BUSY)], slow)
      const client = await rawClient(stack.port)
      const idle = timers.size
      client.send(GET)
      while (seen.length === 0 || stack.upstream.counts().busy > 0) await turn()
      client.close()
      const [record] = await stack.recorded(1)
      equal(record!.error, 'CLIENT_GONE')
      equal(seen.length, 1)
      while (stack.connections.closed === 0) await turn()
      ok(timers.size <= idle)
      await isClean(stack)
    })
  })
}

describe('retries', () => {
  it('a reset before the answer: a GET is repeated, a POST is not', async (t) => {
    const { stack, seen } = await start(t, [reset, says(OK), reset])
    deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
    deepEqual(statuses(await exchangeRaw(stack.port, POST)), [502])
    equal(seen.length, 3)
    await isClean(stack)
  })

  it('a POST that may have been processed is repeated when 502 is listed', async (t) => {
    const { stack, seen } = await start(t, [reset, says(OK)], { retry: plan({ codes: new Set([502]) }) })
    deepEqual(statuses(await exchangeRaw(stack.port, POST)), [200])
    ok(seen[1]!.endsWith('\r\n\r\nhello'))
  })

  it('an answer that is no HTTP is only repeated when 502 is listed', async (t) => {
    const plain = await start(t, [says('nonsense\r\n\r\n'), says(OK)])
    deepEqual(statuses(await exchangeRaw(plain.stack.port, GET)), [502])
    const listed = await start(t, [says('nonsense\r\n\r\n'), says(OK)], { retry: plan({ codes: new Set([502]) }) })
    deepEqual(statuses(await exchangeRaw(listed.stack.port, GET)), [200])
  })

  it('an answer that has begun is never repeated', async (t) => {
    const half: Behaviour = (client) => {
      client.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf', () => client.socket.resetAndDestroy())
    }
    const { stack, seen } = await start(t, [half])
    doesNotMatch(await exchangeRaw(stack.port, GET), /HTTP\/1.1 502/)
    equal(seen.length, 1)
  })

  it('a refused connection is tried again', async (t) => {
    const silent = await rawServer(() => {})
    silent.close()
    const stack = await startStack({ upstream: silent.port, retry: plan() })
    t.after(() => stack.close())
    deepEqual(statuses(await exchangeRaw(stack.port, POST)), [502])
    equal((await stack.recorded(1))[0]!.attempts, 3)
  })

  it('the pause is random below a bound that doubles, and ends growing at ten times', async (t) => {
    let offset = 0
    const timers = new TimerWheel(() => performance.now() + offset)
    const hour = 3_600_000
    const retry = plan({ attempts: 6, backoffMs: hour, codes: new Set([503]) })
    const { stack, seen } = await start(t, [says(BUSY)], { timers, random: () => 0.5, retry })
    const client = await rawClient(stack.port)
    client.send(GET)
    let tries = 1
    for (const factor of [1, 2, 4, 8, 10, 10]) {
      while (seen.length < tries || stack.upstream.counts().busy > 0) await turn()
      timers.advance()
      offset = (factor * hour) / 2 - 60_000
      timers.advance()
      for (let i = 0; i < 20; i++) await turn()
      equal(seen.length, tries, `pause ${factor} is not over`)
      offset += 120_000
      timers.advance()
      // The attempt has a timeout for its connection, which is not to be over as well.
      offset = 0
      tries++
    }
    deepEqual(statuses(await client.untilEnd()), [503])
    equal(seen.length, 7)
  })

  it('an answer before the end of the body: the next attempt gets the bytes so far and those that follow', async (t) => {
    let connections = 0
    const bodies: string[] = []
    const server = await rawServer((client) => {
      const isFirst = connections++ === 0
      client.socket.on('data', () => {
        if (isFirst && client.received.endsWith('hello')) client.send(BUSY)
        if (!client.received.endsWith('helloworld')) return
        bodies.push(client.received)
        client.send(OK)
      })
    })
    const stack = await startStack({ upstream: server.port, retry: plan() })
    t.after(() => {
      stack.close()
      server.close()
    })
    const client = await rawClient(stack.port)
    client.send('POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhello')
    while (connections < 2) await turn()
    client.send('world')
    deepEqual(statuses(await client.untilEnd()), [200])
    equal(bodies.length, 1)
    await isClean(stack)
  })

  it('a timeout of one attempt leads to another, the timeout of the request ends it', async (t) => {
    const silent: Behaviour = () => {}
    const settings = { backendTimeoutMs: 40, requestTimeoutMs: 10_000 }
    const first = await start(t, [silent, says(OK)], { settings })
    deepEqual(statuses(await exchangeRaw(first.stack.port, GET)), [200])
    await isClean(first.stack)
    const whole = { settings: { backendTimeoutMs: 0, requestTimeoutMs: 40 }, retry: plan({ codes: new Set([504]) }) }
    const second = await start(t, [silent, says(OK)], whole)
    deepEqual(statuses(await exchangeRaw(second.stack.port, GET)), [504])
    equal(second.seen.length, 1)
    equal((await second.stack.recorded(1))[0]!.error, 'REQUEST_TIMEOUT')
    await isClean(second.stack)
  })

  it('the timeout of the request also ends a pause', async (t) => {
    const options = { settings: { requestTimeoutMs: 60 }, retry: plan({ backoffMs: 3_600_000 }), random: () => 0.9 }
    const { stack, seen } = await start(t, [says(BUSY), says(OK)], options)
    deepEqual(statuses(await exchangeRaw(stack.port, GET)), [504])
    equal(seen.length, 1)
    await isClean(stack)
  })

  it('a POST whose attempt times out is not repeated, unless 504 is listed', async (t) => {
    const silent: Behaviour = () => {}
    const settings = { backendTimeoutMs: 40 }
    const plain = await start(t, [silent, says(OK)], { settings })
    deepEqual(statuses(await exchangeRaw(plain.stack.port, POST)), [504])
    const listed = await start(t, [silent, says(OK)], { settings, retry: plan({ codes: new Set([504]) }) })
    deepEqual(statuses(await exchangeRaw(listed.stack.port, POST)), [200])
  })

  it('the clock of an attempt stands still during the pause after it', async (t) => {
    const settings = { backendTimeoutMs: 40 }
    const retry = plan({ attempts: 5, backoffMs: 150 })
    const { stack, seen } = await start(t, [says(BUSY), says(OK)], { settings, retry, random: () => 0.99 })
    deepEqual(statuses(await exchangeRaw(stack.port, GET)), [200])
    match(seen[1]!, /x-retry-attempt: 1\r\n/)
  })

  it('a client that leaves before anything could be sent is noticed during the pause', async (t) => {
    const nobody = await rawServer(() => {})
    nobody.close()
    const retry = plan({ backoffMs: 3_600_000 })
    const stack = await startStack({ upstream: nobody.port, retry, random: () => 0.9 })
    t.after(() => stack.close())
    const client = await rawClient(stack.port)
    client.send(POST)
    while (stack.connections.opened === 0) await turn()
    client.close()
    equal((await stack.recorded(1))[0]!.error, 'CLIENT_GONE')
  })

  it('trailers are sent again', async (t) => {
    const { stack, seen } = await start(t, [reset, says(OK)], { retry: plan({ codes: new Set([502]) }) })
    const fields = 'Host: a.test\r\nConnection: close\r\nTE: trailers\r\nTransfer-Encoding: chunked'
    const head = `POST / HTTP/1.1\r\n${fields}\r\n\r\n`
    const client = await rawClient(stack.port)
    client.send(`${head}5\r\nhello\r\n`)
    while (stack.upstream.counts().busy === 0) await turn()
    client.send('0\r\nx-sum: 1\r\n\r\n')
    deepEqual(statuses(await client.untilEnd()), [200])
    ok(seen[1]!.endsWith('0\r\nx-sum: 1\r\n\r\n'))
  })

  it('a spent budget lets the answer pass', async (t) => {
    const counted = { retried: 0, refused: 0 }
    const observer = { retried: () => counted.retried++, refused: () => counted.refused++ }
    const budget = { percent: 50, minPerSecond: 0 }
    const { stack, seen } = await start(t, [says(BUSY)], { retry: plan({ attempts: 1, budget }), retries: observer })
    for (let i = 0; i < 6; i++) deepEqual(statuses(await exchangeRaw(stack.port, GET)), [503])
    equal(seen.length, 9)
    deepEqual(counted, { retried: 3, refused: 3 })
  })

  it('precondition and condition decide', async (t) => {
    const answers = [says('HTTP/1.1 200 OK\r\nX-Again: yes\r\nContent-Length: 0\r\n\r\n'), says(OK)]
    const retry = plan({
      precondition: (ex) => ex.request.get('x-once') === undefined,
      condition: (ex) => ex.response!.has('x-again')
    })
    const { stack, seen } = await start(t, answers, { retry })
    match(await exchangeRaw(stack.port, GET), /ok$/)
    equal(seen.length, 2)
    const once = await start(t, answers, { retry })
    match(await exchangeRaw(once.stack.port, GET.replace('Host', 'X-Once: 1\r\nHost')), /x-again/i)
    equal(once.seen.length, 1)
  })

  it('a client that waits for 100 is asked for its body once', async (t) => {
    const { stack, seen } = await start(t, [says(BUSY), says(OK)])
    const client = await rawClient(stack.port)
    client.send(POST.replace('Host', 'Expect: 100-continue\r\nHost'))
    const answer = await client.untilEnd()
    ok(statuses(answer).filter((status) => status === 100).length <= 1)
    equal(statuses(answer).at(-1), 200)
    doesNotMatch(seen[1]!, /expect/i)
  })

  it('an attempt costs the next exchange of the connection nothing', async (t) => {
    const origin = await startOrigin((response, { url }) => {
      response.statusCode = url === '/a' && origin.seen.length === 1 ? 503 : 200
      response.end(url)
    })
    const stack = await startStack({ upstream: origin.port, retry: plan() })
    t.after(() => {
      stack.close()
      origin.close()
    })
    const socket = connect(stack.port, '127.0.0.1')
    await once(socket, 'connect')
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
    })
    for (const path of ['/a', '/b']) {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`)
      while (!text.endsWith(path)) await turn()
    }
    socket.destroy()
    deepEqual(statuses(text), [200, 200])
    deepEqual(
      origin.seen.map(({ headers }) => headers.includes('x-retry-attempt')),
      [false, true, false]
    )
  })
})
