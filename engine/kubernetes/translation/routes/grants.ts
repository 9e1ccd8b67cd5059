/** ReferenceGrant: what objects of other namespaces may refer to. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { entriesOf, objectOf, text } from '#engine/schema/placed.ts'

export interface GrantTarget {
  /** Empty: the core group. */
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Of an object: "" of "v1", "gateway.networking.k8s.io" of "gateway.networking.k8s.io/v1". */
export const groupOf = ({ apiVersion }: Pick<KubernetesObject, 'apiVersion'>): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.lastIndexOf('/')) : ''

/** Whether a ReferenceGrant in the namespace of `to` lets `from` refer to it. */
export function isGranted(from: KubernetesObject, to: GrantTarget, objects: Objects): boolean {
  const grants = objects.list('ReferenceGrant', to.namespace)
  if (grants.length === 0) return false
  const own = keyOf(groupOf(from), from.kind, from.metadata.namespace)
  const granted = indexOf(grants).of(own).get(keyOf(to.group, to.kind))
  return granted !== undefined && (granted.isAll || granted.names.has(to.name))
}

const keyOf = (...parts: readonly unknown[]): string => JSON.stringify(parts)

/** What may be referred to of one kind. */
interface Granted {
  isAll: boolean
  readonly names: Set<string>
}

/** The ReferenceGrants of a namespace by who may refer: 10,000 Services may ask, and there may be 1,000 grants. */
class GrantIndex {
  readonly #grants: readonly KubernetesObject[]
  readonly #specs = new Map<string, Set<unknown>>()
  readonly #known = new Map<string, ReadonlyMap<string, Granted>>()
  /** All of them could be read. */
  readonly isWhole: boolean

  constructor(grants: readonly KubernetesObject[]) {
    this.#grants = grants
    const read = grants.map((one) =>
      contained(
        one,
        () => this.#add(one),
        () => false
      )
    )
    this.isWhole = !read.includes(false)
  }

  isOf(grants: readonly KubernetesObject[]): boolean {
    return grants.length === this.#grants.length && grants.every((one, i) => one === this.#grants[i])
  }

  /** By group and kind. */
  of(from: string): ReadonlyMap<string, Granted> {
    const granted = this.#known.get(from) ?? grantedBy(this.#specs.get(from) ?? [])
    this.#known.set(from, granted)
    return granted
  }

  #add({ spec }: KubernetesObject): boolean {
    const { from, to } = objectOf(spec)
    for (const { raw } of entriesOf(from, [])) {
      const key = keyOf(raw.group, raw.kind, raw.namespace)
      const specs = this.#specs.get(key) ?? new Set()
      this.#specs.set(key, specs.add(to))
    }
    return true
  }
}

function grantedBy(lists: Iterable<unknown>): ReadonlyMap<string, Granted> {
  const granted = new Map<string, Granted>()
  for (const list of lists) {
    for (const { raw } of entriesOf(list, [])) {
      const key = keyOf(raw.group, raw.kind)
      const one = granted.get(key) ?? { isAll: false, names: new Set() }
      granted.set(key, one)
      const name = text(raw.name) ?? ''
      if (name === '') one.isAll = true
      else one.names.add(name)
    }
  }
  return granted
}

const known = new WeakMap<KubernetesObject, GrantIndex>()

/** The last one made for a list that begins with the same grant is kept. */
function indexOf(grants: readonly KubernetesObject[]): GrantIndex {
  const before = known.get(grants[0]!)
  if (before?.isOf(grants) === true) return before
  const made = new GrantIndex(grants)
  // One that is made again is said again to be wrong.
  if (made.isWhole) known.set(grants[0]!, made)
  return made
}
