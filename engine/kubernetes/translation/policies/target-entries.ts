/** What a GatewayPolicy is for, as it says it. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { contained, noteStumble } from '#engine/kubernetes/translation/contained.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'

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

export interface TargetEntries {
  /** Those that can be read. */
  readonly entries: readonly TargetEntry[]
  /** Why not all can. Null: all that are objects can. */
  readonly fault: Fault | null
}

const LISTS = ['targetRefs', 'targetSelectors'] as const

const known = new WeakMap<KubernetesObject, TargetEntries>()

export const targetEntries = (policy: KubernetesObject): readonly TargetEntry[] => readTargets(policy).entries

/** Each entry is read by itself: a policy that is refused is closed where it is known to be for something. */
export function readTargets(policy: KubernetesObject): TargetEntries {
  const before = known.get(policy)
  if (before?.fault != null) noteStumble(policy, before.fault)
  if (before !== undefined) return before
  let fault: Fault | null = null
  const read = <T>(make: () => T, instead: () => T): T =>
    contained(policy, make, (found) => {
      fault = found
      return instead()
    })
  const entries = LISTS.flatMap((list) => {
    const path = ['spec', list]
    const values = read<unknown>(
      () => objectOf(policy.spec)[list],
      () => []
    )
    if (!Array.isArray(values)) return []
    return Array.from({ length: values.length }, (_, i) => i).flatMap((i) =>
      read<readonly TargetEntry[]>(
        () => entryOf(list, objectOf(values[i]), [...path, i]),
        () =>
          // What is left of it is for the whole object.
          read<readonly TargetEntry[]>(
            () => entryOf('targetRefs', wholeOf(objectOf(values[i])), [...path, i]),
            () => []
          )
      )
    )
  })
  const made = { entries, fault }
  known.set(policy, made)
  return made
}

/** None: it names nothing. */
function entryOf(list: (typeof LISTS)[number], raw: Raw, path: Path): readonly TargetEntry[] {
  const { group, kind, name, sectionName, matchLabels } = raw
  if (text(kind) === undefined || (list === 'targetRefs' && text(name) === undefined)) return []
  return [
    {
      group: text(group) ?? '',
      kind: text(kind) ?? '',
      name: text(name),
      sectionName: text(sectionName),
      matchLabels: name === undefined ? structuredClone(matchLabels) : undefined,
      path
    }
  ]
}

const wholeOf = ({ kind, name }: Raw): Raw => ({ kind, name })
