/** Passwords and API keys: what a request pays whose credential is known. */
import type { Bench } from 'tinybench'
import { NO_BUCKETS } from '#engine/contract/buckets.ts'
import type { Hook } from '#engine/contract/filter.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { NO_SECRETS } from '#engine/contract/secrets.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { apiKeyAuthentication } from '#policies/traffic/api-key-authentication.ts'
import { basicAuthentication } from '#policies/traffic/basic-authentication.ts'

/** Calls per sample: one call is shorter than the clock can tell. */
const BATCH = 1000

const BCRYPT = '$2y$05$.paP4xFss/eXtuGfkysCpOJn/Zn01JN10qDE.eWa9oSAX6q8Jpk.S'
const SHA = '{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ='
const KEY = '3c0f5e1d7a9b4c2e8f6a1b0d5e7c9a3f'

const users = (hash: string) => ({ users: Array.from({ length: 100 }, (_, i) => `user${i}:${hash}`) })
const keys = { keys: [{ key: KEY }, ...Array.from({ length: 999 }, (_, i) => ({ key: `key-${i}` }))] }
const BASIC = `Basic ${Buffer.from('user77:pass').toString('base64')}`

export function register(bench: Bench): void {
  add(bench, 'basic: a password remembered, bcrypt', hookOf(basicAuthentication, users(BCRYPT)), BASIC)
  add(bench, 'basic: {SHA}', hookOf(basicAuthentication, users(SHA)), BASIC)
  add(bench, 'apiKey: one of a thousand', hookOf(apiKeyAuthentication, keys), `Bearer ${KEY}`)
}

function hookOf({ schema, resolve, compile }: Policy, value: unknown): Hook {
  const parsed = schema.parse(value)
  const config =
    resolve === undefined
      ? parsed
      : resolve(parsed as never, { readFile: () => '', secrets: NO_SECRETS, readYaml: JSON.parse })
  const offload = { run: () => Promise.resolve(true) }
  const context = {
    ...NO_SERVICES,
    offload,
    state: newStateStore(),
    buckets: NO_BUCKETS,
    maxBufferBytes: 0,
    matches: [],
    attachment: ''
  }
  return compile(config as never, context).filter!.onRequest!
}

function add(bench: Bench, what: string, hook: Hook, authorization: string): void {
  bench.add(what, async () => {
    const batch = Array.from({ length: BATCH + 1 }, () =>
      fakeExchange({
        headers: [
          ['Host', 'example.com'],
          ['User-Agent', 'bench'],
          ['Accept', '*/*'],
          ['Authorization', authorization]
        ]
      })
    )
    await hook(batch[0]!)
    const start = performance.now()
    for (let i = 1; i <= BATCH; i++) if (hook(batch[i]!) !== 0) throw new Error('it waited')
    return { overriddenDuration: (performance.now() - start) / BATCH }
  })
}
