/** Entries of `backends` that routes refer to: ports of Services, and references that cannot be followed. */
import { objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault, Part } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, text } from '#engine/schema/placed.ts'
import { namedBackend } from './names.ts'
import type { RouteOptions } from './options.ts'

export interface ServiceBackends {
  readonly entries: readonly Part[]
  readonly faults: readonly Fault[]
}

/** `names`: of any entries of `backends`; those of GatewayBackends are passed over. */
export function serviceBackends(names: Iterable<string>, objects: Objects, options: RouteOptions): ServiceBackends {
  const entries = [...names].flatMap((name) => backendEntry(name, objects, options) ?? [])
  return { entries, faults: [] }
}

function backendEntry(name: string, objects: Objects, { clusterDomain }: RouteOptions): Part | null {
  const named = namedBackend(name)
  if (named === null) return null
  if ('invalid' in named) return { value: { name, invalid: named.invalid }, origins: [] }
  const { namespace, name: service, port } = named.service
  const spec = objectOf(objects.get('Service', namespace, service)?.spec)
  const external = spec.type === 'ExternalName' ? text(spec.externalName) : undefined
  const host = external ?? `${service}.${namespace}.svc.${clusterDomain}`
  const key = objectKey('Service', namespace, service)
  return { value: { name, host: `${host}:${port}` }, origins: [[[], { key, path: ['spec'] }]] }
}
