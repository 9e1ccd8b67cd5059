/** BackendTLSPolicy (v1): which of them is for a port of a Service, and what it says in a file's spelling. */
import { pemProblem } from '#engine/contract/backend-transport/tls.ts'
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { byAge } from '#engine/kubernetes/translation/attach/age.ts'
import { contained, noteStumble } from '#engine/kubernetes/translation/contained.ts'
import { entryOf, filePath, joinedPaths } from '#engine/kubernetes/translation/files.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'

export interface BackendTls {
  readonly key: ObjectKey
  /** The policy `tls`; null: no connection can be made as it says. */
  readonly tls: Raw | null
  /** Why not. */
  readonly reason: string
  readonly faults: readonly Fault[]
}

interface ServiceName {
  readonly namespace: string
  readonly name: string
}

/** `port`: its name. Null: no policy is for it. */
export function backendTlsOf(service: ServiceName, port: string | undefined, objects: Objects): BackendTls | null {
  const { namespace, name } = service
  const all = [...objects.list('BackendTLSPolicy', namespace)].sort(byAge)
  const found =
    (port === undefined ? undefined : all.find((policy) => targets(policy, name, port))) ??
    all.find((policy) => targets(policy, name, undefined))
  return found === undefined ? null : judged(found, objects)
}

export interface TlsTarget {
  readonly name: string
  /** Of a port; undefined: the whole Service. */
  readonly sectionName: string | undefined
}

export interface TlsTargets {
  readonly services: readonly TlsTarget[]
  /** It has targets, and each is of a kind that other controllers may know. */
  readonly isForOthers: boolean
  /** Why not all can be read. */
  readonly fault: Fault | null
}

export const targetsOf = (policy: KubernetesObject): readonly TlsTarget[] => readTargets(policy).services

/** Each by itself: a policy that cannot be read is closed where it is known to be for something. */
export function readTargets(policy: KubernetesObject): TlsTargets {
  const before = known.get(policy)
  if (before?.fault != null) noteStumble(policy, before.fault)
  if (before !== undefined) return before
  const made = targetsIn(policy)
  known.set(policy, made)
  return made
}

const known = new WeakMap<KubernetesObject, TlsTargets>()

function targetsIn(policy: KubernetesObject): TlsTargets {
  let fault: Fault | null = null
  let others = 0
  const read = <T>(make: () => T, instead: () => T): T =>
    contained(policy, make, (found) => {
      fault = found
      return instead()
    })
  const refs = read<unknown>(
    () => objectOf(policy.spec).targetRefs,
    () => []
  )
  const count = Array.isArray(refs) ? refs.length : 0
  const services = Array.from({ length: count }, (_, i) => i).flatMap((i): readonly TlsTarget[] => {
    const entry = () => objectOf((refs as readonly unknown[])[i])
    const isService = read(
      () => {
        const { group = '', kind } = entry()
        if (text(kind) !== undefined && (group !== '' || kind !== 'Service')) others++
        return group === '' && kind === 'Service'
      },
      () => false
    )
    const name = isService ? read(() => text(entry().name), NOT_READ) : undefined
    // Without the section it is for the whole Service.
    const section = isService ? read(() => text(entry().sectionName), NOT_READ) : undefined
    return name === undefined ? [] : [{ name, sectionName: section || undefined }]
  })
  return { services, isForOthers: count > 0 && others === count, fault }
}

const NOT_READ = () => undefined

function targets(policy: KubernetesObject, name: string, sectionName: string | undefined): boolean {
  return targetsOf(policy).some((target) => target.name === name && target.sectionName === sectionName)
}

const VALIDATION: Path = ['spec', 'validation']
const CA_ENTRY = 'ca.crt'
/** Of one reference. Browsers trust about 150; a thousand took seconds to read. */
const AUTHORITIES_MAX = 256
const SYSTEM = 'System'
/** Of what the policy `tls` verifies. */
const ALT_NAME = /^(?:[a-z][a-z0-9+.-]*:\/\/[!-~]+|[A-Za-z0-9_.-]+)$/i

/** What a policy says, and what is wrong with it, whatever else there is. */
export const judged = (policy: KubernetesObject, objects: Objects): BackendTls =>
  contained(
    policy,
    () => {
      const { fault } = readTargets(policy)
      return fault === null ? judge(policy, objects) : closedBy(policy, fault)
    },
    (fault) => closedBy(policy, fault)
  )

const closedBy = (policy: KubernetesObject, fault: Fault): BackendTls => ({
  key: keyOf(policy),
  tls: null,
  reason: fault.reason,
  faults: [fault]
})

function judge(policy: KubernetesObject, objects: Objects): BackendTls {
  const key = keyOf(policy)
  const validation = objectOf(objectOf(policy.spec).validation)
  const faults: Fault[] = []
  const refuse = (type: string, reason: string, message: string, ...path: Path): null => {
    faults.push({ type, reason, message, place: { key, path: [...VALIDATION, ...path] } })
    return null
  }
  const refs = entriesOf(validation.caCertificateRefs, [])
  const { metadata } = policy
  const files = refs.flatMap(({ raw }, i) => {
    const problem = authorityProblem(raw, metadata.namespace ?? '', objects)
    if (problem === null)
      return [filePath(raw.kind as 'ConfigMap', metadata.namespace ?? '', String(raw.name), CA_ENTRY)]
    refuse('ResolvedRefs', problem.reason, problem.message, 'caCertificateRefs', i)
    return []
  })
  if (refs.length > 0 && files.length === 0)
    refuse('Accepted', 'NoValidCACertificate', 'no authority is left that could be trusted', 'caCertificateRefs')
  if (refs.length === 0 && validation.wellKnownCACertificates !== SYSTEM)
    refuse('Accepted', 'Invalid', `needs caCertificateRefs, or ${SYSTEM}`, 'wellKnownCACertificates')
  const names = altNames(validation.subjectAltNames)
  names.forEach((name, i) => {
    if (ALT_NAME.test(name)) return
    refuse('Accepted', 'Invalid', `"${name}" is no name that a certificate could be for`, 'subjectAltNames', i)
  })
  const reason = faults.find(({ type }) => type === 'Accepted')?.reason ?? ''
  const tls = {
    hostname: validation.hostname,
    ...(files.length === 0 ? {} : { root: joinedPaths(files) }),
    ...(names.length === 0 ? {} : { subjectAltNames: names })
  }
  return { key, tls: reason === '' ? tls : null, reason, faults }
}

function altNames(value: unknown): string[] {
  return entriesOf(value, []).map(({ raw }) => String(raw.type === 'URI' ? raw.uri : raw.hostname))
}

function authorityProblem(
  { group = '', kind, name }: Raw,
  namespace: string,
  objects: Objects
): { readonly reason: string; readonly message: string } | null {
  if (group !== '' || (kind !== 'ConfigMap' && kind !== 'Secret'))
    return { reason: 'InvalidKind', message: `${group}/${kind} holds no certificates: ConfigMap and Secret do` }
  const label = `${kind} ${namespace}/${name}`
  const invalid = (message: string) => ({ reason: 'InvalidCACertificateRef', message })
  const object = objects.get(kind, namespace, String(name))
  if (object === undefined) return invalid(`there is no ${label}`)
  const pem = entryOf(object, CA_ENTRY)
  if (pem === undefined) return invalid(`${label} has no entry ${CA_ENTRY}`)
  const count = pem.split('-----BEGIN').length - 1
  if (count > AUTHORITIES_MAX)
    return invalid(`${CA_ENTRY} of ${label} has ${count} certificates, more than ${AUTHORITIES_MAX}`)
  const problem = pemProblem(pem)
  return problem === null ? null : invalid(`${CA_ENTRY} of ${label} ${problem}`)
}
