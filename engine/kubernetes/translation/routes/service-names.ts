/**
 * Names of Services where an object says a host as text. They are references as any other: a Service of another
 * namespace needs a ReferenceGrant, however its name is written, and none is left to the search list of a data plane,
 * which begins with the namespace of the Gateway.
 */
import { isIP } from 'node:net'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { objectOf, text } from '#engine/schema/placed.ts'
import { isGranted } from './grants.ts'

/** `host`: to be resolved in place of the text, with no search list. */
export type JudgedHost = { readonly host: string } | { readonly refusal: string }

interface ServiceName {
  readonly namespace: string
  readonly name: string
  /** What stands in front: a pod of a headless Service. */
  readonly pod: string
}

/** Names that lead to names, as CNAME does. */
const ALIASES_MAX = 4

/** `host`: a name or an address, as `from` has it. */
export function judgedHost(
  host: string,
  from: KubernetesObject,
  objects: Objects,
  clusterDomain: string,
  aliases = 0
): JudgedHost {
  const name = host.toLowerCase().replace(/\.$/, '')
  const own = from.metadata.namespace ?? ''
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || name === 'localhost') return { host }
  const service = serviceNamed(name, own, host.endsWith('.'), objects, clusterDomain)
  if (service === 'pod') return { refusal: `"${host}" is an address of a pod: name its Service` }
  if (service === null) return { host }
  const { namespace, name: called, pod } = service
  if (namespace !== own && !isGranted(from, { group: '', kind: 'Service', namespace, name: called }, objects)) {
    const who = `lets a ${from.kind} of ${own} refer to Service ${called}`
    return { refusal: `no ReferenceGrant in namespace ${namespace} ${who}, which "${host}" names` }
  }
  const alias = aliasRefusal(service, objects, clusterDomain, aliases)
  return alias === null ? { host: `${pod}${called}.${namespace}.svc.${clusterDomain}` } : { refusal: alias }
}

/** Why a Service of type ExternalName may not stand for the name that it says; null: it may, or is of another type. */
export function externalNameRefusal(
  service: KubernetesObject,
  objects: Objects,
  clusterDomain: string,
  aliases = 0
): string | null {
  const external = externalNameOf(service)
  if (external === undefined) return null
  const { namespace, name } = service.metadata
  if (aliases === ALIASES_MAX) return `Service ${namespace}/${name} leads to names that lead to names`
  const judged = judgedHost(external, service, objects, clusterDomain, aliases + 1)
  return 'refusal' in judged ? `externalName of Service ${namespace}/${name}: ${judged.refusal}` : null
}

/** Of a Service of type ExternalName. */
export function externalNameOf(service: KubernetesObject): string | undefined {
  const read = () => {
    const spec = objectOf(service.spec)
    return spec.type === 'ExternalName' ? text(spec.externalName) : undefined
  }
  return contained(service, read, () => undefined)
}

function aliasRefusal(
  { namespace, name }: ServiceName,
  objects: Objects,
  clusterDomain: string,
  aliases: number
): string | null {
  const object = objects.get('Service', namespace, name)
  return object === undefined ? null : externalNameRefusal(object, objects, clusterDomain, aliases)
}

/** `isAbsolute`: no search list is applied. Null: it is the name of something else. */
function serviceNamed(
  name: string,
  own: string,
  isAbsolute: boolean,
  objects: Objects,
  clusterDomain: string
): ServiceName | 'pod' | null {
  const inCluster = `.${clusterDomain.toLowerCase()}`
  const inside = name.endsWith(inCluster) ? name.slice(0, -inCluster.length) : isAbsolute ? null : name
  if (inside === null) return null
  const labels = inside.split('.')
  const kind = labels.at(-1)
  if (labels.length > 2 && kind === 'svc') return named(labels.slice(0, -1))
  if (labels.length > 2 && kind === 'pod') return 'pod'
  if (isAbsolute || inside !== name) return null
  // A pod of the object's own namespace would find it there, or nothing.
  if (labels.length === 1) return named([name, own])
  const found = named(labels)
  return objects.get('Service', found.namespace, found.name) === undefined ? null : found
}

/** [pod, service, namespace] */
function named(labels: readonly string[]): ServiceName {
  const [name = '', namespace = ''] = labels.slice(-2)
  return {
    namespace,
    name,
    pod: labels
      .slice(0, -2)
      .map((label) => `${label}.`)
      .join('')
  }
}
