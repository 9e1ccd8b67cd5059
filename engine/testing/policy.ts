/** What the tests of policies share: a configuration as the file gives it -> compiled form or problems. */

import type { Exchange } from '#engine/contract/exchange.ts'
import type { Verdict } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import type { CompiledMatch, Route } from '#engine/contract/route.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { isHidden } from '#engine/schema/schema.ts'

const ALL: readonly CompiledMatch[] = [{ kind: 'prefix', path: '' }]

/** Names of policies whose expressions failed, in order; tests empty it. */
export const failures: string[] = []

/** Validates and compiles, in a context of which `more` replaces parts; throws what the schema or the policy throws. */
export function compilePolicy(
  policy: Policy,
  config: unknown,
  matches = ALL,
  more: Partial<CompileContext> = {}
): Compiled {
  const parsed = policy.schema.parse(config)
  return policy.compile((policy.accumulates ? [parsed] : parsed) as never, {
    ...NO_SERVICES,
    state: newStateStore(),
    failed: (name) => failures.push(name),
    maxBufferBytes: 2 << 20,
    matches,
    attachment: '80 listener route',
    ...more
  })
}

/** "path: message" of every problem that the schema reports. */
export function problemsOf(policy: Policy, config: unknown): string[] {
  const issues = policy.schema.safeParse(config).error?.issues ?? []
  return issues.filter((issue) => !isHidden(issue)).map((issue) => `${issue.path.join('.')}: ${issue.message}`)
}

/** Runs the request hook; hooks of the tested policies decide at once. */
export function runRequest(compiled: Compiled, ex: Exchange): Verdict {
  return verdict(compiled.filter?.onRequest?.(ex))
}

/** As runResponse, for hooks that may wait. */
export async function runResponseLater(compiled: Compiled, ex: Exchange): Promise<Verdict> {
  return verdict(await compiled.filter?.onResponse?.(ex))
}

export function runResponse(compiled: Compiled, ex: Exchange): Verdict {
  return verdict(compiled.filter?.onResponse?.(ex))
}

/** Pretends that routing took the given match of a route. */
export function takeMatch(ex: Exchange, matches: readonly CompiledMatch[], index = 0): Exchange {
  const route: Route = {
    name: 'route',
    rule: '',
    listener: 'listener',
    port: 80,
    matches,
    requestHooks: null,
    responseHooks: null,
    settings: { requestTimeoutMs: 0, backendTimeoutMs: 0, hostRewrite: 'default' },
    retry: null,
    mirrors: null,
    isTimed: false,
    serve: () => {},
    recorder: { record: () => {} }
  }
  ex.route = route
  ex.matchIndex = index
  return ex
}

function verdict(answer: Verdict | Promise<Verdict> | undefined): Verdict {
  if (typeof answer === 'number') return answer
  throw new Error('the policy has no such hook, or one that waits')
}
