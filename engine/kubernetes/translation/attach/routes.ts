/** At which listeners a route stands, by its `parentRefs`, and why not at others. */
import { type KubernetesObject, keyOf, type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { parentOf } from './gateways.ts'
import { commonHostnames } from './hostnames.ts'
import type { ListenerState } from './listeners.ts'
import { allowsNamespace } from './namespaces.ts'

/** What routes have to do with of a listener. Plain data. */
export interface AttachableListener
  extends Pick<ListenerState, 'fullName' | 'name' | 'hostname' | 'port' | 'kinds' | 'namespaces'> {
  readonly owner: ObjectKey
}

export const attachable = ({ fullName, name, hostname, port, kinds, namespaces, place }: ListenerState) => ({
  ...{ fullName, name, hostname, port, kinds, namespaces },
  owner: place.key
})

export interface Attachment {
  /** `fullName` of the listener. */
  readonly listener: string
  /** Empty: those of the listener. */
  readonly hostnames: readonly string[]
}

/** An entry of `parentRefs` that is about this controller. */
export interface ParentState {
  /** As the route says it. */
  readonly ref: Raw
  /** "namespace/name" of the Gateway. */
  readonly gateway: string
  readonly attachments: readonly Attachment[]
  /** Why there are none: of the condition Accepted. */
  readonly faults: readonly Fault[]
}

/** Listeners of a Gateway by "namespace/name"; undefined: it is not of this controller, or there is none. */
export type GatewayListeners = (gateway: string) => readonly AttachableListener[] | undefined

export function parentsOf(route: KubernetesObject, objects: Objects, gateways: GatewayListeners): ParentState[] {
  // Statuses repeat them as they are.
  const read = () => entriesOf(structuredClone(objectOf(route.spec).parentRefs), ['spec', 'parentRefs'])
  const refs = contained(route, read, () => [])
  return refs.flatMap((ref) => parentState(ref, route, objects, gateways) ?? [])
}

function parentState(
  { raw: ref, path }: Placed,
  route: KubernetesObject,
  objects: Objects,
  gateways: GatewayListeners
): ParentState | null {
  const { group = GATEWAY_GROUP, kind = 'Gateway' } = ref
  if (group !== GATEWAY_GROUP || (kind !== 'Gateway' && kind !== 'ListenerSet')) return null
  const namespace = text(ref.namespace) ?? route.metadata.namespace ?? ''
  const name = text(ref.name) ?? ''
  const gateway = kind === 'Gateway' ? `${namespace}/${name}` : gatewayOf(objects.get(kind, namespace, name))
  const listeners = gateway === null ? undefined : gateways(gateway)
  if (gateway === null || listeners === undefined) return null
  const own = listeners.filter(({ owner }) => owner === objectKey(kind, namespace, name))
  const found = contained<ReturnType<typeof attachmentsTo>>(
    route,
    () => attachmentsTo(own, ref, route, objects),
    ({ message }) => ({ reason: 'UnsupportedValue', message })
  )
  if ('attachments' in found) return { ref, gateway, attachments: found.attachments, faults: [] }
  const place = { key: keyOf(route), path }
  return { ref, gateway, attachments: [], faults: [{ type: 'Accepted', ...found, place }] }
}

const gatewayOf = (set: KubernetesObject | undefined): string | null => (set === undefined ? null : parentOf(set))

type Refused = Pick<Fault, 'reason' | 'message'>

/** The reason is that of the last question which no listener answers. */
function attachmentsTo(
  listeners: readonly AttachableListener[],
  { sectionName, port }: Raw,
  route: KubernetesObject,
  objects: Objects
): { readonly attachments: readonly Attachment[] } | Refused {
  const meant = listeners.filter(
    (one) => (sectionName === undefined || one.name === sectionName) && (port === undefined || one.port === port)
  )
  if (meant.length === 0) {
    const of = sectionName === undefined ? '' : ` ${String(sectionName)}`
    const at = port === undefined ? '' : ` with port ${String(port)}`
    return { reason: 'NoMatchingParent', message: `it has no listener${of}${at}` }
  }
  const from = route.metadata.namespace ?? ''
  const allowing = meant.filter(
    ({ kinds, namespaces, owner }) =>
      kinds.some((kind) => kind === route.kind) &&
      allowsNamespace(namespaces, 'Same', owner.split('/')[1]!, from, objects)
  )
  if (allowing.length === 0) {
    const message = `allowedRoutes of no listener has ${route.kind}s of namespace ${from}`
    return { reason: 'NotAllowedByListeners', message }
  }
  const wanted = hostnamesOf(route)
  const attachments = allowing.flatMap((listener) => {
    const hostnames = commonHostnames(listener.hostname, wanted)
    return hostnames === null ? [] : [{ listener: listener.fullName, hostnames }]
  })
  if (attachments.length > 0) return { attachments }
  const served = allowing.map(({ hostname }) => `"${hostname}"`).join(', ')
  const message = `no host of the route is one of its listeners (${served})`
  return { reason: 'NoMatchingListenerHostname', message }
}

/** TCPRoutes have none. */
function hostnamesOf({ spec, kind }: KubernetesObject): string[] {
  const { hostnames } = objectOf(spec)
  if (kind === 'TCPRoute' || !Array.isArray(hostnames)) return []
  return hostnames.flatMap((name: unknown) => text(name)?.toLowerCase() ?? [])
}
