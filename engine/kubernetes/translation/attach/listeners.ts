/** Listeners of Gateways and ListenerSets, each by itself. Who conflicts with whom: conflicts.ts. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import type { Fault, ObjectPlace } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { type KeyPair, resolveKeyPair } from './certificates.ts'

export type Protocol = 'HTTP' | 'HTTPS' | 'TLS' | 'TCP'
export type RouteKind = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute' | 'TCPRoute'

/** Kinds of routes by protocol, those of the Gateway API. */
const KINDS: Readonly<Record<Protocol, readonly RouteKind[]>> = {
  HTTP: ['HTTPRoute', 'GRPCRoute'],
  HTTPS: ['HTTPRoute', 'GRPCRoute'],
  TLS: ['TLSRoute'],
  TCP: ['TCPRoute']
}

export interface ListenerState {
  /** Gateway or ListenerSet. */
  readonly owner: KubernetesObject
  /** In its owner. */
  readonly name: string
  /** In the configuration: "http", of a ListenerSet "demo.set_http". */
  readonly fullName: string
  /** Lower case; "*" for any. */
  readonly hostname: string
  readonly port: number
  /** Null: one that is not supported. */
  readonly protocol: Protocol | null
  readonly place: ObjectPlace
  /** Those that it says, or all of its protocol, without those that cannot be. */
  readonly kinds: readonly RouteKind[]
  /** `allowedRoutes.namespaces` */
  readonly namespaces: unknown
  /** Where TLS ends: its certificates, none while no one can be used. Null: it does not end here. */
  readonly certificates: readonly KeyPair[] | null
  /** Null: clients are not asked for certificates. */
  readonly clientValidation: ClientValidation | null
  /** Of conditions Accepted, Programmed, ResolvedRefs, Conflicted and OverlappingTLSConfig. */
  readonly faults: readonly Fault[]
}

export interface ClientValidation {
  /** Path of authorities. */
  readonly root: string
  /** Clients without a certificate of them are let in too. */
  readonly isInsecure: boolean
}

const FATAL: readonly string[] = ['Accepted', 'Programmed', 'Conflicted']

/** Whether data planes get it. Routes are attached to it all the same. */
export const isServed = ({ faults }: Pick<ListenerState, 'faults'>): boolean =>
  !faults.some(({ type }) => FATAL.includes(type))

/** All of an owner, in its order. */
export function listenersOf(owner: KubernetesObject, objects: Objects): ListenerState[] {
  const { listeners } = objectOf(owner.spec)
  return entriesOf(listeners, ['spec', 'listeners']).map((listener) => listenerOf(listener, owner, objects))
}

function listenerOf({ raw, path }: Placed, owner: KubernetesObject, objects: Objects): ListenerState {
  const faults: Fault[] = []
  const key = keyOf(owner)
  const report = (type: string, reason: string, message: string, at: Path = []) => {
    faults.push({ type, reason, message, place: { key, path: [...path, ...at] } })
  }
  const protocol = protocolOf(raw)
  if (protocol === null) {
    const known = Object.keys(KINDS).join(', ')
    report('Accepted', 'UnsupportedProtocol', `${String(raw.protocol)} is no supported protocol: ${known} are`, [
      'protocol'
    ])
  }
  const certificates = protocol === null ? null : certificatesOf({ raw, path }, protocol, owner, objects, faults)
  const { kinds, namespaces } = objectOf(raw.allowedRoutes)
  const name = text(raw.name) ?? ''
  const { metadata } = owner
  return {
    owner,
    name,
    fullName: owner.kind === 'Gateway' ? name : `${metadata.namespace}.${metadata.name}_${name}`,
    hostname: protocol === 'TCP' ? '*' : text(raw.hostname)?.toLowerCase() || '*',
    port: Number(raw.port),
    protocol,
    place: { key, path },
    kinds: protocol === null ? [] : kindsOf(kinds, protocol, (...fault) => report('ResolvedRefs', ...fault)),
    namespaces: structuredClone(namespaces),
    certificates,
    clientValidation: null,
    faults
  }
}

const protocolOf = ({ protocol }: Raw): Protocol | null =>
  typeof protocol === 'string' && Object.hasOwn(KINDS, protocol) ? (protocol as Protocol) : null

type ReportRef = (reason: string, message: string, at: Path) => void

function kindsOf(value: unknown, protocol: Protocol, report: ReportRef): readonly RouteKind[] {
  const known: readonly string[] = KINDS[protocol]
  const wanted = entriesOf(value, ['allowedRoutes', 'kinds'])
  if (wanted.length === 0) return KINDS[protocol]
  return wanted.flatMap(({ raw, path }) => {
    const { group = GATEWAY_GROUP, kind } = raw
    if (group === GATEWAY_GROUP && known.includes(String(kind))) return [kind as RouteKind]
    report('InvalidRouteKinds', `${String(kind)} cannot be attached to ${protocol}: ${known.join(', ')} can`, path)
    return []
  })
}

function certificatesOf(
  { raw, path }: Placed,
  protocol: Protocol,
  owner: KubernetesObject,
  objects: Objects,
  faults: Fault[]
): readonly KeyPair[] | null {
  if (protocol !== 'HTTPS' && protocol !== 'TLS') return null
  const tls = objectOf(raw.tls)
  if (protocol === 'TLS' && tls.mode === 'Passthrough') return null
  const at = [...path, 'tls', 'certificateRefs']
  const refs = entriesOf(tls.certificateRefs, at).map((ref) =>
    resolveKeyPair(ref, owner, objects, 'InvalidCertificateRef')
  )
  const found = refs.flatMap((ref) => ('value' in ref ? ref.value : []))
  faults.push(...refs.flatMap((ref) => ('fault' in ref ? ref.fault : [])))
  // One that is named twice is one.
  if (found.length > 0) return [...new Map(found.map((one) => [one.cert, one])).values()]
  const place = { key: keyOf(owner), path: at }
  if (refs.length === 0) {
    const message = 'is required where TLS ends: a Secret with tls.crt and tls.key'
    faults.push({ type: 'ResolvedRefs', reason: 'InvalidCertificateRef', message, place })
  }
  faults.push({ type: 'Programmed', reason: 'Invalid', message: 'there is no certificate that can be used', place })
  return found
}
