/** GatewayParameters of a class and of a Gateway, as one: what the Gateway's say wins, field by field. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { gatewayParametersSpec } from '#engine/kubernetes/resources/gateway-parameters.ts'
import type { Fault, ObjectPlace } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, type Raw, valueAt } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import { validate } from '#engine/source/validate.ts'

const SCHEMA = gatewayParametersSpec()

export type ParametersSpec = z.output<typeof SCHEMA>
export type Variable = NonNullable<ParametersSpec['env']>[number]

/** Kinds that have an overlay. */
export type OverlayName =
  | 'deployment'
  | 'service'
  | 'serviceAccount'
  | 'podDisruptionBudget'
  | 'horizontalPodAutoscaler'

/** One level of parameters: those of the class are below those of the Gateway. */
export interface Level {
  readonly object: KubernetesObject
  readonly spec: ParametersSpec
}

export interface Parameters {
  /** In order: what comes later wins. */
  readonly levels: readonly Level[]
  readonly logging: { readonly level?: string | undefined; readonly format?: string | undefined }
  readonly rawConfig: Raw
  readonly image: ImageFields
  readonly env: readonly Variable[]
  readonly resources: ParametersSpec['resources']
  readonly shutdown: ParametersSpec['shutdown']
  readonly istio: ParametersSpec['istio']
}

export type ImageFields = NonNullable<ParametersSpec['image']>

export const invalidParameters = (message: string, place: ObjectPlace): Fault => ({
  type: 'Accepted',
  reason: 'InvalidParameters',
  message,
  place
})

/** Judges each object by its schema: it may be older than the CRD, or come from a file. */
export function levelsOf(
  objects: readonly (KubernetesObject | undefined)[]
): { readonly levels: readonly Level[] } | { readonly faults: readonly Fault[] } {
  const levels: Level[] = []
  const faults: Fault[] = []
  for (const object of objects) {
    if (object === undefined) continue
    const outcome = validate(SCHEMA, object.spec ?? {}, ['spec'])
    if ('value' in outcome) levels.push({ object, spec: outcome.value })
    else {
      const key = keyOf(object)
      faults.push(...outcome.findings.map(({ path, message }) => invalidParameters(message, { key, path })))
    }
  }
  return faults.length > 0 ? { faults } : { levels }
}

export function mergedParameters(levels: readonly Level[]): Parameters {
  const all = <K extends keyof ParametersSpec>(key: K) =>
    levels.map(({ spec }) => spec[key]).filter((value) => value !== undefined) as NonNullable<ParametersSpec[K]>[]
  return {
    levels,
    logging: Object.assign({}, ...all('logging')),
    rawConfig: all('rawConfig').reduce<Raw>((below, over) => mergedMaps(below, over), {}),
    image: mergedImages(all('image')),
    env: mergedVariables(all('env').flat()),
    resources: mergedResources(all('resources')),
    shutdown: all('shutdown').at(-1),
    istio: all('istio').length === 0 ? undefined : Object.assign({}, ...all('istio'))
  }
}

/** Maps are merged at any depth; anything else of `over` replaces what is below. */
function mergedMaps(below: Raw, over: Raw): Raw {
  const result = new Map(Object.entries(below))
  for (const [key, value] of Object.entries(over)) {
    const old = result.get(key)
    result.set(key, isMap(old) && isMap(value) ? mergedMaps(old, value) : value)
  }
  return Object.fromEntries(result)
}

const isMap = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A digest wins over a tag, but not over one that is said above it. */
function mergedImages(images: readonly ImageFields[]): ImageFields {
  const version = images.findLast(({ tag, digest }) => tag !== undefined || digest !== undefined)
  const { tag: _, digest: __, ...others }: ImageFields = Object.assign({}, ...images)
  return {
    ...others,
    ...(version?.tag === undefined ? {} : { tag: version.tag }),
    ...(version?.digest === undefined ? {} : { digest: version.digest })
  }
}

/** One for each name: the last says its value, the first where it stands. */
export function mergedVariables(variables: readonly Variable[]): readonly Variable[] {
  return [...new Map(variables.map((one) => [one.name, one])).values()]
}

type Resources = NonNullable<ParametersSpec['resources']>

function mergedResources(all: readonly Resources[]): Resources | undefined {
  if (all.length === 0) return undefined
  const { limits, requests, claims }: Resources = Object.assign({}, ...all)
  return {
    ...(limits === undefined ? {} : { limits: Object.assign({}, ...all.map((one) => one.limits)) }),
    ...(requests === undefined ? {} : { requests: Object.assign({}, ...all.map((one) => one.requests)) }),
    ...(claims === undefined ? {} : { claims })
  }
}

/** Where a field is said: in the topmost level that has it. */
export function placeOf(levels: readonly Level[], path: Path): ObjectPlace | null {
  const level = levels.findLast(({ object }) => valueAt(objectOf(object), path) !== undefined)
  return level === undefined ? null : { key: keyOf(level.object), path }
}
