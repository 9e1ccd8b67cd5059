/** Overlays of GatewayParameters over generated objects: the class's first, the Gateway's over it. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault, ObjectPlace } from '#engine/kubernetes/translation/parts.ts'
import type { Path, Raw } from '#engine/schema/placed.ts'
import { invalidParameters, type Level, type OverlayName } from './parameters.ts'
import { checkDepth, isMap, PATCH, PatchError } from './strategic-merge/directives.ts'
import { strategicMerge } from './strategic-merge/merge.ts'
import { PATCH_DEFINITIONS } from './strategic-merge/patch-definitions.ts'
import { PatchSchema } from './strategic-merge/patch-schema.ts'

/** What each overlay is laid over. */
export const OVERLAID = {
  deployment: { apiVersion: 'apps/v1', kind: 'Deployment', definition: 'io.k8s.api.apps.v1.Deployment' },
  service: { apiVersion: 'v1', kind: 'Service', definition: 'io.k8s.api.core.v1.Service' },
  serviceAccount: { apiVersion: 'v1', kind: 'ServiceAccount', definition: 'io.k8s.api.core.v1.ServiceAccount' },
  podDisruptionBudget: {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    definition: 'io.k8s.api.policy.v1.PodDisruptionBudget'
  },
  horizontalPodAutoscaler: {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    definition: 'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler'
  }
} as const satisfies Readonly<Record<OverlayName, { apiVersion: string; kind: string; definition: string }>>

/** Exist only when some level has their overlay. */
export const ON_DEMAND: readonly OverlayName[] = ['podDisruptionBudget', 'horizontalPodAutoscaler']

/** Has no spec: that of its overlay has its fields, those of metadata aside. */
const FLAT: OverlayName = 'serviceAccount'
const NOT_IN_FLAT = ['apiVersion', 'kind', 'metadata']

export type Overlaid = { readonly object: KubernetesObject } | { readonly fault: Fault }

export function overlaid(object: KubernetesObject, name: OverlayName, levels: readonly Level[]): Overlaid {
  const schema = new PatchSchema(PATCH_DEFINITIONS, OVERLAID[name].definition)
  let merged: Raw = object
  for (const level of levels) {
    const { metadata, spec = {} } = level.spec[name] ?? {}
    const at = (path: Path): ObjectPlace => ({ key: keyOf(level.object), path: ['spec', name, ...path] })
    const taken = name === FLAT ? NOT_IN_FLAT.find((field) => Object.hasOwn(spec, field)) : undefined
    if (taken !== undefined) {
      return {
        fault: invalidParameters(`is no field of a ${OVERLAID[name].kind} that an overlay sets`, at(['spec', taken]))
      }
    }
    const fields = name === FLAT ? spec : { spec }
    try {
      merged = strategicMerge(
        merged,
        { ...(metadata === undefined ? {} : { metadata }), ...nulled(fields, []) },
        schema
      )
    } catch (error) {
      if (!(error instanceof PatchError)) throw error
      const path = name === FLAT && error.path[0] !== 'metadata' ? ['spec', ...error.path] : error.path
      return { fault: invalidParameters(error.message, at(path)) }
    }
  }
  return { object: settled(merged) as KubernetesObject }
}

/**
 * A map with "$patch: delete" is emptied by API servers. Here the field goes (docs/specification.md): an empty probe or
 * an empty volume would be refused.
 */
function nulled(patch: Raw, path: Path): Raw {
  checkDepth(path)
  const entries = Object.entries(patch).map(([key, value]) => {
    const at = [...path, key]
    if (Array.isArray(value)) return [key, value.map((item, i) => (isMap(item) ? nulled(item, [...at, i]) : item))]
    if (!isMap(value)) return [key, value]
    return [key, value[PATCH] === 'delete' ? null : nulled(value, at)]
  })
  return Object.fromEntries(entries)
}

/** Lists and maps that were taken as a whole may have nulls and directives, which are no part of an object. */
function settled(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !isMap(item) || !Object.hasOwn(item, PATCH)).map(settled)
  }
  if (!isMap(value)) return value
  const entries = Object.entries(value).flatMap(([key, one]) =>
    one === null || key.startsWith('$') ? [] : [[key, settled(one)]]
  )
  return Object.fromEntries(entries)
}
