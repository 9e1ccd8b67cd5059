/**
 * Deployments -> llm.models and llm.virtualModels. Several of one name, or one with fallbacks, become a virtual model:
 * the strategy of the router chooses among its own deployments, and those of each fallback come after them.
 */

import type { Draft } from '#engine/importers/draft.ts'
import type { Raw } from '#engine/schema/placed.ts'
import type { Deployment } from './deployments.ts'
import type { ClassFallbacks, Fallbacks } from './fallbacks.ts'
import { taggedRouting } from './tags.ts'

/** Of llm.virtualModels[].routing and .fallbacks[].models (backends/llm/config/shortcut/virtual.ts). */
const TARGETS_MAX = 32

/** What routing_strategy is here; the rest chooses the better of two by latency and load. */
const WAYS: Readonly<Record<string, string>> = {
  'least-busy': 'leastBusy',
  'latency-based-routing': 'latency',
  'cost-based-routing': 'cost'
}
/** LiteLLM's own strategy. */
const DRAWN = 'simple-shuffle'
/** By which LiteLLM draws when nothing else is said: the first that one of the deployments has. */
const SHARES = ['weight', 'rpm', 'tpm'] as const
/** After these the next target is asked anyway; a list of its own goes through all of a group first. */
const TRANSIENT = ['rate_limit', 'overloaded', 'timeout', 'server_error']

export interface Routes {
  readonly strategy: string | null
  /** Deployments are chosen by tags. */
  readonly isByTags: boolean
  readonly fallbacks: Fallbacks
}

/** Fills draft.value.llm, and returns the names that are served. */
export function addGroups(deployments: readonly Deployment[], routes: Routes, draft: Draft): (name: string) => boolean {
  const groups = Map.groupBy(deployments, ({ group }) => group)
  const isServed = (name: string): boolean =>
    groups.has(name) ||
    [...groups.keys()].some((pattern) => pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1)))
  const plans = [...groups].map(([name, all]) => planOf(name, all, routes.fallbacks, isServed, draft))
  const names = new Map(plans.map((plan) => [plan.name, plan.models.map(({ name }) => name)]))
  const models = plans.flatMap((plan) => plan.models)
  for (const [i, { deployment }] of models.entries()) draft.keep(deployment.file, deployment.path, ['llm', 'models', i])
  const virtual = plans.flatMap((plan) => virtualOf(plan, routes, names, draft))
  draft.value.llm = {
    port: 4000,
    models: models.map(({ name, isInternal, deployment: { model } }) => {
      const { provider, ...others } = model
      return { name, provider, ...(isInternal ? { visibility: 'internal' } : {}), ...others }
    }),
    ...(virtual.length === 0 ? {} : { virtualModels: virtual })
  }
  return isServed
}

interface Plan {
  readonly name: string
  readonly models: readonly { readonly name: string; readonly isInternal: boolean; readonly deployment: Deployment }[]
  /** Groups that follow; by kind of error where LiteLLM's file has a list for it. */
  readonly chain: readonly string[]
  readonly byClass: ReadonlyMap<string, readonly string[]>
}

function planOf(
  name: string,
  all: readonly Deployment[],
  { general, byClass }: Fallbacks,
  isServed: (name: string) => boolean,
  draft: Draft
): Plan {
  const [first] = all
  const { file, path } = first!
  const chainOf = ({ own, rest }: ClassFallbacks): string[] => {
    const wanted = (own.get(name) ?? rest).filter((other) => other !== name)
    for (const other of wanted) {
      if (!isServed(other)) draft.note(file, path, `its fallback "${other}" is no model of the file`)
    }
    return wanted.filter(isServed)
  }
  const chain = chainOf(general)
  const classes = new Map([...byClass].map(([error, lists]) => [error, chainOf(lists)] as const))
  for (const [error, list] of classes) if (list.length === 0) classes.delete(error)
  const follows = chain.length > 0 || classes.size > 0
  if (name.includes('*')) {
    for (const { file, path } of all.slice(1)) {
      draft.note(
        file,
        path,
        `the first deployment of the pattern "${name}" is asked alone: virtual models have no patterns`
      )
    }
    const isNamed = general.own.has(name) || [...byClass.values()].some(({ own }) => own.has(name))
    if (follows && isNamed)
      draft.note(file, path, `the pattern "${name}" has no fallbacks: virtual models have no patterns`)
    return { name, models: [{ name, isInternal: false, deployment: first! }], chain: [], byClass: new Map() }
  }
  const isSplit = all.length > 1 || follows
  const models = all.map((deployment, i) => ({
    ...{ name: isSplit ? `${name}@${i + 1}` : name, isInternal: isSplit },
    deployment
  }))
  return { name, models, chain, byClass: classes }
}

function virtualOf(plan: Plan, routes: Routes, names: ReadonlyMap<string, readonly string[]>, draft: Draft): Raw[] {
  const { strategy } = routes
  const { name, models, chain, byClass } = plan
  if (models.every(({ isInternal }) => !isInternal)) return []
  const deployments = models.map(({ deployment }) => deployment)
  const [{ file, path }] = deployments as [Deployment]
  // A name that a pattern serves has no models of its own.
  const modelsOf = (groups: readonly string[]): string[] => groups.flatMap((group) => names.get(group) ?? [group])
  const bounded = <T>(list: readonly T[]): T[] => {
    if (list.length > TARGETS_MAX)
      draft.note(file, path, `"${name}" has more than ${TARGETS_MAX} deployments and fallbacks`)
    return list.slice(0, TARGETS_MAX)
  }
  const orders = [...new Set(deployments.map(({ order }) => order))].toSorted((a, b) => a - b)
  const ownNames = models.map((model) => model.name)
  const tagged = routes.isByTags ? taggedRouting(deployments, ownNames, draft) : null
  const isDrawn = tagged === null && orders.length === 1 && (strategy ?? DRAWN) === DRAWN
  const shares = isDrawn ? sharesOf(deployments) : null
  // One of another tag stands in for none; one without a share does.
  const standIns = tagged === null ? ownNames : []
  const fallbacks: Raw[] = []
  const add = (on: readonly string[], list: readonly string[]): void => {
    if (on.length > 0 && list.length > 0) fallbacks.push({ on, models: bounded([...new Set(list)]) })
  }
  const all = [...standIns, ...modelsOf(chain)]
  if ((shares !== null && all.length > 1) || tagged !== null) add(TRANSIENT, all)
  // LiteLLM's fallbacks follow every error, unless there is a list for its kind.
  const others = ['auth', 'context_window', 'content_policy'].filter((error) => !byClass.has(error))
  if (chain.length > 0) add(others, modelsOf(chain))
  for (const [error, groups] of byClass) add([error], modelsOf(groups))
  const targets = (): Raw[] => {
    const own = models.map((model) => ({ model: model.name, priority: orders.indexOf(model.deployment.order) }))
    const after = chain.map((group, i) => modelsOf([group]).map((model) => ({ model, priority: orders.length + i })))
    return bounded([...own, ...after.flat()])
  }
  const weighted = () => ({ targets: bounded(ownNames.map((model, i) => ({ model, weight: shares![i] }))) })
  const drawn = (): Raw =>
    shares === null ? { [WAYS[strategy ?? ''] ?? 'failover']: { targets: targets() } } : { weighted: weighted() }
  return [{ name, routing: tagged ?? drawn(), ...(fallbacks.length === 0 ? {} : { fallbacks }) }]
}

/** Null: all are drawn alike. What has no share of the first kind that is said gets nothing there, too. */
function sharesOf(deployments: readonly Deployment[]): readonly number[] | null {
  for (const kind of SHARES) {
    const shares = deployments.map(({ shares: own }) => Math.max(0, own[kind] ?? 0))
    const largest = Math.max(...shares)
    if (largest === 0) continue
    return new Set(shares).size === 1 ? null : shares.map((share) => wholeShare(share, largest))
  }
  return null
}

const WEIGHT_MAX = 1_000_000

/** Weights are whole numbers here. */
function wholeShare(share: number, largest: number): number {
  if (share === 0) return 0
  return Number.isInteger(share) && largest <= WEIGHT_MAX
    ? share
    : Math.max(1, Math.round((share / largest) * WEIGHT_MAX))
}
