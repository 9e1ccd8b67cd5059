/** The column `retry` of ERRORS, row by row: which faults lead to another attempt, and what that depends on. */
import { deepEqual, equal } from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { ERRORS, type ErrorCode, type Retryability } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Hook, type RetryPlan } from '#engine/contract/filter.ts'
import type { ServerStream } from '#engine/contract/transport.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { Call } from '#engine/testing/call.ts'
import { statuses } from '#engine/testing/origin.ts'
import { rawClient, rawServer } from '#engine/testing/raw.ts'
import { startStack } from '#engine/testing/stack.ts'

/** An attempt that fails: what was asked, whether it had a connection and its body was sent, what the policy lists. */
interface Case {
  readonly method: 'GET' | 'POST'
  readonly isSent: boolean
  readonly isListed: boolean
}

const CASES: readonly Case[] = (['GET', 'POST'] as const).flatMap((method) =>
  [false, true].flatMap((isSent) => [false, true].map((isListed) => ({ method, isSent, isListed })))
)

/** What each value means (docs/design/011-retries.md). */
const IS_RETRIED: Readonly<Record<Retryability, (failed: Case) => boolean>> = {
  never: () => false,
  always: () => true,
  'unless-sent': ({ method, isSent, isListed }) => !isSent || method === 'GET' || isListed,
  idempotent: ({ method, isListed }) => method === 'GET' || isListed,
  listed: ({ isListed }) => isListed
}

/** Said here once more, so that a changed row has to be meant. Codes that are not named are never tried again. */
const EXPECTED: { readonly [code in ErrorCode]?: Retryability } = {
  DNS_FAILURE: 'always',
  NO_ENDPOINT: 'always',
  NO_MESH_CERTIFICATE: 'always',
  CONNECT_FAILURE: 'always',
  UPSTREAM_TLS: 'always',
  CONNECT_TIMEOUT: 'always',
  UPSTREAM_TIMEOUT: 'unless-sent',
  UPSTREAM_RESET: 'idempotent',
  UPSTREAM_PROTOCOL: 'listed'
}

const plan = (change: Partial<RetryPlan> = {}): RetryPlan => ({
  attempts: 1,
  codes: new Set(),
  backoffMs: 0,
  precondition: null,
  condition: null,
  budget: { percent: 100, minPerSecond: 1_000_000 },
  ...change
})

/** A connection that takes whatever it is given. */
const connection = (sent: string[]): ServerStream => ({
  sendBody: (chunk, start, end) => {
    sent.push(chunk.latin1Slice(start, end))
    return true
  },
  sendEnd: () => {},
  abort: () => {},
  pauseBody: () => {},
  resumeBody: () => {},
  splice: () => {
    throw new Error('this test upgrades nothing')
  }
})

/** Lets an attempt fail with each code of the table: those that were tried again. */
async function retriedCodes(t: TestContext, { method, isSent, isListed }: Case): Promise<ErrorCode[]> {
  const codes = Object.keys(ERRORS) as ErrorCode[]
  const sent: string[] = []
  let attempts = 0
  const retry = plan({ codes: new Set(isListed ? codes.map((code) => ERRORS[code].status) : []) })
  const stack = await startStack({ upstream: 1, serve: () => attempts++, retry })
  t.after(() => stack.close())
  const retried = codes.filter((code) => {
    attempts = 0
    const call = new Call(stack.lifecycle, { method, hasBody: method === 'POST' })
    if (method === 'POST') {
      call.send('hello')
      call.finish()
    }
    if (isSent) {
      call.ex.server = connection(sent)
      stack.lifecycle.onServerReady(call.ex)
    }
    equal(call.ex.bodySent, isSent && method === 'POST')
    stack.lifecycle.onServerFault(call.ex, code)
    stack.fail(call.ex, 'NO_BACKEND')
    return attempts === 2
  })
  equal(sent.length, isSent && method === 'POST' ? codes.length : 0)
  return retried
}

for (const failed of CASES) {
  const { method, isSent, isListed } = failed
  const title = `a ${method} whose request was ${isSent ? '' : 'not '}sent, its status ${isListed ? '' : 'not '}listed`
  it(`${title}: the row decides about another attempt`, async (t) => {
    const all = Object.entries(EXPECTED) as [ErrorCode, Retryability][]
    const expected = all.flatMap(([code, value]) => (IS_RETRIED[value](failed) ? [code] : []))
    deepEqual((await retriedCodes(t, failed)).sort(), expected.sort())
  })
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const HOUR_MS = 3_600_000
/** Of what is not tested here. */
const LONG_MS = 100 * HOUR_MS

/**
 * A backend that never answers, with room for one connection. An attempt has an hour, which passes at once when
 * `hourPasses` is called; those for /holder have no limit.
 */
async function startSilent(t: TestContext) {
  const seen: string[] = []
  const exchanges: Exchange[] = []
  const upstream = await rawServer((client) => {
    client.socket.on('data', (bytes: Buffer) => seen.push(bytes.toString('latin1').split('\r\n', 1)[0]!))
  })
  let offsetMs = 0
  let retried = 0
  const realNow = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => realNow() + offsetMs)
  const timers = new TimerWheel()
  const hook: Hook = (ex) => {
    exchanges.push(ex)
    const route = ex.route!
    if (ex.originalPath !== '/holder') return CONTINUE
    ex.route = { ...route, settings: { ...route.settings, backendTimeoutMs: 0 }, retry: null }
    return CONTINUE
  }
  const stack = await startStack({
    upstream: upstream.port,
    poolMax: 1,
    timers,
    connectTimeoutMs: LONG_MS,
    settings: { backendTimeoutMs: HOUR_MS },
    retry: plan(),
    retries: { retried: () => retried++, refused: () => {} },
    requestHooks: [hook],
    http: { headTimeoutMs: LONG_MS, bodyTimeoutMs: LONG_MS, sendTimeoutMs: LONG_MS, idleTimeoutMs: LONG_MS }
  })
  t.after(() => {
    stack.close()
    upstream.close()
  })
  const hourPasses = () => {
    offsetMs += HOUR_MS + 60_000
    timers.advance()
  }
  return { stack, seen, exchanges, hourPasses, retried: () => retried }
}

const POST = 'POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'

it('a POST that runs out of time is tried again if it had no connection yet, and else not', async (t) => {
  const { stack, seen, exchanges, hourPasses, retried } = await startSilent(t)
  const holder = await rawClient(stack.port)
  holder.send('GET /holder HTTP/1.1\r\nHost: a.test\r\n\r\n')
  while (seen.length === 0) await turn()
  const waiting = await rawClient(stack.port)
  waiting.send(POST)
  while (exchanges[1]?.pending == null) await turn()
  hourPasses()
  equal(retried(), 1)
  holder.close()
  while (seen.length === 1) await turn()
  deepEqual(seen, ['GET /holder HTTP/1.1', 'POST / HTTP/1.1'])
  hourPasses()
  equal(retried(), 1)
  deepEqual(statuses(await waiting.untilEnd()), [504])
  const sent = await rawClient(stack.port)
  sent.send(POST)
  while (seen.length === 2) await turn()
  hourPasses()
  equal(retried(), 1)
  deepEqual(statuses(await sent.untilEnd()), [504])
})
