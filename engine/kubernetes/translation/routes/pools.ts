/**
 * InferencePools (Gateway API Inference Extension): model servers, and the service that picks one of them for each
 * request. Their Pods are no part of a configuration: engine/kubernetes/controller/pool-workloads.ts.
 */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { Fault, Part } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'
import { pickerBackendName, poolBackendName } from './names.ts'
import type { RouteOptions } from './options.ts'
import { portsOf } from './references.ts'
import { externalNameOf } from './service-names.ts'

export interface JudgedPool {
  /** Name of the entry of `backends` that the picker is; null: nobody picks. */
  readonly picker: string | null
  /** Requests that nobody has picked an endpoint for go to any of them. */
  readonly isOpen: boolean
  /** Conditions of the pool that are False. */
  readonly faults: readonly Fault[]
}

/** Of endpoints of a pool, in place of a name that DNS knows. No Service has it. */
export const poolList = (namespace: string, name: string, clusterDomain: string): string =>
  `${name}.${namespace}.inference.${clusterDomain}`

export function judgedPool(pool: KubernetesObject, objects: Objects): JudgedPool {
  return contained(
    pool,
    () => judge(pool, objects),
    (fault) => ({ picker: null, isOpen: false, faults: [{ ...fault, type: 'ResolvedRefs', reason: INVALID }] })
  )
}

const INVALID = 'InvalidExtensionRef'

function judge(pool: KubernetesObject, objects: Objects): JudgedPool {
  const { endpointPickerRef } = objectOf(pool.spec)
  // Since v1.5 of the extension a pool may be without: its servers take turns.
  if (endpointPickerRef === undefined) return { picker: null, isOpen: true, faults: [] }
  const ref = objectOf(endpointPickerRef)
  const isOpen = ref.failureMode === 'FailOpen'
  const outcome = pickerOf(ref, pool, objects)
  return typeof outcome === 'string'
    ? { picker: outcome, isOpen, faults: [] }
    : { picker: null, isOpen, faults: [outcome] }
}

function pickerOf({ group = '', kind = 'Service', ...ref }: Raw, pool: KubernetesObject, objects: Objects) {
  const { namespace = '' } = pool.metadata
  const name = text(ref.name) ?? ''
  const { number: port } = objectOf(ref.port)
  const refuse = (field: string, message: string): Fault => {
    const path: Path = ['spec', 'endpointPickerRef', field]
    return { type: 'ResolvedRefs', reason: INVALID, message, place: { key: keyOf(pool), path } }
  }
  if (group !== '' || kind !== 'Service')
    return refuse('kind', `${group === '' ? '' : `${group}/`}${kind} is no kind of endpoint picker: Service is`)
  const service = objects.get('Service', namespace, name)
  if (service === undefined) return refuse('name', `there is no Service ${namespace}/${name}`)
  if (externalNameOf(service) !== undefined)
    return refuse('name', `Service ${namespace}/${name} is of type ExternalName, which picks no endpoints`)
  if (typeof port !== 'number') return refuse('port', `is required: that of Service ${namespace}/${name}`)
  const known = portsOf(service.spec)
  if (known.get(port)?.some(({ protocol = 'TCP' }) => protocol === 'TCP') !== true)
    return refuse(
      'port',
      `Service ${namespace}/${name} has no port ${port} of TCP: it has ${[...known.keys()].join(', ')}`
    )
  return pickerBackendName(namespace, name, port)
}

/** The entry of `backends` that a pool is. Without its picker, and with failureMode FailClose, it answers 500. */
export function poolEntry(pool: KubernetesObject, objects: Objects, { clusterDomain }: RouteOptions): Part {
  const { namespace = '', name: own } = pool.metadata
  const name = poolBackendName(namespace, own)
  const origins = [[[], { key: keyOf(pool), path: ['spec'] }]] as const
  const { isOpen, faults } = judgedPool(pool, objects)
  if (faults.length > 0 && !isOpen) {
    return { value: { name, invalid: { reference: `InferencePool ${namespace}/${own}`, reason: INVALID } }, origins }
  }
  const listedPool = {
    list: poolList(namespace, own, clusterDomain),
    failureMode: isOpen ? 'FailOpen' : 'FailClose'
  }
  return { value: { name, listedPool }, origins }
}

/** As appProtocol of the pool says: it is for all of its ports, and HTTP/1.1 where it says nothing. */
export function withPoolProtocol(entry: Part, pool: KubernetesObject | undefined): Part {
  const { value, origins } = entry
  if (value.listedPool === undefined) return entry
  const own = objectOf(value.policies)
  const version = objectOf(pool?.spec).appProtocol === 'kubernetes.io/h2c' ? 'HTTP2' : 'HTTP1'
  return { value: { ...value, policies: { ...own, http: { version, ...objectOf(own.http) } } }, origins }
}

/** Policies of a reference to a pool: its picker is asked for each request. Bodies and trailers pass as they come. */
export function pickingOf({ picker, isOpen }: JudgedPool): Raw {
  if (picker === null) return {}
  const failureMode = isOpen ? 'FailOpen' : 'FailClosed'
  return { extProc: { backendRef: { name: picker }, processingOptions: {}, unchangedPasses: true, failureMode } }
}
