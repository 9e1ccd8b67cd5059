/** What a GatewayPolicy is for, as it says it. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { entriesOf, objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'

/** One entry of targetRefs or targetSelectors. */
export interface TargetEntry {
  /** Empty: the core group. */
  readonly group: string
  readonly kind: string
  readonly sectionName: string | undefined
  /** Of a selector. */
  readonly matchLabels: unknown
  readonly name: string | undefined
  readonly path: Path
}

const entries = new WeakMap<KubernetesObject, readonly TargetEntry[]>()

export function targetEntries(policy: KubernetesObject): readonly TargetEntry[] {
  const known = entries.get(policy)
  if (known !== undefined) return known
  const read = () => {
    const spec = objectOf(policy.spec)
    return ['targetRefs', 'targetSelectors'].flatMap((list) =>
      entriesOf(spec[list], ['spec', list]).map(({ raw, path }) => entryOf(raw, path))
    )
  }
  const made = contained<readonly TargetEntry[]>(policy, read, () => [])
  entries.set(policy, made)
  return made
}

function entryOf({ group, kind, name, sectionName, matchLabels }: Raw, path: Path): TargetEntry {
  return {
    group: text(group) ?? '',
    kind: text(kind) ?? '',
    name: text(name),
    sectionName: text(sectionName),
    matchLabels: name === undefined ? structuredClone(matchLabels) : undefined,
    path
  }
}
