/**
 * Deployments -> llm.models and llm.virtualModels. Several of one name, or one with fallbacks, become a virtual model:
 * its own deployments come first, those of each fallback after them.
 */

import type { Draft } from '#engine/importers/draft.ts'
import type { Raw } from '#engine/schema/placed.ts'
import type { Deployment } from './deployments.ts'

/** Of llm.virtualModels[].routing (backends/llm/config/shortcut/schema.ts). */
const TARGETS_MAX = 32

export interface Fallbacks {
  /** Names of groups by the name of a group. */
  readonly own: ReadonlyMap<string, readonly string[]>
  /** Of groups that have none. */
  readonly rest: readonly string[]
}

/** Fills draft.value.llm, and returns the names that are served. */
export function addGroups(
  deployments: readonly Deployment[],
  fallbacks: Fallbacks,
  draft: Draft
): (name: string) => boolean {
  const groups = Map.groupBy(deployments, ({ group }) => group)
  const isServed = (name: string): boolean =>
    groups.has(name) ||
    [...groups.keys()].some((pattern) => pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1)))
  const plans = [...groups].map(([name, all]) => planOf(name, all, fallbacks, isServed, draft))
  const names = new Map(plans.map((plan) => [plan.name, plan.models.map(({ name }) => name)]))
  const models = plans.flatMap((plan) => plan.models)
  for (const [i, { deployment }] of models.entries()) draft.keep(deployment.file, deployment.path, ['llm', 'models', i])
  const virtual = plans.flatMap((plan) => virtualOf(plan, names, draft))
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
  readonly chain: readonly string[]
}

function planOf(
  name: string,
  all: readonly Deployment[],
  { own, rest }: Fallbacks,
  isServed: (name: string) => boolean,
  draft: Draft
): Plan {
  const [first] = all
  const { file, path } = first!
  const wanted = (own.get(name) ?? rest).filter((other) => other !== name)
  const chain = wanted.filter(isServed)
  for (const other of wanted) {
    if (!isServed(other)) draft.note(file, path, `its fallback "${other}" is no model of the file`)
  }
  if (name.includes('*')) {
    for (const { file, path } of all.slice(1)) {
      draft.note(
        file,
        path,
        `the first deployment of the pattern "${name}" is asked alone: virtual models have no patterns`
      )
    }
    if (chain.length > 0 && own.has(name))
      draft.note(file, path, `the pattern "${name}" has no fallbacks: virtual models have no patterns`)
    return { name, models: [{ name, isInternal: false, deployment: first! }], chain: [] }
  }
  const isSplit = all.length > 1 || chain.length > 0
  const models = all.map((deployment, i) => ({
    ...{ name: isSplit ? `${name}@${i + 1}` : name, isInternal: isSplit },
    deployment
  }))
  return { name, models, chain: isSplit ? chain : [] }
}

function virtualOf({ name, models, chain }: Plan, names: ReadonlyMap<string, readonly string[]>, draft: Draft): Raw[] {
  if (models.every(({ isInternal }) => !isInternal)) return []
  const deployments = models.map(({ deployment }) => deployment)
  const weights = deployments.map(({ weight }) => weight ?? 1)
  const isWeighted = new Set(weights).size > 1
  if (isWeighted && chain.length === 0) {
    const targets = models.map((model, i) => ({ model: model.name, weight: weights[i] }))
    return [{ name, routing: { weighted: { targets: targets.slice(0, TARGETS_MAX) } } }]
  }
  const [{ file, path }] = deployments as [Deployment]
  if (isWeighted) draft.note(file, path, `weights of "${name}": a model with fallbacks shares by load`)
  const orders = [...new Set(deployments.map(({ order }) => order))].toSorted((a, b) => a - b)
  const own = models.map((model) => ({ model: model.name, priority: orders.indexOf(model.deployment.order) }))
  const others = chain.flatMap((other, i) =>
    // A name that a pattern serves has no models of its own.
    (names.get(other) ?? [other]).map((model) => ({ model, priority: orders.length + i }))
  )
  const targets = [...own, ...others]
  if (targets.length > TARGETS_MAX)
    draft.note(file, path, `"${name}" has more than ${TARGETS_MAX} deployments and fallbacks`)
  return [{ name, routing: { failover: { targets: targets.slice(0, TARGETS_MAX) } } }]
}
