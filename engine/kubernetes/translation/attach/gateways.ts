/** A Gateway with the ListenerSets that belong to it. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { joinedPaths } from '#engine/kubernetes/translation/files.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Path, type Placed, text } from '#engine/schema/placed.ts'
import { byAge } from './age.ts'
import { type KeyPair, resolveAuthorities, resolveKeyPair } from './certificates.ts'
import { classParameters } from './classes.ts'
import { withConflicts } from './conflicts.ts'
import { type ListenerState, listenersOf } from './listeners.ts'
import { allowsNamespace } from './namespaces.ts'
import { type Parameters, parametersOf } from './parameters.ts'

export interface SetState {
  readonly set: KubernetesObject
  /** Why it is not attached: of the condition Accepted. */
  readonly faults: readonly Fault[]
}

export interface GatewayState {
  readonly gateway: KubernetesObject
  /** Of conditions Accepted and ResolvedRefs: what is not about its listeners. */
  readonly faults: readonly Fault[]
  /** Its own, then those of its sets in the order of precedence. */
  readonly listeners: readonly ListenerState[]
  /** All whose parent it is. */
  readonly sets: readonly SetState[]
  /** Shown to backends that are reached over TLS. */
  readonly clientCertificate: KeyPair | null
  /** Of the class, and its own. */
  readonly parameters: readonly Parameters[]
  /** Clients are let in whatever certificate they have, in spite of authorities. */
  readonly isInsecure: boolean
}

const ADDRESS_TYPES: readonly unknown[] = ['IPAddress', 'Hostname']

export function gatewayState(
  gateway: KubernetesObject,
  gatewayClass: KubernetesObject,
  objects: Objects
): GatewayState {
  return contained(
    gateway,
    () => stateOf(gateway, gatewayClass, objects),
    (fault) => ({
      ...{ gateway, faults: [fault], listeners: [], sets: [], clientCertificate: null, parameters: [] },
      isInsecure: false
    })
  )
}

function stateOf(gateway: KubernetesObject, gatewayClass: KubernetesObject, objects: Objects): GatewayState {
  const spec = objectOf(gateway.spec)
  const tls = objectOf(spec.tls)
  const infrastructure = objectOf(spec.infrastructure)
  const own = parametersOf(
    gateway,
    infrastructure.parametersRef,
    ['spec', 'infrastructure', 'parametersRef'],
    gateway.metadata.namespace,
    objects
  )
  const client = clientCertificateOf(gateway, objects)
  const all = setsOf(gateway, objects).map((one) => withListeners(one, objects))
  const groups = [listenersOf(gateway, objects), ...all.map(({ listeners }) => listeners)]
  const validations = validationsOf({ raw: objectOf(tls.frontend), path: ['spec', 'tls', 'frontend'] })
  return {
    gateway,
    faults: [...addressFaults(gateway), ...own.faults, ...client.faults],
    listeners: withConflicts(groups).map((listener) => withValidation(listener, validations, gateway, objects)),
    sets: all.map(({ set, faults }) => ({ set, faults })),
    clientCertificate: client.pair,
    parameters: [classParameters(gatewayClass, objects), own],
    isInsecure: validations.some(({ raw }) => raw.mode === INSECURE)
  }
}

function addressFaults(gateway: KubernetesObject): Fault[] {
  return entriesOf(objectOf(gateway.spec).addresses, ['spec', 'addresses']).flatMap(({ raw, path }) => {
    const { type = 'IPAddress' } = raw
    if (ADDRESS_TYPES.includes(type)) return []
    const message = `${String(type)} is no supported type of address: ${ADDRESS_TYPES.join(' and ')} are`
    const place = { key: keyOf(gateway), path: [...path, 'type'] }
    return [{ type: 'Accepted', reason: 'UnsupportedAddress', message, place }]
  })
}

// --- ListenerSets ---

/** The key of the Gateway that a ListenerSet belongs to: "namespace/name"; null: it is no Gateway. */
export const parentOf = (set: KubernetesObject): string | null =>
  contained(
    set,
    () => parentIn(set),
    () => null
  )

function parentIn({ spec, metadata }: KubernetesObject): string | null {
  const { group = GATEWAY_GROUP, kind = 'Gateway', name, namespace } = objectOf(objectOf(spec).parentRef)
  if (group !== GATEWAY_GROUP || kind !== 'Gateway') return null
  return `${text(namespace) ?? metadata.namespace}/${text(name)}`
}

function setsOf(gateway: KubernetesObject, objects: Objects): SetState[] {
  const { namespace = '', name } = gateway.metadata
  const { allowedListeners } = objectOf(gateway.spec)
  const children = objects.list('ListenerSet').filter((set) => parentOf(set) === `${namespace}/${name}`)
  return children.sort(byAge).map((set) => {
    const from = set.metadata.namespace ?? ''
    if (allowsNamespace(objectOf(allowedListeners).namespaces, 'None', namespace, from, objects)) {
      return { set, faults: [] }
    }
    const place = { key: keyOf(set), path: ['spec', 'parentRef'] }
    const message = `allowedListeners of Gateway ${namespace}/${name} does not have namespace ${from}`
    return { set, faults: [{ type: 'Accepted', reason: 'NotAllowed', message, place }] }
  })
}

interface ListeningSet extends SetState {
  /** None of one that is not attached. */
  readonly listeners: readonly ListenerState[]
}

function withListeners({ set, faults }: SetState, objects: Objects): ListeningSet {
  if (faults.length > 0) return { set, faults, listeners: [] }
  return contained(
    set,
    () => ({ set, faults, listeners: listenersOf(set, objects) }),
    (fault) => ({ set, faults: [fault], listeners: [] })
  )
}

// --- certificates of clients, and our own towards backends ---

const INSECURE = 'AllowInsecureFallback'

interface Validation extends Placed {
  /** Null: of all ports without one of their own. */
  readonly port: number | null
}

/** FrontendTLSValidation of ports, those without one too: they have none in spite of the default. */
function validationsOf({ raw, path }: Placed): Validation[] {
  const at = (tls: unknown, where: Path, port: number | null): Validation => ({
    raw: objectOf(objectOf(tls).validation),
    path: [...where, 'validation'],
    port
  })
  const ports = entriesOf(raw.perPort, [...path, 'perPort']).map((one) =>
    at(one.raw.tls, [...one.path, 'tls'], Number(one.raw.port))
  )
  return [...ports, at(raw.default, [...path, 'default'], null)]
}

function withValidation(
  listener: ListenerState,
  validations: readonly Validation[],
  gateway: KubernetesObject,
  objects: Objects
): ListenerState {
  const found = validations.find(({ port }) => port === listener.port || port === null)
  if (listener.protocol !== 'HTTPS' || found === undefined) return listener
  const { raw, path } = found
  const all = entriesOf(raw.caCertificateRefs, [...path, 'caCertificateRefs'])
  if (all.length === 0) return listener
  const refs = all.map((ref) => resolveAuthorities(ref, gateway, objects))
  const paths = refs.flatMap((ref) => ('value' in ref ? ref.value : []))
  const faults = [...listener.faults, ...refs.flatMap((ref) => ('fault' in ref ? ref.fault : []))]
  if (paths.length === 0) {
    const message = 'none of the authorities for certificates of clients can be used'
    const place = { key: keyOf(gateway), path }
    for (const type of ['Accepted', 'Programmed']) {
      faults.push({ type, reason: 'NoValidCACertificate', message, place })
    }
  }
  const clientValidation = paths.length === 0 ? null : { root: joinedPaths(paths), isInsecure: raw.mode === INSECURE }
  return { ...listener, faults, clientValidation }
}

function clientCertificateOf(
  gateway: KubernetesObject,
  objects: Objects
): { readonly pair: KeyPair | null; readonly faults: readonly Fault[] } {
  const backend = objectOf(objectOf(objectOf(gateway.spec).tls).backend)
  if (backend.clientCertificateRef === undefined) return { pair: null, faults: [] }
  const ref = {
    raw: objectOf(backend.clientCertificateRef),
    path: ['spec', 'tls', 'backend', 'clientCertificateRef']
  }
  const resolved = resolveKeyPair(ref, gateway, objects, 'InvalidClientCertificateRef')
  return 'fault' in resolved ? { pair: null, faults: [resolved.fault] } : { pair: resolved.value, faults: [] }
}
