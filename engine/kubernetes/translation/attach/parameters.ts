/** GatewayParameters that classes and Gateways refer to, as far as the configuration is made of them. */
import { isDeep, RESOURCE_DEPTH_MAX } from '#engine/kit/depth.ts'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GROUP } from '#engine/kubernetes/resources/names.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { foreignFileAt } from '#engine/kubernetes/translation/files.ts'
import type { Fault, Part } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'

export interface Parameters {
  /** `rawConfig`; null: there is none. */
  readonly rawConfig: Part<Raw> | null
  /** Of the condition Accepted. */
  readonly faults: readonly Fault[]
}

const NONE: Parameters = { rawConfig: null, faults: [] }

/** `path`: of the reference in `owner`. `namespace`: of the parameters. */
export function parametersOf(
  owner: KubernetesObject,
  ref: unknown,
  path: Path,
  namespace: string | undefined,
  objects: Objects
): Parameters {
  if (ref === undefined) return NONE
  const { group, kind, name } = objectOf(ref)
  const refuse = (message: string): Parameters => {
    const place = { key: keyOf(owner), path }
    return { rawConfig: null, faults: [{ type: 'Accepted', reason: 'InvalidParameters', message, place }] }
  }
  if (group !== GROUP || kind !== 'GatewayParameters') {
    return refuse(`${String(group)}/${String(kind)} has no parameters: ${GROUP}/GatewayParameters has`)
  }
  if (namespace === undefined) return refuse('namespace is required: GatewayParameters belong to one')
  const called = text(name) ?? ''
  const object = objects.get('GatewayParameters', namespace, called)
  if (object === undefined) return refuse(`there is no GatewayParameters ${namespace}/${called}`)
  const invalid = (fault: Fault): Parameters => ({
    rawConfig: null,
    faults: [{ ...fault, reason: 'InvalidParameters' }]
  })
  return contained(object, () => known.get(object) ?? kept(object, rawConfigOf(object, namespace)), invalid)
}

/** Objects do not change, and what is asked of them goes through all that they say. */
const known = new WeakMap<KubernetesObject, Parameters>()

function kept(object: KubernetesObject, parameters: Parameters): Parameters {
  known.set(object, parameters)
  return parameters
}

/**
 * Fields of maps and entries of lists at all depths: 5,000 backends are 25,000. What compiles a file takes 5 to 14 us
 * for each, in which the controller does nothing else, and an object may have 90,000.
 */
const VALUES_MAX = 30_000

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const all = Object.values(value)
  let count = all.length
  for (const inner of all) count += valuesIn(inner)
  return count
}

function rawConfigOf(object: KubernetesObject, namespace: string): Parameters {
  const { rawConfig } = objectOf(object.spec)
  if (rawConfig === undefined) return NONE
  const from = { key: keyOf(object), path: ['spec', 'rawConfig'] }
  const refuseRaw = (message: string, inside: Path): Parameters => {
    const place = { ...from, path: [...from.path, ...inside] }
    return { rawConfig: null, faults: [{ type: 'Accepted', reason: 'InvalidParameters', message, place }] }
  }
  if (isDeep(rawConfig, RESOURCE_DEPTH_MAX)) {
    return refuseRaw(`is nested more than ${RESOURCE_DEPTH_MAX} levels deep`, [])
  }
  const count = valuesIn(rawConfig)
  if (count > VALUES_MAX) {
    return refuseRaw(`has ${count} fields and entries, and ${VALUES_MAX} is the limit: make resources of them`, [])
  }
  // Its author may not read there, and what is read goes where the author says.
  const foreign = foreignFileAt(rawConfig, namespace)
  if (foreign !== null) {
    return refuseRaw(`names a file of another namespace: it can have those of namespace ${namespace}`, foreign)
  }
  return { rawConfig: { value: objectOf(rawConfig), origins: [[[], from]] }, faults: [] }
}
