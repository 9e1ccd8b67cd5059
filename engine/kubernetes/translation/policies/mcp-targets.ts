/** Services that are MCP servers, found by their labels: one target for each port that speaks MCP. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { selects } from '#engine/kubernetes/translation/attach/selectors.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { isGranted } from '#engine/kubernetes/translation/routes/grants.ts'
import { externalNameRefusal } from '#engine/kubernetes/translation/routes/service-names.ts'
import { entriesOf, objectOf, type Raw, text } from '#engine/schema/placed.ts'
import type { PolicyOptions } from './options.ts'

export interface SelectedTarget {
  /** Unique, fit for names of tools. */
  readonly name: string
  /** `static` of a target. */
  readonly server: Raw
}

export interface SelectedTargets {
  readonly targets: readonly SelectedTarget[]
  /** Services that are left out, and why. */
  readonly refused: readonly Refused[]
}

interface Refused {
  readonly reason: string
  readonly message: string
}

/** docs/specification.md#mcp-backends. */
export const TARGETS_MAX = 32

/** appProtocol of a port -> protocol of the target. Services are often labelled for the closest peer already. */
const PROTOCOLS: ReadonlyMap<string, string> = new Map(
  ['weir.dev', 'agentgateway.dev', 'kgateway.dev'].flatMap((domain) => [
    [`${domain}/mcp`, 'StreamableHTTP'],
    [`${domain}/mcp-sse`, 'SSE']
  ])
)

const PATHS = ['weir.dev/mcp-path', 'agentgateway.dev/mcp-path', 'kgateway.dev/mcp-path']
const PATH = /^[!-~]+$/
const NAMES = ['weir.dev/mcp-target-name', 'agentgateway.dev/mcp-target-name']

export function selectedTargets(
  { namespaces, services }: Raw,
  from: KubernetesObject,
  objects: Objects,
  options: PolicyOptions
): SelectedTargets {
  const { clusterDomain } = options
  const own = from.metadata.namespace ?? ''
  const wanted = namespaces === undefined ? [own] : namespacesWith(namespaces, objects)
  const all = wanted
    .flatMap((namespace) => objects.list('Service', namespace))
    .filter((service) => selects(services, service.metadata.labels ?? {}))
    .sort((a, b) => (fullName(a) < fullName(b) ? -1 : 1))
  const judged = all.map((service) => ({ service, refusal: refusalOf(service, from, objects, options) }))
  const refused = judged.flatMap(({ refusal }) => refusal ?? [])
  const allowed = judged.flatMap(({ service, refusal }) => (refusal === null ? service : []))
  return { targets: unique(allowed.flatMap((service) => containedTargets(service, clusterDomain))), refused }
}

/** Null: it may be asked. */
function refusalOf(
  service: KubernetesObject,
  from: KubernetesObject,
  objects: Objects,
  { clusterDomain, hasTenants }: PolicyOptions
): Refused | null {
  const left = `Service ${fullName(service)} is left out`
  if (!isReachable(service, from, objects)) {
    const message = `${left}: no ReferenceGrant there lets GatewayBackends of ${from.metadata.namespace} refer to it`
    return { reason: 'RefNotPermitted', message }
  }
  const alias = hasTenants === false ? null : externalNameRefusal(service, objects, clusterDomain)
  if (alias !== null) return { reason: 'RefNotPermitted', message: `${left}: ${alias}` }
  const [annotation, path] = annotated(service, PATHS)
  if (path === undefined || PATH.test(path)) return null
  return { reason: 'UnsupportedValue', message: `${left}: its annotation ${annotation} is not a path` }
}

const fullName = ({ metadata }: KubernetesObject): string => `${metadata.namespace ?? ''}/${metadata.name}`

function namespacesWith(selector: unknown, objects: Objects): string[] {
  const found = objects.list('Namespace').filter((namespace) => selects(selector, namespace.metadata.labels ?? {}))
  return found.map(({ metadata }) => metadata.name).sort()
}

function isReachable({ metadata }: KubernetesObject, from: KubernetesObject, objects: Objects): boolean {
  const { namespace = '', name } = metadata
  return (
    namespace === from.metadata.namespace || isGranted(from, { group: '', kind: 'Service', namespace, name }, objects)
  )
}

/** The first of these annotations that it has, and its value. */
function annotated({ metadata: { annotations = {} } }: KubernetesObject, keys: readonly string[]) {
  const key = keys.find((one) => annotations[one] !== undefined)
  return key === undefined ? [] : [key, annotations[key]]
}

interface Found extends SelectedTarget {
  readonly namespace: string
}

const containedTargets = (service: KubernetesObject, clusterDomain: string): readonly Found[] =>
  contained(
    service,
    () => targetsOf(service, clusterDomain),
    () => []
  )

function targetsOf(service: KubernetesObject, clusterDomain: string): Found[] {
  const { name, namespace = '' } = service.metadata
  const [, path] = annotated(service, PATHS)
  const [, called] = annotated(service, NAMES)
  const host = `${name}.${namespace}.svc.${clusterDomain}`
  return speakingPorts(service).map(({ port, protocol }) => ({
    name: targetName(called ?? `${name}-${text(port.name) ?? port.port}`),
    namespace,
    server: {
      host,
      port: port.port,
      ...(protocol === undefined ? {} : { protocol }),
      ...(path === undefined ? {} : { path: path.startsWith('/') ? path : `/${path}` })
    }
  }))
}

interface SpeakingPort {
  readonly port: Raw
  readonly protocol: string | undefined
}

/** Ports that say that they speak MCP; of a Service where none does, its only port. */
function speakingPorts(service: KubernetesObject): SpeakingPort[] {
  const ports = entriesOf(objectOf(service.spec).ports, []).map(({ raw }) => raw)
  const speaking = ports.flatMap((port) => {
    const protocol = PROTOCOLS.get(text(port.appProtocol) ?? '')
    return protocol === undefined ? [] : [{ port, protocol }]
  })
  const [only] = ports
  return speaking.length > 0 || only === undefined || ports.length > 1
    ? speaking
    : [{ port: only, protocol: undefined }]
}

const NAME_CHARS_MAX = 63

/** Before "_" in names of tools (backends/mcp/config/targets.ts): lower-case letters, digits and "-". */
function targetName(wanted: string): string {
  const plain = wanted
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .slice(-NAME_CHARS_MAX)
  return plain.replace(/^-+|-+$/g, '')
}

/** Services of the same name in several namespaces have their namespace in front. */
function unique(found: readonly Found[]): SelectedTarget[] {
  const count = new Map<string, number>()
  for (const { name } of found) count.set(name, (count.get(name) ?? 0) + 1)
  const taken = new Set<string>()
  return found.flatMap(({ name, namespace, server }) => {
    const own = count.get(name) === 1 ? name : targetName(`${namespace}-${name}`)
    if (taken.has(own)) return []
    taken.add(own)
    return [{ name: own, server }]
  })
}
