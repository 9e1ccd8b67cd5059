/**
 * What the author of an object may reach with a data plane that belongs to others: no Services of other namespaces by
 * their names, and not what the data plane itself may do in a cloud.
 */

import { hostnameOf } from '#engine/http/authority.ts'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { judgedHost } from '#engine/kubernetes/translation/routes/service-names.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw } from '#engine/schema/placed.ts'
import type { PolicyOptions } from './options.ts'

/** Of a Namespace: its objects may use the identity that data planes have in a cloud. */
export const CLOUD_IDENTITY = 'weir.dev/cloud-identity'

export interface Judged {
  /** As `object`, with the whole names of Services. */
  readonly object: KubernetesObject
  readonly faults: readonly Fault[]
}

/** `object`: a GatewayBackend or a GatewayPolicy that its schema has accepted. */
export function judgeTenant(object: KubernetesObject, objects: Objects, options: PolicyOptions): Judged {
  if (options.hasTenants === false) return { object, faults: [] }
  const faults: Fault[] = []
  const spec = withHosts(object.spec, ['spec'], (host, path) => {
    const judged = judgedHost(host, object, objects, options.clusterDomain)
    if ('host' in judged) return judged.host
    const place = { key: keyOf(object), path }
    faults.push({ type: 'ResolvedRefs', reason: 'RefNotPermitted', message: judged.refusal, place })
    return host
  })
  visitObjects(object.spec, ['spec'], ({ issuer }, path) => {
    if (typeof issuer !== 'string' || path.at(-1) !== AUTHENTICATION) return
    const message = issuerRefusal(issuer, object, objects, options.clusterDomain)
    const place = { key: keyOf(object), path: [...path, 'issuer'] }
    if (message !== null) faults.push({ type: 'ResolvedRefs', reason: 'RefNotPermitted', message, place })
  })
  const identities = identitiesIn(object)
  if (identities.length > 0 && !mayUseIdentity(object, objects)) {
    for (const path of identities) faults.push(identityFault(object, path))
  }
  return { object: spec === object.spec ? object : { ...object, spec }, faults }
}

// --- hosts ---

/** Fields that say where requests go. */
const HOSTS: ReadonlySet<string> = new Set(['host', 'endpoint'])
/** What has a `host` that is only a field of requests. */
const CHECK = 'active'

/** Where an issuer is a server that is asked; elsewhere it is text that tokens have, and keys come by a reference. */
const AUTHENTICATION = 'authentication'

/** Tokens have it as it is written, so it is not replaced by a whole name. Null: it may be asked. */
function issuerRefusal(
  issuer: string,
  object: KubernetesObject,
  objects: Objects,
  clusterDomain: string
): string | null {
  const url = URL.parse(issuer)
  if (url === null) return null
  const name = hostnameOf(url)
  const judged = judgedHost(name, object, objects, clusterDomain)
  if ('refusal' in judged) return judged.refusal
  return judged.host === name.replace(/\.$/, '') || judged.host === name
    ? null
    : `"${name}" is a short name, which others may resolve otherwise: say ${judged.host}`
}

/** The same value where no host is another one. */
function withHosts(value: unknown, path: Path, judge: (host: string, path: Path) => string): unknown {
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown, unknown] => {
    const at = [...path, Array.isArray(value) ? Number(key) : key]
    const isHost = HOSTS.has(key) && typeof inner === 'string' && !path.includes(CHECK)
    return [key, inner, isHost ? judge(inner as string, at) : withHosts(inner, at, judge)]
  })
  if (entries.every(([, before, now]) => before === now)) return value
  if (Array.isArray(value)) return entries.map(([, , now]) => now)
  return Object.fromEntries(entries.map(([key, , now]) => [key, now]))
}

// --- the identity of the data plane ---

/** Providers that are shown it without being told to, at hosts of their own. */
const CLOUDS = ['bedrock', 'vertexai']

function mayUseIdentity({ metadata }: KubernetesObject, objects: Objects): boolean {
  return objects.get('Namespace', '', metadata.namespace ?? '')?.metadata.labels?.[CLOUD_IDENTITY] === 'true'
}

function identityFault(object: KubernetesObject, path: Path): Fault {
  const mending = `label the Namespace ${CLOUD_IDENTITY}=true, or name keys (aws.secretRef, secretRef)`
  const message = `would show the data plane's own identity in the cloud to this host: ${mending}`
  return { type: 'Accepted', reason: 'Invalid', message, place: { key: keyOf(object), path } }
}

/** Where an object says that a host is shown it, beside hosts of the providers themselves. */
function identitiesIn({ kind, spec }: KubernetesObject): readonly Path[] {
  const providers = kind === 'GatewayBackend' ? providersOf(objectOf(spec)) : []
  const isOwn = (path: Path): boolean => {
    const at = path.join('.')
    if (at === 'spec.policies' && providers.length > 0) return providers.every(isCloud)
    return providers.some((one) => at === [...one.path, 'policies'].join('.') && isCloud(one))
  }
  const found: Path[] = []
  visitObjects(spec, ['spec'], (raw, path) => {
    if (isIdentity(raw.auth) && !isOwn(path)) found.push([...path, 'auth'])
  })
  const ofBackend = objectOf(objectOf(spec).policies).auth
  for (const { raw, path } of providers) {
    const auth = objectOf(raw.policies).auth ?? ofBackend
    const isShown = raw.host !== undefined && CLOUDS.some((name) => raw[name] !== undefined)
    if (isShown && auth === undefined) found.push([...path, 'host'])
  }
  return found
}

function providersOf({ ai }: Raw): readonly Placed[] {
  const { provider, groups } = objectOf(ai)
  const at = ['spec', 'ai', 'groups']
  const all = entriesOf(groups, at).flatMap(({ raw, path }) => entriesOf(raw.providers, [...path, 'providers']))
  return provider === undefined ? all : [{ raw: objectOf(provider), path: ['spec', 'ai', 'provider'] }, ...all]
}

/** At its own host. */
const isCloud = ({ raw }: Placed): boolean => raw.host === undefined && CLOUDS.some((name) => raw[name] !== undefined)

/** Resources have no credential of Google, and of AWS those of a Secret. */
function isIdentity(auth: unknown): boolean {
  const { gcp, aws } = objectOf(auth)
  return gcp !== undefined || (aws !== undefined && objectOf(aws).secretRef === undefined)
}

function visitObjects(value: unknown, path: Path, visit: (raw: Raw, path: Path) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) visit(value as Raw, path)
  for (const [key, inner] of Object.entries(value)) {
    visitObjects(inner, [...path, Array.isArray(value) ? Number(key) : key], visit)
  }
}
