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
  /** By one of the labels that they want. */
  readonly #byLabel = new Map<string, Aim[]>()
  /** Kinds that are looked for by labels. */
  readonly #selected = new Set<string>()

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
    const labels = this.#selected.has(kind) ? labelsOf() : null
    if (labels === null) return named
    const keys = [keyOfLabel(kind), ...Object.entries(labels).map(([key, value]) => keyOfLabel(kind, key, value))]
    const found = keys.flatMap((key) => this.#byLabel.get(key) ?? [])
    return [...named, ...found.filter(({ entry: { matchLabels } }) => selects({ matchLabels }, labels))]
  }

  #add(aim: Aim): void {
    const { kind, name, matchLabels } = aim.entry
    if (name !== undefined) {
      append(this.#byName, keyOfName(kind, name), aim)
      return
    }
    this.#selected.add(kind)
    const [label] = Object.entries(objectOf(matchLabels))
    append(this.#byLabel, label === undefined ? keyOfLabel(kind) : keyOfLabel(kind, label[0], String(label[1])), aim)
  }
}

const keyOfName = (kind: string, name: string): string => `${kind}/${name}`
/** Labels have no "=" (Kubernetes). */
const keyOfLabel = (kind: string, key = '', value = ''): string => `${kind} ${key}=${value}`

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
