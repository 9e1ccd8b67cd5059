/**
 * The part of a `rawConfig` on which routes and named backends depend: its policies and secrets, and those of its
 * backends that these name or that resources have too. No route pays for the rest, which may be 30,000 backends, and no
 * route is compiled again when the rest changes.
 */
import type { Input } from '#engine/kubernetes/translation/inputs.ts'
import { entriesOf, objectOf, type Raw } from '#engine/schema/placed.ts'

interface Backends {
  readonly named: ReadonlyMap<unknown, readonly Raw[]>
  /** Of those that the policies need, and all that resources may have by name. */
  readonly always: ReadonlySet<Raw>
}

const inputs = new WeakMap<Input<Raw>, Input<Raw>>()
const known = new WeakMap<Raw, Backends>()

/** Equal for two of which no route can tell one from the other. */
export function belowRoutes(input: Input<Raw>): Input<Raw> {
  const made = inputs.get(input) ?? { ...input, value: partOf(input.value) }
  inputs.set(input, made)
  return made
}

/** The same in one configuration. `over`: what resources say in it. */
export function neededBelow({ value }: Input<Raw>, over: Raw): Raw {
  if (value.backends === undefined) return value
  const { named, always } = backendsOf(value)
  const names = entriesOf(over.backends, []).map(({ raw }) => raw.name)
  const needed = new Set([...always, ...closure(names, named)])
  return withBackends(value, needed)
}

function partOf({ policies, secrets, backends }: Raw): Raw {
  const part: Raw = {
    ...(policies === undefined ? {} : { policies: untargeted(policies) }),
    ...(secrets === undefined ? {} : { secrets }),
    ...(backends === undefined ? {} : { backends })
  }
  if (backends === undefined) return part
  const { named, always } = backendsOf(part)
  const shared = closure([...named.keys()].filter(isOfResources), named)
  return withBackends(part, new Set([...always, ...shared]))
}

/** What has targets acts on what `rawConfig` itself has. */
const untargeted = (policies: unknown): unknown =>
  (Array.isArray(policies) ? policies : [policies]).filter((set) => objectOf(set).targetRefs === undefined)

/** Names of backends that are made of resources begin with a namespace (routes/names.ts). */
const isOfResources = (name: unknown): boolean => typeof name === 'string' && name.includes('.')

const withBackends = (value: Raw, needed: ReadonlySet<Raw>): Raw => ({
  ...value,
  backends: entriesOf(value.backends, []).flatMap(({ raw }) => (needed.has(raw) ? raw : []))
})

function backendsOf(value: Raw): Backends {
  const before = known.get(value)
  if (before !== undefined) return before
  const all = entriesOf(value.backends, []).map(({ raw }) => raw)
  const named = Map.groupBy(all, ({ name }) => name)
  const made = { named, always: closure(textsIn(value.policies), named) }
  known.set(value, made)
  return made
}

/** Backends of these names, with all that they name: any text may be a name. */
function closure(names: Iterable<unknown>, named: Backends['named']): Set<Raw> {
  const found = new Set<Raw>()
  const open = [...names]
  while (open.length > 0) {
    for (const backend of named.get(open.pop()) ?? []) {
      if (found.has(backend)) continue
      found.add(backend)
      for (const text of textsIn(backend)) open.push(text)
    }
  }
  return found
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else for (const inner of Array.isArray(value) ? value : Object.values(objectOf(value))) yield* textsIn(inner)
}
