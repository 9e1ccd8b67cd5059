/**
 * `npm run conformance -- ratelimit`: two gateways before one envoyproxy/ratelimit with Redis. Prints a transcript of
 * curl, with what Redis has counted, and whether each answer is the one that it has to be.
 */
import { setTimeout as after } from 'node:timers/promises'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { RATELIMIT_VERSION, type RateLimitServer, startRateLimit } from './ratelimit-server.ts'
import { reply } from './servers.ts'
import { type Step, Transcript } from './transcript.ts'

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { name: per-user, unit: day, requests_per_unit: 3 }
    descriptors:
      - key: path
        value: /search
        rate_limit: { name: searches, unit: day, requests_per_unit: 1 }
  - key: plan
    value: free
    rate_limit: { name: free-plan, unit: month, requests_per_unit: 2 }
  - key: team
    rate_limit: { name: tokens, unit: day, requests_per_unit: 40 }
`

const entry = (name: string, expression: string) => ({ name, expression })
const USER = entry('user', 'request.headers["x-user"]')

/** One limiter for both gateways; models cost 25 tokens. */
function fileOf(limits: number, backend: number): string {
  const global = (descriptors: readonly object[], more: object = {}) => ({
    rateLimit: { global: { backendRef: { name: 'limits' }, domain: 'shop', descriptors, timeout: '2s', ...more } }
  })
  const to = [{ host: `127.0.0.1:${backend}` }]
  const provider = { openai: { model: 'm' }, host: '127.0.0.1', port: backend }
  const routes = [
    {
      matches: [{ path: { pathPrefix: '/v1' } }],
      policies: global([{ unit: 'Tokens', entries: [entry('team', '"blue"')] }]),
      backends: [{ ai: { provider }, policies: { auth: { key: 'k' } } }]
    },
    {
      matches: [{ path: { pathPrefix: '/open' } }],
      policies: global([{ entries: [USER] }], { failureMode: 'FailOpen' }),
      backends: to
    },
    {
      policies: global([
        { entries: [USER] },
        { entries: [USER, entry('path', 'request.path')] },
        { entries: [entry('plan', 'request.headers["x-plan"]')] }
      ]),
      backends: to
    }
  ]
  return JSON.stringify({
    backends: [{ name: 'limits', host: `127.0.0.1:${limits}` }],
    binds: [{ port: 0, listeners: [{ routes }] }]
  })
}

const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
const ANSWER = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 }
})

const COUNT_MS_MAX = 5_000
const LOOK_MS = 20
/** What is printed of an answer. */
const SHOWN = /^(?:HTTP\/1\.1|retry-after:|ratelimit|x-ratelimit-)/i

interface Counted extends Step {
  /** What Redis has to have then. */
  readonly counter?: string
}

const user = (name: string): string[] => ['-H', `x-user: ${name}`]
const chat = { path: '/v1/chat/completions', more: ['-H', 'content-type: application/json', '-d', CHAT] }

/** Counted by both gateways together. */
const COUNTED: readonly Counted[] = [
  { at: 'a', path: '/', more: user('ann'), status: 200, has: 'x-ratelimit-remaining: 2' },
  { at: 'b', path: '/', more: user('ann'), status: 200, has: 'x-ratelimit-remaining: 1' },
  { at: 'a', path: '/', more: user('ann'), status: 200, has: 'x-ratelimit-remaining: 0' },
  { at: 'b', path: '/', more: user('ann'), status: 429, has: 'retry-after: ' },
  { at: 'a', path: '/', more: user('bob'), status: 200, has: 'x-ratelimit-limit: 3' },
  { at: 'a', path: '/search', more: user('bob'), status: 200, has: '"searches";q=1;w=86400' },
  { at: 'b', path: '/search', more: user('bob'), status: 429, has: '"searches";r=0' },
  { at: 'a', path: '/', more: ['-H', 'x-plan: free'], status: 200, has: '"free-plan";q=2;w=2592000' },
  { at: 'a', path: '/', more: ['-H', 'x-plan: paid'], status: 200 },
  { at: 'a', path: '/', status: 200 }
]
/** 25 tokens each, of 40: charged when the answer is over. */
const TOKENS: readonly Counted[] = [
  { at: 'a', ...chat, status: 200, has: 'x-ratelimit-remaining: 39', counter: 'shop_team_blue = 25' },
  { at: 'b', ...chat, status: 200, has: 'x-ratelimit-remaining: 14', counter: 'shop_team_blue = 50' },
  { at: 'a', ...chat, status: 429, has: '"tokens";r=0', counter: 'shop_team_blue = 51' }
]
const STOPPED: readonly Counted[] = [
  { at: 'a', path: '/', more: user('eve'), status: 500 },
  { at: 'a', path: '/open', more: user('eve'), status: 200 }
]
const AGAIN: readonly Counted[] = [
  { at: 'a', path: '/', more: user('eve'), status: 200, has: 'x-ratelimit-remaining: 2' }
]

/** False: an answer is not the one that it has to be. */
export async function runRateLimit(print: (line: string) => void): Promise<boolean> {
  const server = await startRateLimit({ 'shop.yaml': LIMITS })
  const backend = await startOrigin((response, seen) => {
    const [type, body] = seen.url.startsWith('/v1') ? ['application/json', ANSWER] : ['text/plain', 'hello']
    reply(200, ['Content-Type', type], body)(response, seen)
  })
  const file = fileOf(server.grpcPort, backend.port)
  const gateways = { a: await startGateway(file), b: await startGateway(file) }
  const ports = { a: gateways.a.port, b: gateways.b.port }
  const transcript = new Transcript<Counted>(ports, SHOWN, print, (step) => isCounted(step, server))
  try {
    await transcript.take(COUNTED)
    await transcript.take(TOKENS)
    print('$ redis-cli: all counters')
    for (const line of server.counters()) print(line)
    print('# the service is stopped')
    await server.stop()
    await transcript.take(STOPPED)
    print('# and started again')
    await server.start()
    await transcript.take(AGAIN)
  } finally {
    await gateways.a.close()
    await gateways.b.close()
    backend.close()
    await server.close()
  }
  const { passed, failed } = transcript
  print(`ratelimit ${RATELIMIT_VERSION}, Redis ${server.redisVersion}: ${passed} passed, ${failed} failed`)
  return failed === 0
}

/** Tokens are charged behind the answer. */
async function isCounted({ counter }: Counted, server: RateLimitServer): Promise<boolean> {
  if (counter === undefined) return true
  const late = AbortSignal.timeout(COUNT_MS_MAX)
  while (!server.counters().includes(counter)) {
    if (late.aborted) return false
    await after(LOOK_MS)
  }
  return true
}
