/** Entries of `backends` that routes refer to: ports of Services, and references that cannot be followed. */
import { type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault, Part, PartOrigin } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Raw, text } from '#engine/schema/placed.ts'
import { backendTlsOf } from './backend-tls.ts'
import { type NamedBackend, namedBackend } from './names.ts'
import type { RouteOptions } from './options.ts'
import { portsOf, type ServicePort } from './references.ts'

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
  if (named.kind === 'invalid') {
    const { reference, reason } = named
    return { value: { name, invalid: { reference, reason } }, origins: [] }
  }
  const { namespace, port } = named
  if (port === null) return streamOf(name, objectKey('GatewayBackend', namespace, named.name), objects)
  const key = objectKey('Service', namespace, named.name)
  const spec = objectOf(objects.get('Service', namespace, named.name)?.spec)
  const server: Part = {
    value: { name, host: `${hostOf(spec, namespace, named.name, options)}:${port}` },
    origins: [[[], { key, path: ['spec'] }]]
  }
  if (named.kind === 'stream') return server
  const own = portsOf(spec).find((one) => one.port === port)
  return withPolicies(server, own, { namespace, name: named.name }, objects, faults)
}

/** Services have the name that a cluster's DNS has for them; those of type ExternalName are another server's. */
function hostOf(spec: Raw, namespace: string, name: string, { clusterDomain }: RouteOptions): string {
  const external = spec.type === 'ExternalName' ? text(spec.externalName) : undefined
  return external ?? `${name}.${namespace}.svc.${clusterDomain}`
}

/** A GatewayBackend with `static`, as a plain server. */
function streamOf(name: string, key: ObjectKey, objects: Objects): Part {
  const [, namespace = '', own = ''] = key.split('/')
  const server = objectOf(objects.get('GatewayBackend', namespace, own)?.spec).static
  return { value: { name, static: server }, origins: [[['static'], { key, path: ['spec', 'static'] }]] }
}

interface ServiceName {
  readonly namespace: string
  readonly name: string
}

/** How the port is spoken to: appProtocol, and the BackendTLSPolicy that is for it. */
function withPolicies(
  { value, origins }: Part,
  port: ServicePort | undefined,
  service: ServiceName,
  objects: Objects,
  faults: Fault[]
): Part {
  const { version, hasTls = false } = PROTOCOLS[port?.appProtocol?.toLowerCase() ?? ''] ?? {}
  const policy = backendTlsOf(service, port?.name, objects)
  const more: PartOrigin[] = []
  const policies: Raw = version === undefined ? {} : { http: { version } }
  if (policy !== null) {
    faults.push(...policy.faults)
    const place = { key: policy.key, path: ['spec', 'validation'] }
    if (policy.tls === null) {
      const [, namespace, name] = policy.key.split('/')
      const reference = `BackendTLSPolicy ${namespace}/${name}`
      // Rather none than a connection that nothing secures.
      return { value: { name: value.name, invalid: { reference, reason: policy.reason } }, origins: [[[], place]] }
    }
    policies.backendTLS = policy.tls
    more.push([['policies', 'backendTLS'], place])
  } else if (hasTls) policies.backendTLS = {}
  const own = Object.keys(policies).length === 0 ? {} : { policies }
  return { value: { ...value, ...own }, origins: [...origins, ...more] }
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
