/** The GatewayPolicies of a namespace by what they are for: thousands of routes ask, each for a few. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { selects } from '#engine/kubernetes/translation/attach/selectors.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { type TargetEntry, targetEntries } from './target-entries.ts'

export interface Aim {
  readonly policy: KubernetesObject
  readonly entry: TargetEntry
}

type Labels = Readonly<Record<string, string>>

export class TargetIndex {
  readonly #policies: readonly KubernetesObject[]
  readonly #byName = new Map<string, Aim[]>()
  /** Of a kind, by one of the labels that they want: thousands of policies look for few of them. */
  readonly #byLabel = new Map<string, Wanted>()

  constructor(policies: readonly KubernetesObject[]) {
    this.#policies = policies
    for (const policy of policies) for (const entry of targetEntries(policy)) this.#add({ policy, entry })
  }

  isOf(policies: readonly KubernetesObject[]): boolean {
    return policies.length === this.#policies.length && policies.every((policy, i) => policy === this.#policies[i])
  }

  /** `labelsOf`: of the object, asked for only when some policy looks for them. */
  aimsAt(kind: string, name: string, labelsOf: () => Labels | null): readonly Aim[] {
    const named = this.#byName.get(keyOfName(kind, name)) ?? []
    const wanted = this.#byLabel.get(kind)
    const labels = wanted === undefined ? null : labelsOf()
    if (wanted === undefined || labels === null) return named
    const found = [...wanted.any, ...aimsAtLabels(wanted, labels)]
    return [...named, ...found.filter(({ entry: { matchLabels } }) => selects({ matchLabels }, labels))]
  }

  #add(aim: Aim): void {
    const { kind, name, matchLabels } = aim.entry
    if (name !== undefined) {
      append(this.#byName, keyOfName(kind, name), aim)
      return
    }
    const wanted = this.#byLabel.get(kind) ?? { any: [], labels: new Map<string, Map<string, Aim[]>>() }
    this.#byLabel.set(kind, wanted)
    const [label] = Object.entries(objectOf(matchLabels))
    if (label === undefined) {
      wanted.any.push(aim)
      return
    }
    const [key, value] = label
    const values = wanted.labels.get(key) ?? new Map<string, Aim[]>()
    wanted.labels.set(key, values)
    append(values, String(value), aim)
  }
}

interface Wanted {
  /** Without labels: they are for all. */
  readonly any: Aim[]
  readonly labels: Map<string, Map<string, Aim[]>>
}

/** Goes through whichever has fewer: the labels that are wanted, or those of the object, which may have 10,000. */
function aimsAtLabels({ labels: wanted }: Wanted, labels: Labels): readonly Aim[] {
  const own = keysOf(labels)
  const keys = own.length < wanted.size ? own : [...wanted.keys()]
  return keys.flatMap((key) => (Object.hasOwn(labels, key) ? (wanted.get(key)?.get(labels[key]!) ?? []) : []))
}

const keysKnown = new WeakMap<Labels, readonly string[]>()

function keysOf(labels: Labels): readonly string[] {
  const keys = keysKnown.get(labels) ?? Object.keys(labels)
  keysKnown.set(labels, keys)
  return keys
}

const keyOfName = (kind: string, name: string): string => `${kind}/${name}`

function append(map: Map<string, Aim[]>, key: string, aim: Aim): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [aim])
  else list.push(aim)
}

const known = new WeakMap<KubernetesObject, TargetIndex>()

/** The last one made for a list that begins with the same policy is kept. */
export function indexOf(policies: readonly KubernetesObject[]): TargetIndex | null {
  const [first] = policies
  if (first === undefined) return null
  const before = known.get(first)
  if (before?.isOf(policies) === true) return before
  const made = new TargetIndex(policies)
  known.set(first, made)
  return made
}
