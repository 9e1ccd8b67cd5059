/** Hooks of four header policies, and of an authorization of three rules over claims. The goals are 1 and 2 us. */
import type { Bench } from 'tinybench'
import type { Hook } from '#engine/contract/filter.ts'
import { identityOf } from '#engine/contract/identity.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { HEADER_POLICIES, RULES } from '#engine/testing/chain.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, takeMatch } from '#engine/testing/policy.ts'
import { authorization } from '#policies/traffic/authorization.ts'
import { headerModifiers } from '#policies/traffic/header-modifiers.ts'
import { hostRewrite } from '#policies/traffic/host-rewrite.ts'
import { transformation } from '#policies/traffic/transformation.ts'
import { urlRewrite } from '#policies/traffic/url-rewrite.ts'

/** Requests per sample: one alone is shorter than the clock's resolution. */
export const calls = 1000

const MATCHES = [{ kind: 'prefix', path: '/' }] as const
const COMMON = [
  ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)'],
  ['Accept', 'application/json, text/plain, */*'],
  ['Accept-Encoding', 'gzip, deflate, br'],
  ['Cookie', 'session=6c9b1f2e3d4a5b6c; theme=dark'],
  ['Cache-Control', 'no-cache']
] as const
const CLAIMS = { aud: 'api', sub: 'alice', org: 'example', groups: ['dev', 'ops'], scope: 'read write' }

export function register(bench: Bench): void {
  const policies: readonly [Policy, unknown][] = [
    [transformation, HEADER_POLICIES.transformation],
    [headerModifiers, HEADER_POLICIES.headerModifiers],
    [hostRewrite, HEADER_POLICIES.hostRewrite],
    [urlRewrite, HEADER_POLICIES.urlRewrite]
  ]
  const compiled = policies.map(([policy, config]) => compilePolicy(policy, config, MATCHES))
  addHooks(bench, 'four header policies', [
    ...compiled.flatMap(({ filter }) => filter?.onRequest ?? []),
    ...compiled.flatMap(({ filter }) => filter?.onResponse ?? []).reverse()
  ])
  addHooks(bench, 'authorization, three rules over claims', [
    compilePolicy(authorization, RULES, MATCHES).filter!.onRequest!
  ])
}

function addHooks(bench: Bench, what: string, hooks: readonly Hook[]): void {
  const response = new HeaderBlock()
  response.receive('Content-Type', 'application/json')
  response.receive('Content-Length', '1024')
  const ex = takeMatch(fakeExchange({ target: '/items/1', headers: COMMON }), MATCHES)
  identityOf(ex).jwt = CLAIMS
  ex.response = response
  bench.add(`chain: ${what}`, () => {
    for (let i = 0; i < calls; i++) {
      // What the hooks did is undone, or the blocks would grow from call to call.
      ex.request.added = null
      response.added = null
      for (const hook of hooks) if (hook(ex) !== 0) throw new Error('the request passes')
    }
  })
}
