/** At which listeners a route stands, by its `parentRefs`, and why not at others. */
import { type KubernetesObject, keyOf, objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { type GatewayState, parentOf } from './gateways.ts'
import { commonHostnames } from './hostnames.ts'
import type { ListenerState } from './listeners.ts'
import { allowsNamespace } from './namespaces.ts'

export interface Attachment {
  readonly listener: ListenerState
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

/** Of a Gateway of this controller by "namespace/name"; undefined: it is of another one, or there is none. */
export type GatewayStates = (gateway: string) => GatewayState | undefined

export function parentsOf(route: KubernetesObject, objects: Objects, states: GatewayStates): ParentState[] {
  const { parentRefs } = objectOf(route.spec)
  return entriesOf(parentRefs, ['spec', 'parentRefs']).flatMap((ref) => parentState(ref, route, objects, states) ?? [])
}

function parentState(
  { raw: ref, path }: Placed,
  route: KubernetesObject,
  objects: Objects,
  states: GatewayStates
): ParentState | null {
  const { group = GATEWAY_GROUP, kind = 'Gateway' } = ref
  if (group !== GATEWAY_GROUP || (kind !== 'Gateway' && kind !== 'ListenerSet')) return null
  const namespace = text(ref.namespace) ?? route.metadata.namespace ?? ''
  const name = text(ref.name) ?? ''
  const owner = objects.get(kind, namespace, name)
  const gateway = owner === undefined || kind === 'Gateway' ? `${namespace}/${name}` : parentOf(owner)
  const state = gateway === null || owner === undefined ? undefined : states(gateway)
  if (gateway === null || state === undefined) return null
  const found = attachmentsTo(
    state.listeners.filter(({ place }) => place.key === objectKey(kind, namespace, name)),
    ref,
    route,
    objects
  )
  if ('attachments' in found) return { ref, gateway, attachments: found.attachments, faults: [] }
  const place = { key: keyOf(route), path }
  return { ref, gateway, attachments: [], faults: [{ type: 'Accepted', ...found, place }] }
}

type Refused = Pick<Fault, 'reason' | 'message'>

/** The reason is that of the last question which no listener answers. */
function attachmentsTo(
  listeners: readonly ListenerState[],
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
      allowsNamespace(namespaces, 'Same', owner.metadata.namespace ?? '', from, objects)
  )
  if (allowing.length === 0) {
    const message = `allowedRoutes of no listener has ${route.kind}s of namespace ${from}`
    return { reason: 'NotAllowedByListeners', message }
  }
  const wanted = hostnamesOf(route)
  const attachments = allowing.flatMap((listener) => {
    const hostnames = commonHostnames(listener.hostname, wanted)
    return hostnames === null ? [] : [{ listener, hostnames }]
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
