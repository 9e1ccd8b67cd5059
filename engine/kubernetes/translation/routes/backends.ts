/** Entries of `backends` that routes refer to: ports of Services, and references that cannot be followed. */
import { type KubernetesObject, type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault, Part } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import { backendTlsOf } from './backend-tls.ts'
import { type InvalidReason, type NamedBackend, namedBackend, portOf } from './names.ts'
import type { RouteOptions } from './options.ts'
import { poolEntry } from './pools.ts'
import { portsOf, type ServicePort } from './references.ts'
import { externalNameOf, type JudgedHost, judgedHost } from './service-names.ts'

export interface ServiceBackends {
  readonly entries: readonly Part[]
  readonly faults: readonly Fault[]
}

/** `names`: of any entries of `backends`; those of GatewayBackends are passed over. */
export function serviceBackends(names: Iterable<string>, objects: Objects, options: RouteOptions): ServiceBackends {
  const faults: Fault[] = []
  const entries = [...names].flatMap((name): Part[] => {
    const named = namedBackend(name)
    return named === null ? [] : [entryOf(name, named, objects, options, faults)]
  })
  return { entries, faults }
}

function entryOf(name: string, named: NamedBackend, objects: Objects, options: RouteOptions, faults: Fault[]): Part {
  if ('invalid' in named) return { value: { name, invalid: named.invalid }, origins: [] }
  if ('pool' in named) {
    const pool = objects.get('InferencePool', named.pool.namespace, named.pool.name)
    if (pool !== undefined) return poolEntry(pool, objects, options)
    return refusedEntry(name, `InferencePool ${named.pool.namespace}/${named.pool.name}`, 'BackendNotFound')
  }
  const { namespace, name: own, port } = portOf(named)
  if (port === null) return staticEntry(name, objectKey('GatewayBackend', namespace, own), objects, options)
  const key = objectKey('Service', namespace, own)
  const owner = objects.get('Service', namespace, own)
  const external = owner === undefined ? undefined : externalNameOf(owner)
  const plain = external ?? `${own}.${namespace}.svc.${options.clusterDomain}`
  const judged = external === undefined ? { host: plain } : hostIn(external, owner, objects, options)
  if ('refusal' in judged) return refusedEntry(name, `Service ${namespace}/${own}`)
  const { host } = judged
  const entry: Part = { value: { name, host: `${host}:${port}` }, origins: [[[], { key, path: ['spec'] }]] }
  const service = { namespace, name: own, port }
  if ('picker' in named) return pickerEntry(withBackendTls(entry, service, objects, faults), service, objects)
  if (!('stream' in named)) return withBackendTls(entry, service, objects, faults)
  // TLS begins where that of the client ends. The policy is no matter of what is passed on unread.
  return withBackendTls(entry, service, objects, faults, { unread: { host, port } })
}

/** `host`: as `owner` says it. */
function hostIn(
  host: string,
  owner: KubernetesObject | undefined,
  objects: Objects,
  { clusterDomain, hasTenants = true }: RouteOptions
): JudgedHost {
  return owner === undefined || !hasTenants ? { host } : judgedHost(host, owner, objects, clusterDomain)
}

const refusedEntry = (name: unknown, reference: string, reason: InvalidReason = 'RefNotPermitted'): Part => ({
  value: { name, invalid: { reference, reason } },
  origins: []
})

/** A GatewayBackend with `static`, as a plain server. */
function staticEntry(name: string, key: ObjectKey, objects: Objects, options: RouteOptions): Part {
  const [, namespace = '', own = ''] = key.split('/')
  const backend = objects.get('GatewayBackend', namespace, own)
  const server = objectOf(objectOf(backend?.spec).static)
  const judged = typeof server.host === 'string' ? hostIn(server.host, backend, objects, options) : {}
  if ('refusal' in judged) return refusedEntry(name, `GatewayBackend ${namespace}/${own}`)
  const value = { name, static: { ...server, ...judged } }
  return { value, origins: [[['static'], { key, path: ['spec', 'static'] }]] }
}

interface PortOfService {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

function servicePort({ namespace, name, port }: PortOfService, objects: Objects): ServicePort | undefined {
  return portsOf(objects.get('Service', namespace, name)?.spec).get(port)?.[0]
}

/** As the BackendTLSPolicy says that is for the port. */
function withBackendTls(
  entry: Part,
  service: PortOfService,
  objects: Objects,
  faults: Fault[],
  otherwise: Raw = {}
): Part {
  const policy = backendTlsOf(service, servicePort(service, objects)?.name, objects)
  if (policy === null) return entry
  faults.push(...policy.faults)
  const { value, origins } = entry
  const place = { key: policy.key, path: ['spec', 'validation'] }
  if (policy.tls !== null) {
    const policies = { backendTLS: policy.tls }
    return { value: { ...value, policies }, origins: [...origins, [['policies', 'backendTLS'], place]] }
  }
  const [, namespace, name] = policy.key.split('/')
  const reference = `BackendTLSPolicy ${namespace}/${name}`
  // Rather none than a connection that nothing secures.
  return {
    value: { name: value.name, invalid: { reference, reason: policy.reason, ...otherwise } },
    origins: [[[], place]]
  }
}

/** Ports that say so are spoken to in clear text. */
const CLEAR_TEXT: readonly unknown[] = ['kubernetes.io/h2c', 'h2c']

/**
 * Endpoint pickers speak gRPC over TLS, with a certificate that they make themselves unless they are told another
 * (the option secure-serving of the reference picker). A BackendTLSPolicy says who is believed.
 */
function pickerEntry(entry: Part, service: PortOfService, objects: Objects): Part {
  const { value, origins } = entry
  if (value.invalid !== undefined) return entry
  const own = objectOf(value.policies)
  const isClear = CLEAR_TEXT.includes(servicePort(service, objects)?.appProtocol?.toLowerCase())
  const tls = own.backendTLS !== undefined || isClear ? {} : { backendTLS: { insecureSkipVerify: 'All' } }
  return { value: { ...value, policies: { http: { version: 'HTTP2' }, ...tls, ...own } }, origins }
}

/** As appProtocol of the port says, where no policy says otherwise. */
export function withProtocol(entry: Part, service: PortOfService, objects: Objects): Part {
  const { value, origins } = entry
  const protocol = PROTOCOLS[servicePort(service, objects)?.appProtocol?.toLowerCase() ?? '']
  if (protocol === undefined || value.invalid !== undefined) return entry
  const own = objectOf(value.policies)
  const { version, hasTls = false } = protocol
  const policies = {
    ...(version === undefined || own.http !== undefined ? {} : { http: { version } }),
    ...(hasTls && own.tls === undefined && own.backendTLS === undefined ? { backendTLS: {} } : {}),
    ...own
  }
  return Object.keys(policies).length === 0 ? entry : { value: { ...value, policies }, origins }
}

interface Protocol {
  readonly version?: 'HTTP1' | 'HTTP2'
  /** With the authorities of the system, unless a BackendTLSPolicy says others. */
  readonly hasTls?: boolean
}

/** By appProtocol in lower case: those of Kubernetes (KEP-3726), of IANA, and those that meshes have made common. */
const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  'kubernetes.io/h2c': { version: 'HTTP2' },
  'kubernetes.io/ws': { version: 'HTTP1' },
  'kubernetes.io/wss': { version: 'HTTP1', hasTls: true },
  https: { hasTls: true },
  http2: { version: 'HTTP2' },
  h2c: { version: 'HTTP2' },
  grpc: { version: 'HTTP2' }
}
