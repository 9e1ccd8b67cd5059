/** References of Gateways and ListenerSets to certificates: Secrets of keys, ConfigMaps of authorities. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { entryOf, filePath } from '#engine/kubernetes/translation/files.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { isGranted } from '#engine/kubernetes/translation/routes/grants.ts'
import { type Placed, text } from '#engine/schema/placed.ts'

/** Paths of files (files.ts). */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

type Resolved<T> = { readonly value: T } | { readonly fault: Fault }

/** What goes wrong is a fault of the condition ResolvedRefs with one of these reasons. */
interface Reasons {
  readonly kind: string
  readonly content: string
}

const CERT = 'tls.crt'
const KEY = 'tls.key'
/** Each is checked for each listener that shows the chain: a Secret of 1 MiB has a thousand. */
const CHAIN_MAX = 16
/** Core support of the Gateway API: a ConfigMap with this entry. */
const AUTHORITIES = 'ca.crt'

/** SecretObjectReference of `owner`, a Gateway or ListenerSet. `reason`: of what is wrong with the Secret. */
export function resolveKeyPair(
  ref: Placed,
  owner: KubernetesObject,
  objects: Objects,
  reason: string
): Resolved<KeyPair> {
  const target = resolve('Secret', ref, owner, objects, { kind: reason, content: reason })
  if ('fault' in target) return target
  const { object, path, refuse } = target
  const problem = problems.get(object) ?? keyPairProblem(object)
  problems.set(object, problem)
  return problem === '' ? { value: { cert: path(CERT), key: path(KEY) } } : refuse(reason, problem)
}

/** Of Secrets: '' for none. 64 listeners may each refer to one of them 64 times. */
const problems = new WeakMap<KubernetesObject, string>()

function keyPairProblem(object: KubernetesObject): string {
  const name = nameOf(object)
  const cert = entryOf(object, CERT)
  const key = entryOf(object, KEY)
  if (cert === undefined || key === undefined) return `${name} has no entry ${cert === undefined ? CERT : KEY}`
  const count = cert.split('-----BEGIN').length - 1
  if (count > CHAIN_MAX) return `${CERT} of ${name} has ${count} certificates: a chain may have ${CHAIN_MAX}`
  if (!isCertificate(cert)) return `${CERT} of ${name} is no certificate in PEM`
  if (!isPrivateKey(key)) return `${KEY} of ${name} is no private key in PEM, not encrypted`
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
    ? ''
    : `${KEY} of ${name} is not the key of the first certificate in ${CERT}`
}

/** ObjectReference of FrontendTLSValidation -> the path of its certificates. */
export function resolveAuthorities(ref: Placed, owner: KubernetesObject, objects: Objects): Resolved<string> {
  const content = 'InvalidCACertificateRef'
  const target = resolve('ConfigMap', ref, owner, objects, { kind: 'InvalidCACertificateKind', content })
  if ('fault' in target) return target
  const { object, path, refuse } = target
  const found = entryOf(object, AUTHORITIES)
  if (found === undefined) return refuse(content, `${nameOf(object)} has no entry ${AUTHORITIES}`)
  if (!isCertificate(found)) return refuse(content, `${AUTHORITIES} of ${nameOf(object)} has no certificate in PEM`)
  return { value: path(AUTHORITIES) }
}

interface Target {
  readonly object: KubernetesObject
  /** Of an entry. */
  readonly path: (key: string) => string
  readonly refuse: (reason: string, message: string) => { readonly fault: Fault }
}

function resolve(
  kind: 'Secret' | 'ConfigMap',
  { raw, path: at }: Placed,
  owner: KubernetesObject,
  objects: Objects,
  reasons: Reasons
): Target | { readonly fault: Fault } {
  const own = owner.metadata.namespace ?? ''
  const place = { key: keyOf(owner), path: at }
  const refuse = (reason: string, message: string) => ({ fault: { type: 'ResolvedRefs', reason, message, place } })
  const { group = '', kind: wanted = kind } = raw
  const name = text(raw.name) ?? ''
  const namespace = text(raw.namespace) ?? own
  if (group !== '' || wanted !== kind) {
    return refuse(reasons.kind, `${String(wanted)} of group "${String(group)}" cannot be used: a ${kind} can`)
  }
  if (namespace !== own && !isGranted(owner, { group: '', kind, namespace, name }, objects)) {
    const message = `no ReferenceGrant of namespace ${namespace} lets ${owner.kind}s of ${own} refer to ${kind} ${name}`
    return refuse('RefNotPermitted', message)
  }
  const object = objects.get(kind, namespace, name)
  if (object === undefined) return refuse(reasons.content, `there is no ${kind} ${namespace}/${name}`)
  return { object, path: (key) => filePath(kind, namespace, name, key), refuse }
}

const nameOf = ({ kind, metadata }: KubernetesObject): string => `${kind} ${metadata.namespace}/${metadata.name}`

const isCertificate = (pem: string): boolean => isReadable(() => new X509Certificate(pem))
const isPrivateKey = (pem: string): boolean => isReadable(() => createPrivateKey(pem))

/** OpenSSL's words are about ASN.1, and may be about keys: they are not repeated. */
function isReadable(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
