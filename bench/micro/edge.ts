/** What cors and csrf cost per request, hooks alone: both sides of cors, the request side of csrf. */
import type { Bench } from 'tinybench'
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { cors } from '#policies/traffic/cors.ts'
import { csrf } from '#policies/traffic/csrf.ts'

/** Requests per sample: one alone is shorter than the clock's resolution. */
export const calls = 1000

const APP = 'https://app.example.com'
const COMMON = [
  ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)'],
  ['Accept', 'application/json, text/plain, */*'],
  ['Accept-Encoding', 'gzip, deflate, br'],
  ['Accept-Language', 'en-GB,en;q=0.9'],
  ['Cookie', 'session=6c9b1f2e3d4a5b6c; theme=dark'],
  ['Content-Type', 'application/json'],
  ['Cache-Control', 'no-cache']
] as const
const ANSWER = [
  ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  ['Content-Type', 'application/json'],
  ['Content-Length', '1024'],
  ['Cache-Control', 'no-store'],
  ['Server', 'bench']
] as const

export function register(bench: Bench): void {
  const exact = { allowOrigins: [APP, 'https://b.test'], allowCredentials: true, exposeHeaders: ['x-total'] }
  const wildcard = { allowOrigins: ['https://*.example.org', 'https://*.example.com'] }
  addCors(bench, 'exact origin', exact, APP)
  addCors(bench, 'no Origin', exact, null)
  addCors(bench, 'origin by wildcard', wildcard, APP)
  addCors(bench, 'every origin', { allowOrigins: ['*'] }, APP)
  addCsrf(bench, 'GET', 'GET', [])
  addCsrf(bench, 'POST with Sec-Fetch-Site', 'POST', [
    ['Sec-Fetch-Site', 'same-origin'],
    ['Origin', APP]
  ])
  addCsrf(bench, 'POST, Origin against Host', 'POST', [['Origin', 'https://example.com']])
  addCsrf(bench, 'POST, listed origin', 'POST', [
    ['Sec-Fetch-Site', 'cross-site'],
    ['Origin', APP]
  ])
}

function compiled(policy: Policy, config: unknown): Compiled {
  const context = { ...NO_SERVICES, state: newStateStore(), maxBufferBytes: 0, matches: [], attachment: '' }
  return policy.compile(policy.schema.parse(config) as never, context)
}

function addCors(bench: Bench, what: string, config: object, origin: string | null): void {
  const { onRequest, onResponse } = compiled(cors, config).filter!
  const ex = fakeExchange({ headers: origin === null ? COMMON : [...COMMON, ['Origin', origin]] })
  const response = new HeaderBlock()
  for (const [name, value] of ANSWER) response.receive(name, value)
  ex.response = response
  bench.add(`edge: cors, ${what}`, () => {
    for (let i = 0; i < calls; i++) {
      ex.slots = null
      response.added = null
      if (onRequest!(ex) !== 0 || onResponse!(ex) !== 0) throw new Error('the request passes')
    }
  })
}

function addCsrf(bench: Bench, what: string, method: string, more: readonly (readonly [string, string])[]): void {
  const { onRequest } = compiled(csrf, { additionalOrigins: [APP] }).filter!
  const ex = fakeExchange({ method, headers: [...COMMON, ...more] })
  bench.add(`edge: csrf, ${what}`, () => {
    for (let i = 0; i < calls; i++) if (onRequest!(ex) !== 0) throw new Error('the request passes')
  })
}
