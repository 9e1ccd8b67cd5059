/** Which GatewayPolicies are for a target, and which targets a GatewayPolicy is for. */
import { type KindName, type KubernetesObject, type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { byAge } from '#engine/kubernetes/translation/attach/age.ts'
import { selects } from '#engine/kubernetes/translation/attach/selectors.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { entriesOf, objectOf, text } from '#engine/schema/placed.ts'
import type { PolicyTarget } from './options.ts'
import { type TargetEntry, targetEntries } from './target-entries.ts'
import { indexOf } from './target-index.ts'

/** Those whose target is exactly this one, oldest first: of two that say the same, the first holds (GEP-713). */
export function policiesFor(target: PolicyTarget, objects: Objects): readonly KubernetesObject[] {
  const { kind, namespace, name } = target
  const index = indexOf(objects.under(aimKey(kind, namespace, name)).list('GatewayPolicy', namespace))
  if (index === null) return NONE
  const labelsOf = () => objects.get(kind, namespace, name)?.metadata.labels ?? null
  const aims = index.aimsAt(kind, name, labelsOf)
  if (aims.length === 0) return NONE
  const found = aims.filter(({ entry }) => isSection(entry.sectionName, target, objects))
  return [...new Set(found.map(({ policy }) => policy))].sort(byAge)
}

const NONE: readonly KubernetesObject[] = []

/** What is read where the policies for an object are looked for: thousands look, and a policy is for few. */
const aimKey = (kind: string, namespace: string, name: string): ObjectKey =>
  objectKey('GatewayPolicyFor', namespace, `${kind} ${name}`)

/** Changes of `policy` are changes of these. */
export function aimKeys(policy: KubernetesObject, objects: Objects): readonly ObjectKey[] {
  const { namespace = '' } = policy.metadata
  return targetEntries(policy).flatMap((entry) =>
    namesOf(entry, namespace, objects).map((name) => aimKey(entry.kind, namespace, name))
  )
}

/** Ports of a Service have a number and a name. */
function isSection(named: string | undefined, target: PolicyTarget, objects: Objects): boolean {
  const { kind, namespace, name, sectionName } = target
  if (named === sectionName) return true
  if (kind !== 'Service' || named === undefined || sectionName === undefined) return false
  const service = objects.get(kind, namespace, name)
  if (service === undefined) return false
  const ports = contained(
    service,
    () => entriesOf(objectOf(service.spec).ports, []),
    () => []
  )
  return ports.some(({ raw }) => {
    const both = [String(raw.port), raw.name]
    return both.includes(named) && both.includes(sectionName)
  })
}

/** An object that an entry is for. */
export interface AimedAt {
  readonly entry: TargetEntry
  readonly target: PolicyTarget
  /** Undefined: there is none. */
  readonly object: KubernetesObject | undefined
}

/** In the order of the entries; a selector that finds nothing has none. */
export function targetsOf(policy: KubernetesObject, objects: Objects): readonly AimedAt[] {
  const namespace = policy.metadata.namespace ?? ''
  return targetEntries(policy).flatMap((entry) =>
    namesOf(entry, namespace, objects).map((name): AimedAt => {
      const { sectionName } = entry
      const kind = entry.kind as PolicyTarget['kind']
      const target = { kind, namespace, name, ...(sectionName === undefined ? {} : { sectionName }) }
      return { entry, target, object: objects.get(kind, namespace, name) }
    })
  )
}

function namesOf({ kind, name, matchLabels }: TargetEntry, namespace: string, objects: Objects): string[] {
  if (name !== undefined) return [name]
  const found = objects
    .list(kind as KindName, namespace)
    .filter(({ metadata }) => selects({ matchLabels }, metadata.labels ?? {}))
  return found.map(({ metadata }) => metadata.name).sort()
}

/** Names that `sectionName` may have. */
export const sectionsOf = (object: KubernetesObject): readonly string[] =>
  contained(
    object,
    () => sectionsIn(object),
    () => []
  )

function sectionsIn({ kind, spec }: KubernetesObject): readonly string[] {
  const { listeners, rules, ports, ai, mcp } = objectOf(spec)
  const named = (list: unknown) => entriesOf(list, []).flatMap(({ raw }) => text(raw.name) ?? [])
  if (kind === 'Gateway' || kind === 'ListenerSet') return named(listeners)
  if (kind === 'Service') return [...named(ports), ...entriesOf(ports, []).map(({ raw }) => String(raw.port))]
  if (kind === 'InferencePool') return []
  if (kind !== 'GatewayBackend') return named(rules)
  const groups = entriesOf(objectOf(ai).groups, [])
  return [...groups.flatMap(({ raw }) => named(raw.providers)), ...named(objectOf(mcp).targets)]
}
