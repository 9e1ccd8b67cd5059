/** Objects of the Gateway API for tests, and what becomes of a route in a Snapshot. */
import { backends } from '#backends/index.ts'
import { KINDS, type KindName, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { objectSources } from '#engine/kubernetes/translation/files.ts'
import type { Fault, Part } from '#engine/kubernetes/translation/parts.ts'
import { serviceBackends, withProtocol } from '#engine/kubernetes/translation/routes/backends.ts'
import { type RouteOptions, translateRoute } from '#engine/kubernetes/translation/routes/index.ts'
import { namedBackend } from '#engine/kubernetes/translation/routes/names.ts'
import { pathText, type Raw } from '#engine/schema/placed.ts'
import { compileConfig } from '#engine/source/compile.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { policies } from '#policies/index.ts'

export const OPTIONS: RouteOptions = { clusterDomain: 'cluster.local' }

export function object(kind: KindName, name: string, rest: object, namespace = 'demo'): KubernetesObject {
  return { apiVersion: KINDS[kind].apiVersion, kind, metadata: { name, namespace, generation: 1 }, ...rest }
}

type Port =
  | number
  | { readonly name?: string; readonly port: number; readonly appProtocol?: string; readonly protocol?: string }

export function service(name: string, ports: readonly Port[] = [80], namespace = 'demo'): KubernetesObject {
  const listed = ports.map((port) => (typeof port === 'number' ? { name: `p${port}`, port } : port))
  return object('Service', name, { spec: { ports: listed } }, namespace)
}

export interface CompiledRoute {
  readonly snapshot: SnapshotDraft
  /** "ResolvedRefs BackendNotFound spec.rules[0].backendRefs[0].name: there is no Service demo/shop". */
  readonly faults: readonly string[]
}

export const faultText = ({ type, reason, message, place }: Fault): string =>
  `${type} ${reason} ${pathText(place.path)}: ${message}`

/** A value with this route alone, attached to a listener of its protocol. */
export function configOf(route: KubernetesObject, objects: readonly KubernetesObject[], options = OPTIONS) {
  const store = ObjectStore.of([...objects, route])
  const parts = translateRoute(route, store, options)
  const made = serviceBackends(new Set(parts.rules.flatMap((rule) => [...rule.backends])), store, options)
  const isStream = route.kind === 'TLSRoute' || route.kind === 'TCPRoute'
  const rules = parts.rules.map((rule) => rule.value)
  const listener = isStream ? { protocol: 'TCP', tcpRoutes: rules } : { routes: rules }
  return {
    value: {
      binds: [{ port: 8080, listeners: [listener] }],
      backends: made.entries.map((entry) => entryValue(entry, store))
    },
    faults: [...parts.faults, ...made.faults].map(faultText),
    sources: objectSources(() => store, JSON.parse)
  }
}

function entryValue(entry: Part, store: ObjectStore): Raw {
  const named = namedBackend(String(entry.value.name))
  return named !== null && 'service' in named ? withProtocol(entry, named.service, store).value : entry.value
}

/** Throws what the configuration is refused for. */
export function compiled(
  route: KubernetesObject,
  objects: readonly KubernetesObject[],
  options = OPTIONS
): CompiledRoute {
  const { value, faults, sources } = configOf(route, objects, options)
  const words = { noun: 'Gateway', top: 'in the Gateway', placeOf: pathText }
  const outcome = compileConfig(
    { value, isSound: true, isTranslated: true, words },
    { policies, backends, sources, env: {}, processors: 1, memoryBytes: 1e9 }
  )
  if ('snapshot' in outcome) return { snapshot: outcome.snapshot, faults }
  throw new Error(outcome.findings.map(({ path, message }) => `${pathText(path)}: ${message}`).join('\n'))
}
