/** `rawConfig` of GatewayParameters: a configuration below what resources say. */
import type { Raw } from '#engine/schema/placed.ts'
import { isPre } from '#engine/source/policies.ts'

/** `over` wins. Objects are merged by their keys, lists whose entries have a name or a port by those. */
export function mergedBelow(over: Raw, below: Raw): Raw {
  const out: Raw = { ...below }
  for (const [key, value] of Object.entries(over)) {
    if (value !== undefined) out[key] = Object.hasOwn(below, key) ? mergedValue(value, below[key]) : value
  }
  return out
}

function mergedValue(over: unknown, below: unknown): unknown {
  if (Array.isArray(over) && Array.isArray(below)) return mergedList(over, below)
  return isObject(over) && isObject(below) ? mergedBelow(over, below) : over
}

/** Entries of `over` keep their places; those that only `below` has come after them, wrong ones too. */
function mergedList(over: readonly unknown[], below: readonly unknown[]): unknown[] {
  const keys = over.map(keyOf)
  if (keys.includes(null)) return [...over]
  const rest = new Map<unknown, number[]>(keys.map((key) => [key, []]))
  for (const [i, entry] of below.entries()) rest.get(keyOf(entry))?.push(i)
  // Of several with the same key each is taken once, the first one first.
  for (const indices of rest.values()) indices.reverse()
  const taken = new Set<number>()
  const merged = over.map((entry, i) => {
    const at = rest.get(keys[i])?.pop()
    if (at === undefined) return entry
    taken.add(at)
    return mergedValue(entry, below[at])
  })
  return [...merged, ...below.filter((_, i) => !taken.has(i))]
}

function keyOf(entry: unknown): string | null {
  if (!isObject(entry)) return null
  const { name, port } = entry
  if (typeof port === 'number') return `port ${port}`
  return typeof name === 'string' ? `name ${name}` : null
}

/** Sets of policies for everything. Those of one phase are merged; what has targets stays by itself. */
export function mergedSets(over: readonly Raw[], below: unknown): readonly Raw[] {
  const rest = (Array.isArray(below) ? below : [below]).filter(isObject)
  const merged = over.map((set) => {
    const at = rest.findIndex((one) => one.targetRefs === undefined && isPre(one) === isPre(set))
    return at === -1 ? set : { ...rest.splice(at, 1)[0], ...set }
  })
  return [...merged, ...rest]
}

const isObject = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)
