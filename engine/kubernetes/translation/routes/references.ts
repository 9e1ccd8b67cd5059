/** References to Services, GatewayBackends and InferencePools, across namespaces by ReferenceGrant. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GROUP, INFERENCE_GROUP, INFERENCE_GROUP_OLD } from '#engine/kubernetes/resources/names.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { isGranted } from './grants.ts'
import { gatewayBackendName, type InvalidReason, invalidBackendName, serviceBackendName } from './names.ts'
import type { RouteOptions } from './options.ts'
import { externalNameRefusal } from './service-names.ts'

/** BackendObjectReference of the Gateway API. */
export interface BackendRef {
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly name: string
  /** Default: that of the object which refers. */
  readonly namespace?: string | undefined
  readonly port?: number | undefined
}

/** `name`: of an entry of `backends`. `invalid`: of one that answers in its place. */
export type ResolvedRef = { readonly name: string } | { readonly fault: Fault; readonly invalid: string }

/** `path`: of the reference in `from`. */
export function resolveBackendRef(
  ref: BackendRef,
  from: KubernetesObject,
  objects: Objects,
  options: RouteOptions,
  path: Path = []
): ResolvedRef {
  const { group = '', kind = 'Service', name } = ref
  const own = from.metadata.namespace ?? ''
  const { namespace = own } = ref
  const refuse = (reason: InvalidReason, message: string, field: string): ResolvedRef => ({
    fault: { type: 'ResolvedRefs', reason, message, place: { key: keyOf(from), path: [...path, field] } },
    invalid: invalidBackendName(kind, namespace, name, reason)
  })
  const full = `${group === '' ? '' : `${group}/`}${kind}`
  if (kind === POOL && (group === INFERENCE_GROUP || group === INFERENCE_GROUP_OLD))
    return refuse('InvalidKind', group === INFERENCE_GROUP ? POOL_ELSEWHERE : POOL_OLD, 'kind')
  const isService = full === 'Service'
  if (!isService && full !== `${GROUP}/GatewayBackend`)
    return refuse('InvalidKind', `${full} is no kind of backend: Service and ${GROUP}/GatewayBackend are`, 'kind')
  if (namespace !== own && !isGranted(from, { group, kind, namespace, name }, objects)) {
    const message = `no ReferenceGrant in namespace ${namespace} lets a ${from.kind} of ${own} refer to ${kind} ${name}`
    return refuse('RefNotPermitted', message, 'namespace')
  }
  const found = objects.get(isService ? 'Service' : 'GatewayBackend', namespace, name)
  if (found === undefined) return refuse('BackendNotFound', `there is no ${kind} ${namespace}/${name}`, 'name')
  if (!isService) return { name: gatewayBackendName(namespace, name) }
  const alias = options.hasTenants === false ? null : externalNameRefusal(found, objects, options.clusterDomain)
  if (alias !== null) return refuse('RefNotPermitted', alias, 'name')
  const problem = contained<PortProblem | null>(
    found,
    () => portProblem(found, ref.port),
    ({ message: why }) => ({ reason: 'BackendNotFound', message: `Service ${namespace}/${name}: ${why}` })
  )
  return problem === null
    ? { name: serviceBackendName(namespace, name, ref.port!) }
    : refuse(problem.reason, problem.message, 'port')
}

const POOL = 'InferencePool'
const POOL_ELSEWHERE = `${INFERENCE_GROUP}/InferencePool is for backendRefs of HTTPRoute and GRPCRoute alone`
const POOL_OLD = `${INFERENCE_GROUP_OLD}/InferencePool is not read: write group ${INFERENCE_GROUP}, whose pools are of version v1`

export const isPoolRef = ({ group, kind }: Pick<BackendRef, 'group' | 'kind'>): boolean =>
  kind === POOL && group === INFERENCE_GROUP

/** Either of them. */
export type ResolvedPool = { readonly pool: KubernetesObject } | { readonly fault: Fault; readonly invalid: string }

/** `port` of the reference says nothing: pools have ports of their own. */
export function resolvePoolRef(ref: BackendRef, from: KubernetesObject, objects: Objects, path: Path): ResolvedPool {
  const { name } = ref
  const own = from.metadata.namespace ?? ''
  const { namespace = own } = ref
  const refuse = (reason: InvalidReason, message: string, field: string): ResolvedPool => ({
    fault: { type: 'ResolvedRefs', reason, message, place: { key: keyOf(from), path: [...path, field] } },
    invalid: invalidBackendName(POOL, namespace, name, reason)
  })
  const to = { group: INFERENCE_GROUP, kind: POOL, namespace, name }
  if (namespace !== own && !isGranted(from, to, objects)) {
    const message = `no ReferenceGrant in namespace ${namespace} lets a ${from.kind} of ${own} refer to ${POOL} ${name}`
    return refuse('RefNotPermitted', message, 'namespace')
  }
  const pool = objects.get(POOL, namespace, name)
  return pool === undefined ? refuse('BackendNotFound', `there is no ${POOL} ${namespace}/${name}`, 'name') : { pool }
}

interface PortProblem {
  readonly reason: InvalidReason
  readonly message: string
}

function portProblem({ metadata, spec }: KubernetesObject, port: number | undefined): PortProblem | null {
  const service = `Service ${metadata.namespace}/${metadata.name}`
  const known = () => portsText([...portsOf(spec).keys()])
  if (port === undefined)
    return { reason: 'BackendNotFound', message: `port is required: ${service} has the ports ${known()}` }
  const found = portsOf(spec).get(port)
  // What has another name may have any port.
  if (found === undefined && objectOf(spec).type === 'ExternalName') return null
  if (found === undefined)
    return { reason: 'BackendNotFound', message: `${service} has no port ${port}: it has ${known()}` }
  if (found.some((one) => (one.protocol ?? 'TCP') === 'TCP')) return null
  return { reason: 'UnsupportedProtocol', message: `port ${port} of ${service} is not of protocol TCP` }
}

export interface ServicePort {
  readonly name?: string | undefined
  readonly port: number
  readonly protocol?: string | undefined
  readonly appProtocol?: string | undefined
}

/** Of a sentence: a Service may have 10,000. */
const PORTS_SHOWN_MAX = 32

function portsText(all: readonly number[]): string {
  if (all.length === 0) return 'none'
  const shown = all.slice(0, PORTS_SHOWN_MAX).join(', ')
  return all.length > PORTS_SHOWN_MAX ? `${shown} and ${all.length - PORTS_SHOWN_MAX} more` : shown
}

/** By the `spec` of Services, which do not change. */
const ports = new WeakMap<object, ReadonlyMap<number, readonly ServicePort[]>>()

/** Ports of a Service by their numbers; of one number there is one for each protocol. API servers have checked them. */
export function portsOf(spec: unknown): ReadonlyMap<number, readonly ServicePort[]> {
  const of = objectOf(spec)
  const known = ports.get(of) ?? Map.groupBy(portsIn(of), ({ port }) => port)
  ports.set(of, known)
  return known
}

const portsIn = (spec: Raw): ServicePort[] => entriesOf(spec.ports, []).map(({ raw }) => raw as unknown as ServicePort)
