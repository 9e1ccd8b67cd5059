/** Tokens: what a request pays for one that was seen before, and what a token pays that was not. */
import type { Bench } from 'tinybench'
import type { Exchange } from '#engine/contract/exchange.ts'
import { NO_SECRETS } from '#engine/contract/secrets.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'
import { parseToken } from '#policies/shared/jwt-token.ts'
import { jwtAuthentication } from '#policies/traffic/jwt-authentication.ts'

/** Calls per sample: one call is shorter than the clock can tell. */
const BATCH = Number(process.env.WEIR_BENCH_BATCH ?? 1000)

const key = signingKey('RS256')
const CONFIG = { issuer: 'https://issuer.example', audiences: ['api'], jwks: keySet([key, { kid: 'a' }]) }
const claims = (sub: string) =>
  hour({ aud: 'api', sub, scope: 'read write', realm: { roles: ['dev', 'ops'] }, email: `${sub}@example.com` })
/** About 800 characters, as those of common identity providers. */
const seen = await token(key, claims('alice'), { kid: 'a' })
const fresh = await Promise.all(Array.from({ length: 256 }, (_, i) => token(key, claims(`user${i}`), { kid: 'a' })))

export function register(bench: Bench): void {
  const { hook, exchanges } = prepare()
  bench.add(`jwt: a token seen before, ${seen.length} characters`, async () => {
    const batch = exchanges()
    await hook(batch[0]!)
    const start = performance.now()
    for (let i = 1; i <= BATCH; i++) if (hook(batch[i]!) !== 0) throw new Error('it waited')
    return { overriddenDuration: (performance.now() - start) / BATCH }
  })
  bench.add('jwt: parsing', () => {
    const start = performance.now()
    for (let i = 0; i < BATCH; i++) if (parseToken(seen) === null) throw new Error('refused')
    return { overriddenDuration: (performance.now() - start) / BATCH }
  })
  bench.add('jwt: a token not seen before, RS256, 256 at once', async () => {
    const cold = prepare().hook
    const batch = fresh.map((text) => exchangeWith(text))
    const start = performance.now()
    const verdicts = await Promise.all(batch.map((ex) => cold(ex)))
    if (verdicts.some((verdict) => verdict !== 0)) throw new Error('refused')
    return { overriddenDuration: (performance.now() - start) / batch.length }
  })
}

function prepare() {
  const { schema, resolve, compile } = jwtAuthentication
  const sources = { readFile: () => '', secrets: NO_SECRETS, readYaml: JSON.parse }
  const config = resolve!(schema.parse(CONFIG) as never, sources)
  const compiled = compile(config as never, {
    ...NO_SERVICES,
    state: newStateStore(),
    maxBufferBytes: 0,
    matches: [],
    attachment: ''
  })
  const exchanges = () => Array.from({ length: BATCH + 1 }, () => exchangeWith(seen))
  return { hook: compiled.filter!.onRequest!, exchanges }
}

function exchangeWith(text: string): Exchange {
  return fakeExchange({
    headers: [
      ['Host', 'example.com'],
      ['User-Agent', 'bench'],
      ['Accept', '*/*'],
      ['Authorization', `Bearer ${text}`]
    ]
  })
}
