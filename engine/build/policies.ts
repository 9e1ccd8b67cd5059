/** Policies of a route -> hooks and settings, each distinct configuration compiled once. */
import { isDeepStrictEqual } from 'node:util'
import type { Problem } from '#engine/contract/config-error.ts'
import type { Compiled, Hook, RouteSettings } from '#engine/contract/filter.ts'
import type { MirrorPlan } from '#engine/contract/mirror.ts'
import type { Policy, Workshop } from '#engine/contract/policy.ts'
import type { RetryPlan } from '#engine/contract/retry.ts'
import type { CompiledMatch } from '#engine/contract/route.ts'
import { mergePolicies } from '#engine/ir/merge.ts'
import type { PolicySet } from '#engine/ir/snapshot.ts'

/** Policies of one attachment point and where it stands in the configuration. */
export interface Level {
  readonly path: string
  readonly policies: PolicySet
}

export interface RouteChain {
  /** Names in run order. */
  readonly names: readonly string[]
  readonly requestHooks: readonly Hook[] | null
  readonly responseHooks: readonly Hook[] | null
  readonly settings: RouteSettings
  readonly retry: RetryPlan | null
  readonly mirrors: readonly MirrorPlan[]
  /** Where the policy of that name stands in the configuration. */
  readonly pathOf: (name: string) => string
}

/** The waiting step of each side. */
export interface Collectors {
  readonly request: Hook
  readonly response: Hook
}

interface Entry {
  readonly config: unknown
  readonly compiled: Compiled
}

export class PolicyCompiler {
  readonly #policies: readonly Policy[]
  readonly #accumulating: ReadonlySet<string>
  readonly #workshop: Workshop
  readonly #collectors: Collectors
  readonly #problems: Problem[]
  /** By name and JSON of what was compiled. */
  readonly #done = new Map<string, Entry[]>()

  /** `policies`: the registry, in run order. Problems are appended to `problems`. */
  constructor(policies: readonly Policy[], workshop: Workshop, collectors: Collectors, problems: Problem[]) {
    this.#collectors = collectors
    this.#policies = policies
    this.#accumulating = new Set(policies.filter((policy) => policy.accumulates).map((policy) => policy.name))
    this.#workshop = workshop
    this.#problems = problems
  }

  /** The chain of a route; `levels` come least precise first. */
  chain(levels: readonly Level[], matches: readonly CompiledMatch[]): RouteChain {
    const merged = mergePolicies(
      levels.map((level) => level.policies),
      this.#accumulating
    )
    const pathOf = (name: string) => `${levels.findLast((level) => level.policies[name] !== undefined)!.path}.${name}`
    this.#refuseUnknown(merged, pathOf)
    const inOrder = this.#policies.filter((policy) => merged[policy.name] !== undefined)
    const forms = inOrder.map((policy) => this.#compile(policy, merged[policy.name], matches, pathOf(policy.name)))
    return {
      names: inOrder.map((policy) => policy.name),
      requestHooks: orNull(hooksOf(forms, 'request', this.#collectors)),
      responseHooks: orNull(hooksOf(forms.toReversed(), 'response', this.#collectors)),
      retry: forms.find((form) => form.retry !== undefined)?.retry ?? null,
      mirrors: forms.flatMap((form) => form.mirrors ?? []),
      pathOf,
      settings: Object.freeze(Object.assign(defaultSettings(), ...forms.map((form) => form.settings)))
    }
  }

  #refuseUnknown(merged: PolicySet, pathOf: (name: string) => string): void {
    for (const name of Object.keys(merged)) {
      const policy = this.#policies.find((known) => known.name === name)
      if (policy === undefined) this.#problems.push({ path: pathOf(name), message: 'is not a policy of this version' })
      else if (policy.section === 'frontend') {
        this.#problems.push({ path: pathOf(name), message: 'applies to the whole gateway, not to a listener or route' })
      }
    }
  }

  #compile(policy: Policy, config: unknown, matches: readonly CompiledMatch[], path: string): Compiled {
    const key = JSON.stringify([policy.name, config, policy.usesMatches ? matches : null])
    const entries = this.#done.get(key) ?? []
    // JSON shows secrets as "<redacted>", so equal text alone does not prove equal configurations.
    const done = entries.find((entry) => isDeepStrictEqual(entry.config, config))
    if (done !== undefined) return done.compiled
    let compiled: Compiled = {}
    try {
      compiled = policy.compile(config as never, { ...this.#workshop, matches })
    } catch (error) {
      this.#problems.push({ path, message: (error as Error).message })
    }
    this.#done.set(key, [...entries, { config, compiled }])
    return compiled
  }
}

function defaultSettings(): RouteSettings {
  return { requestTimeoutMs: 0, backendTimeoutMs: 0, hostRewrite: 'default' }
}

/** Hooks in run order, a collector before the first that reads the body. */
function hooksOf(forms: readonly Compiled[], side: 'request' | 'response', collectors: Collectors): Hook[] {
  const hooks: Hook[] = []
  let isCollected = false
  for (const { filter } of forms) {
    const hook = side === 'request' ? filter?.onRequest : filter?.onResponse
    if (hook === undefined) continue
    if (filter?.buffers?.[side] === true && !isCollected) {
      hooks.push(collectors[side])
      isCollected = true
    }
    hooks.push(hook)
  }
  return hooks
}

function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list
}
