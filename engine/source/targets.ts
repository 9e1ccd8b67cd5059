/**
 * Policies that say themselves where they stand (docs/specification.md#attachment-and-merging): each is put where it
 * points before the configuration is validated, so it is checked and merged like what is written there. Messages
 * name the place where it was written.
 */

import type { Policy } from '#engine/contract/policy.ts'
import { objectOf, type Path, type Placed, policySetsOf, type Raw } from '#engine/schema/placed.ts'
import { deferred } from '#engine/schema/schema.ts'
import { listed, Suggestions } from '#engine/schema/suggest.ts'
import type { Kinds } from './kinds.ts'
import { Origins } from './origins.ts'
import { Targets } from './target-places.ts'
import { type Target, targetRefs } from './target-refs.ts'
import type { ConfigTree, Finding, SourceWords } from './tree.ts'
import { validate } from './validate.ts'
import { treeOf } from './walk.ts'

/** A configuration in which every policy stands where it acts. */
export interface PlacedConfig {
  readonly value: unknown
  /** Where things were written that stand elsewhere now. */
  readonly origins: Origins
  /** Their paths are those of the configuration as it was written. */
  readonly findings: readonly Finding[]
}

export function placeTargeted(
  value: unknown,
  words: SourceWords,
  kinds: Kinds,
  policies: readonly Policy[]
): PlacedConfig {
  const config = objectOf(value)
  const sets = policySetsOf({ raw: config, path: [] })
  return sets.some(({ raw }) => raw.targetRefs !== undefined)
    ? new Placing(treeOf(config, kinds, words), sets, kinds, policies).run()
    : { value, origins: new Origins(), findings: [] }
}

/** A set and one of its targets. */
interface Aim {
  readonly set: Placed
  readonly target: Target
  /** Of the target. */
  readonly path: Path
}

/** Made once: a configuration may have 10,000 sets. */
const TARGETS = deferred(targetRefs)

/** Told one by one. Sets that say the same of the same routes have as many as both numbers multiplied. */
const FINDINGS_MAX = 1_000

class Placing {
  /** Names of what a part of a backend may have itself -> the one that it has. */
  readonly #fields: Readonly<Record<string, string>>
  /** Names of policies of which those of several levels hold together. */
  readonly #addUp: ReadonlySet<unknown>
  readonly #sets: readonly Placed[]
  /** What is made: what is changed in it is copied first. */
  readonly #made: { config: unknown }
  readonly #copied = new Set<unknown>()
  readonly #findings: Finding[] = []
  readonly #suggestions = new Suggestions()
  readonly #targets: Targets
  readonly #origins = new Origins()
  /** Path of a place and name of a policy -> the set that brought it there. */
  readonly #brought = new Map<string, Placed>()

  constructor(tree: ConfigTree, sets: readonly Placed[], kinds: Kinds, policies: readonly Policy[]) {
    this.#targets = new Targets(tree)
    this.#fields = kinds.fields()
    this.#addUp = new Set(policies.filter(({ accumulates }) => accumulates).map(({ name }) => name))
    this.#sets = sets
    this.#made = { config: tree.top.raw }
  }

  run(): PlacedConfig {
    this.#keepUntargeted()
    const aims = this.#sets.flatMap((set) => (this.#isOver ? [] : this.#aimsOf(set)))
    // What is for a rule is more precise than what is for its route.
    for (const isSection of [false, true]) {
      for (const aim of aims) {
        if (this.#isOver) break
        if ((aim.target.sectionName !== undefined) === isSection) this.#place(aim)
      }
    }
    if (this.#isOver) this.#report(['policies'], `more of it is wrong: the first ${FINDINGS_MAX} mistakes are told`)
    return { value: this.#made.config, origins: this.#origins, findings: this.#findings }
  }

  /** It is refused whatever the rest says. */
  get #isOver(): boolean {
    return this.#findings.length >= FINDINGS_MAX
  }

  /** What has no targets is for the whole gateway, as ever. */
  #keepUntargeted(): void {
    const kept = this.#sets.filter(({ raw }) => raw.targetRefs === undefined)
    this.#set(
      ['policies'],
      kept.map(({ raw }) => raw)
    )
    if (kept.length === 0) this.#set(['policies'], undefined)
    kept.forEach(({ path }, i) => {
      this.#origins.add(['policies', i], path)
    })
  }

  #aimsOf(set: Placed): Aim[] {
    if (set.raw.targetRefs === undefined) return []
    const at = [...set.path, 'targetRefs']
    const outcome = validate(TARGETS, set.raw.targetRefs, at)
    if ('value' in outcome) return (outcome.value ?? []).map((target, i) => ({ set, target, path: [...at, i] }))
    this.#findings.push(...outcome.findings)
    return []
  }

  #report(path: Path, message: string, hint?: string, at: Finding['at'] = 'value'): void {
    this.#findings.push({ path, message, at, hint })
  }

  #dangling(path: Path, what: string, wanted: string, known: readonly string[]): void {
    const near = this.#suggestions.nearest(wanted, known)
    const there = known.length === 0 ? 'there are none' : `there are: ${listed(known)}`
    this.#report(path, `there is no ${what} "${wanted}"`, near === null ? there : `did you mean "${near}"?`)
  }

  #place(aim: Aim): void {
    const { kind } = aim.target
    if (kind === 'Gateway') this.#onGateway(aim)
    else if (kind === 'HTTPRoute' || kind === 'Route') this.#onRoutes(aim)
    else this.#onBackend(aim)
  }

  #onGateway({ set, target, path }: Aim): void {
    const { sectionName } = target
    if (sectionName === undefined) {
      this.#addSet([], set)
      return
    }
    const { found, known } = this.#targets.listeners(sectionName)
    for (const listener of found) this.#addSet(listener.path, set)
    if (found.length === 0) this.#dangling([...path, 'sectionName'], 'listener', sectionName, known())
  }

  #onRoutes({ set, target, path }: Aim): void {
    const { name: wanted = '', sectionName } = target
    const { found, known } = this.#targets.routes(wanted)
    if (found.length === 0) {
      this.#dangling([...path, 'name'], 'route', wanted, known())
      return
    }
    const ruled = sectionName === undefined ? { found, known } : this.#targets.rules(wanted, sectionName)
    for (const route of ruled.found) this.#addPolicies(route.path, set, sectionName === undefined ? 'route' : 'rule')
    if (ruled.found.length > 0) return
    this.#dangling([...path, 'sectionName'], `ruleName in route "${wanted}":`, sectionName!, ruled.known())
  }

  #onBackend({ set, target, path }: Aim): void {
    const { name: wanted = '', sectionName } = target
    const { found, known } = this.#targets.backend(wanted)
    if (found === undefined) {
      this.#dangling([...path, 'name'], 'backend', wanted, known())
      return
    }
    if (sectionName === undefined) {
      this.#addPolicies(found.path, set, 'backend')
      return
    }
    const part = this.#targets.part(found, sectionName)
    if (part.found !== undefined) this.#addPolicies(part.found.path, set, 'part')
    else {
      const what = `${found.config?.parts?.word ?? 'provider'} of backend "${wanted}" called`
      this.#dangling([...path, 'sectionName'], what, sectionName, part.known())
    }
  }

  // --- putting it there ---

  /** As one more set of a place that may have several. */
  #addSet(place: Path, set: Placed): void {
    const at = [...place, 'policies']
    const there = this.#get(at)
    const { targetRefs: _, ...policies } = set.raw
    const sets = this.#ownSets(at, there)
    sets.push(policies)
    this.#origins.add([...at, sets.length - 1], set.path)
  }

  /** The list of sets at `at`, which may be changed. A place may get 10,000. */
  #ownSets(at: Path, there: unknown): unknown[] {
    if (Array.isArray(there) && this.#copied.has(there)) return there
    const sets: unknown[] = there === undefined ? [] : Array.isArray(there) ? [...there] : [there]
    if (there !== undefined && !Array.isArray(there)) this.#origins.add([...at, 0], at)
    this.#copied.add(sets)
    this.#set(at, sets)
    return sets
  }

  /** Merged into the only set of a place. The backend's own wins (docs/specification.md#attachment-and-merging). */
  #addPolicies(place: Path, set: Placed, level: 'route' | 'rule' | 'backend' | 'part'): void {
    const at = [...place, 'policies']
    for (const [name, value] of Object.entries(set.raw)) {
      if (name === 'targetRefs' || (name === 'phase' && value === 'PostRouting')) continue
      if (this.#get(at) === undefined) this.#set(at, {})
      const key = level === 'part' && Object.hasOwn(this.#fields, name) ? this.#fields[name]! : name
      const slot = [...at, key]
      const label = JSON.stringify(slot)
      const other = this.#brought.get(`${level} ${label}`)
      if (other !== undefined && other !== set) {
        this.#report([...set.path, name], 'another set with this target says it too: keep it in one of them', '', 'key')
      } else if (
        this.#isFree(slot, level, () =>
          this.#report([...set.path, name], this.#addUp.has(key) ? OWN_RULES : OWN, '', 'key')
        )
      ) {
        this.#set(slot, value)
        this.#origins.add(slot, [...set.path, name])
        this.#brought.set(`${level} ${label}`, set)
      }
    }
  }

  /** Whether a policy may be put there. `clash`: reports that which of two holds would be a guess. */
  #isFree(slot: Path, level: 'route' | 'rule' | 'backend' | 'part', clash: () => void): boolean {
    if (this.#get(slot) === undefined) return true
    if (level === 'backend' || level === 'part') return false
    // A policy of a rule replaces one that points at its route, unless policies add up.
    const isOfRoute = this.#brought.has(`route ${JSON.stringify(slot)}`)
    if (level === 'rule' && isOfRoute && !this.#addUp.has(slot.at(-1))) return true
    clash()
    return false
  }

  #get(path: Path): unknown {
    let value: unknown = this.#made.config
    for (const key of path) value = (value as Raw | null | undefined)?.[key as string]
    return value
  }

  /** Sets the value at `path`, in copies of everything around it. Undefined: takes it out. */
  #set(path: Path, value: unknown): void {
    let holder: object = this.#made
    let key: PropertyKey = 'config'
    for (const next of path) {
      const inner: unknown = Reflect.get(holder, key)
      // Something else stands there, which the schema refuses.
      if (typeof inner !== 'object' || inner === null) return
      const own: object = this.#copied.has(inner) ? inner : Array.isArray(inner) ? [...inner] : { ...inner }
      this.#copied.add(own)
      define(holder, key, own)
      holder = own
      key = next
    }
    if (value === undefined) Reflect.deleteProperty(holder, key)
    else define(holder, key, value)
  }
}

/** Not by assignment: "__proto__" is a key like others. */
function define(holder: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
}

const OWN_RULES = 'its target has rules of its own: put all of them in one place'
const OWN = 'its target says it itself: keep it in one of them'
