/**
 * What the controller keeps of objects. Statuses lie apart (statuses/): a status that changes is no change for the
 * translation. Of metadata it needs less than half; of EndpointSlices, which are the most, what routes traffic.
 */
import type { KindName, KubernetesObject, ObjectMeta } from '#engine/kubernetes/objects/object.ts'

type Keep = (object: KubernetesObject) => KubernetesObject | null

interface WireMeta extends ObjectMeta {
  readonly ownerReferences?: readonly unknown[]
}

/** kubectl's copy of the whole object. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

function keptMeta(metadata: WireMeta): ObjectMeta {
  const { name, namespace, uid, generation, resourceVersion, creationTimestamp, deletionTimestamp } = metadata
  const { labels, annotations, ownerReferences } = metadata
  const meta: Record<string, unknown> = { name }
  const fields = {
    namespace,
    uid,
    generation,
    resourceVersion,
    creationTimestamp,
    deletionTimestamp,
    labels,
    ownerReferences
  }
  for (const [field, value] of Object.entries(fields)) if (value !== undefined) meta[field] = value
  if (annotations !== undefined) {
    const { [LAST_APPLIED]: _, ...rest } = annotations
    meta.annotations = rest
  }
  return meta as unknown as ObjectMeta
}

const keepAll: Keep = ({ status: _, ...object }) =>
  ({ ...object, metadata: keptMeta(object.metadata) }) as KubernetesObject

/** The status of a Service has its addresses. */
const keepService: Keep = (object) => ({ ...object, metadata: keptMeta(object.metadata) })

interface WireSlice extends KubernetesObject {
  readonly addressType?: string
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[] | null
  readonly endpoints?: readonly WireEndpoint[] | null
}

interface WireEndpoint {
  readonly addresses?: readonly string[]
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
  readonly hints?: { readonly forZones?: readonly { readonly name: string }[] }
}

const SERVICE_NAME = 'kubernetes.io/service-name'

/** The conditions of nearly all endpoints: one object for them all. */
const READY = { ready: true }

const keepSlice: Keep = (object) => {
  const { apiVersion, kind, metadata, addressType, ports, endpoints } = object as WireSlice
  const { name, namespace, resourceVersion, labels } = metadata
  const service = labels?.[SERVICE_NAME]
  if (service === undefined) return null
  const meta = { name, namespace, resourceVersion, labels: { [SERVICE_NAME]: service } }
  return {
    apiVersion,
    kind,
    metadata: meta as ObjectMeta,
    addressType,
    ports: (ports ?? []).map(({ name: port, port: number, protocol }) => ({ name: port, port: number, protocol })),
    endpoints: (endpoints ?? []).map(keptEndpoint)
  }
}

function keptEndpoint({ addresses = [], conditions = {}, hints }: WireEndpoint): WireEndpoint {
  const { ready, serving, terminating } = conditions
  const isPlain = ready !== false && terminating !== true
  // Consumers use the first address alone.
  const kept = { addresses: addresses.slice(0, 1), conditions: isPlain ? READY : { ready, serving, terminating } }
  const zones = hints?.forZones
  return (zones === undefined ? kept : { ...kept, hints: { forZones: zones } }) as WireEndpoint
}

/** Types of Secrets that no field refers to: tokens, and the releases of Helm, which are large. */
const FOREIGN_SECRETS = /^(?:helm\.sh\/|kubernetes\.io\/(?:service-account-token|dockercfg|dockerconfigjson)$)/

const keepSecret: Keep = (object) => (FOREIGN_SECRETS.test(String(object.type ?? '')) ? null : keepAll(object))

const KEEP: Partial<Readonly<Record<KindName, Keep>>> = {
  Service: keepService,
  EndpointSlice: keepSlice,
  Secret: keepSecret
}

export const keepFor = (kind: KindName): Keep => KEEP[kind] ?? keepAll
