/** References to what answers requests: Services and GatewayBackends, across namespaces by ReferenceGrant. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GROUP } from '#engine/kubernetes/resources/names.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, text } from '#engine/schema/placed.ts'
import { isGranted } from './grants.ts'
import { gatewayBackendName, invalidBackendName, type ReferenceReason, serviceBackendName } from './names.ts'
import type { RouteOptions } from './options.ts'

/** BackendObjectReference of the Gateway API, as it was read. */
export interface BackendRef {
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly name: string
  /** Default: that of the object which refers. */
  readonly namespace?: string | undefined
  readonly port?: number | undefined
}

/** `name`: of an entry of `backends`. `invalid`: of one that says why it cannot be reached. */
export type ResolvedRef = { readonly name: string } | { readonly fault: Fault; readonly invalid: string }

/** `path`: of the reference in `from`. */
export function resolveBackendRef(
  ref: BackendRef,
  from: KubernetesObject,
  objects: Objects,
  _options: RouteOptions,
  path: Path = []
): ResolvedRef {
  const { group = '', kind = 'Service', name, port } = ref
  const own = from.metadata.namespace ?? ''
  const { namespace = own } = ref
  const refuse = (reason: ReferenceReason, message: string): ResolvedRef => ({
    fault: { type: 'ResolvedRefs', reason, message, place: { key: keyOf(from), path } },
    invalid: invalidBackendName(kind, namespace, name, reason)
  })
  const full = `${group === '' ? '' : `${group}/`}${kind}`
  const isService = full === 'Service'
  if (!isService && full !== `${GROUP}/GatewayBackend`)
    return refuse('InvalidKind', `${full} is no kind of backend: Service and ${GROUP}/GatewayBackend are`)
  if (namespace !== own && !isGranted(from, { group, kind, namespace, name }, objects)) {
    const message = `no ReferenceGrant of namespace ${namespace} lets ${from.kind}s of ${own} refer to ${kind} ${name}`
    return refuse('RefNotPermitted', message)
  }
  const found = objects.get(isService ? 'Service' : 'GatewayBackend', namespace, name)
  if (found === undefined) return refuse('BackendNotFound', `there is no ${kind} ${namespace}/${name}`)
  if (!isService) return { name: gatewayBackendName(namespace, name) }
  if (port === undefined)
    return refuse('BackendNotFound', `port is required: which port of Service ${namespace}/${name}?`)
  const spec = objectOf(found.spec)
  const ports = Array.isArray(spec.ports) ? spec.ports.map((one) => objectOf(one).port) : []
  const isExternal = text(spec.type) === 'ExternalName'
  if (!ports.includes(port) && !(isExternal && ports.length === 0)) {
    const message = `Service ${namespace}/${name} has no port ${port}: it has ${ports.join(', ') || 'none'}`
    return refuse('BackendNotFound', message)
  }
  return { name: serviceBackendName(namespace, name, port) }
}
