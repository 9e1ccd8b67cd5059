/** A GatewayBackend -> an entry of `backends`, with the GatewayPolicies for it and for its sections. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { Fault, Part, PartOrigin } from '#engine/kubernetes/translation/parts.ts'
import { gatewayBackendName } from '#engine/kubernetes/translation/routes/names.ts'
import {
  entriesOf,
  objectOf,
  type Path,
  type Placed,
  pathText,
  type Raw,
  text,
  valueAt
} from '#engine/schema/placed.ts'
import type { KindKey } from '#engine/source/kinds.ts'
import { judge } from './content.ts'
import { type Field, type Fields, fieldsOf, originsOf } from './fields.ts'
import { fitting, unfit } from './fit.ts'
import { Gathered } from './gather.ts'
import type { BackendParts, PolicyOptions } from './options.ts'
import { Recall } from './recall.ts'
import { schemasOf } from './schemas.ts'
import { faultsOf, fieldsFor, needsOfAll, type TargetFields } from './target-policies.ts'
import { judgeTenant } from './tenant.ts'

/** A GatewayBackend by itself: judged, and in the spelling of files. */
interface BackendContent {
  readonly key: KindKey
  readonly value: Raw
  readonly policies: Fields
  readonly gathered: Gathered
}

type Judged = { readonly content: BackendContent } | { readonly faults: readonly Fault[] }

/** Of one translation. */
const contents = new WeakMap<PolicyOptions, Recall<Judged>>()

function contentOf(backend: KubernetesObject, objects: Objects, options: PolicyOptions): Judged {
  const recall = contents.get(options) ?? new Recall<Judged>()
  contents.set(options, recall)
  return recall.of(backend, objects, (noted) =>
    contained(
      backend,
      () => make(backend, noted, options),
      (fault) => ({ faults: [fault] })
    )
  )
}

function make(backend: KubernetesObject, objects: Objects, options: PolicyOptions): Judged {
  const refusals = judge(backend, options)
  if (refusals.length > 0) return { faults: refusals }
  const { object, faults } = judgeTenant(backend, objects, options)
  if (faults.length > 0) return { faults }
  const { policies, ...spec } = objectOf(object.spec)
  const { kinds, backend: policySchema } = schemasOf(options)
  // One of them is there: the schema has accepted it.
  const key = kinds.keys.find(({ name }) => spec[name] !== undefined)!
  const gathered = new Gathered(backend, objects, options)
  const { targets } = objectOf(spec[key.name])
  for (const { raw } of entriesOf(targets, [])) if (raw.selector === undefined) gathered.targets.add(String(raw.name))
  const value = objectOf(gathered.convert(key.schema, spec[key.name], ['spec', key.name]))
  const at = ['spec', 'policies']
  const own = policies === undefined ? {} : objectOf(gathered.convert(policySchema, policies, at))
  if (gathered.faults.length > 0) return { faults: gathered.faults }
  return { content: { key, value, policies: fieldsOf(own, at, keyOf(backend), gathered.moves), gathered } }
}

export function translateBackend(backend: KubernetesObject, objects: Objects, options: PolicyOptions): BackendParts {
  const { namespace = '', name } = backend.metadata
  const target = { kind: 'GatewayBackend', namespace, name } as const
  const judged = contentOf(backend, objects, options)
  if ('faults' in judged) return refusedBackend(backend, judged.faults)
  const { content } = judged
  const { policies, gathered } = content
  const nothing = emptied(backend, content)
  if (nothing !== null) return refusedBackend(backend, [nothing, ...gathered.doubts])
  const whole = fieldsFor(target, objects, options)
  const sections = new Map<string, TargetFields>()
  const fieldsOfPart = (called: string): Fields => {
    const sectionName = gathered.sections.get(called) ?? called
    const found = sections.get(sectionName) ?? fieldsFor({ ...target, sectionName }, objects, options)
    sections.set(sectionName, found)
    // The backend's own policies are more precise than a GatewayPolicy, even than one for a part of it.
    return new Map([...found.backend.fields].filter(([field]) => !policies.has(field)))
  }
  const entry = new Entry(backend, content)
  const fit = fitting(whole.backend.fields, content.key.config, options)
  entry.addPolicies(new Map([...fit.fields, ...policies]))
  const unfitParts = entry.addToParts(fieldsOfPart)
  const all = [whole, ...sections.values()]
  const needs = needsOfAll(all.flatMap(({ contents: of }) => of))
  return {
    entry: entry.part,
    isRefused: false,
    faults: [...gathered.doubts, ...all.flatMap(faultsOf), ...fit.faults, ...unfitParts],
    backends: new Set([...gathered.backends, ...needs.backends]),
    secrets: new Set([...gathered.secrets, ...needs.secrets])
  }
}

/** Selectors that have found nothing leave nothing to ask. */
function emptied(backend: KubernetesObject, { key, value, gathered }: BackendContent): Fault | null {
  const { targets } = value
  if (!Array.isArray(targets) || targets.length > 0) return null
  const path = ['spec', key.name, 'targets']
  const why = gathered.doubts.length > 0 ? ' that it may refer to' : ''
  const message = `no Service${why} has the labels of a selector: there is no MCP server to ask`
  return { type: 'ResolvedRefs', reason: 'BackendNotFound', message, place: { key: keyOf(backend), path } }
}

/** It answers 500, as what cannot be found does. */
function refusedBackend(backend: KubernetesObject, faults: readonly Fault[]): BackendParts {
  const { namespace = '', name } = backend.metadata
  const invalid = { reference: `GatewayBackend ${namespace}/${name}`, reason: 'Invalid' }
  const entry = { name: gatewayBackendName(namespace, name), invalid }
  const origins: PartOrigin[] = [[[], { key: keyOf(backend), path: ['spec'] }]]
  return { entry: { value: entry, origins }, isRefused: true, faults, backends: new Set(), secrets: new Set() }
}

class Entry {
  readonly #content: BackendContent
  readonly #origins: PartOrigin[]
  #value: Raw

  constructor(backend: KubernetesObject, content: BackendContent) {
    const { namespace = '', name } = backend.metadata
    const { key, value, gathered } = content
    const at = (path: Path) => ({ key: keyOf(backend), path })
    this.#content = content
    this.#value = { name: gatewayBackendName(namespace, name), [key.name]: value }
    this.#origins = [
      [[], at(['spec'])],
      [['name'], at(['metadata', 'name'])]
    ]
    for (const [now, from] of gathered.moves) this.#origins.push([now.slice(1), at(from)])
  }

  get part(): Part {
    return { value: this.#value, origins: this.#origins }
  }

  addPolicies(fields: Fields): void {
    if (fields.size > 0) this.#set(['policies'], fields)
  }

  /** `fieldsOfPart`: by the name of a provider or of a target. Those that it may not have are left out, and told. */
  addToParts(fieldsOfPart: (name: string) => Fields): readonly Fault[] {
    const { key, value } = this.#content
    const { parts } = key.config
    const placed = { raw: value, path: [key.name] }
    const all = parts?.of(placed) ?? []
    const own = policiesInside(all, parts?.places(placed) ?? [])
    return all.flatMap((part) => {
      const name = text(part.raw.name)
      if (name === undefined) return []
      const fields = [...fieldsOfPart(name)].filter(([field]) => own.get(part)?.has(field) !== true)
      const refused = fields.flatMap(([field, one]) => this.#refusal(part.path, field, one) ?? [])
      const kept = fields.filter(
        ([, { from, key: of }]) => !refused.some(({ place }) => place.key === of && place.path === from)
      )
      if (kept.length > 0) this.#set([...part.path, 'policies'], new Map(kept))
      return refused
    })
  }

  /** Why the schema of the part does not have the policy; null: it has. */
  #refusal(path: Path, name: string, field: Field): Fault | null {
    const { key, value } = this.#content
    const at = [...path.slice(1), 'policies', name]
    const result = key.schema.safeParse(aloneAt(value, at, field.value))
    const issue = result.error?.issues.find((one) =>
      at.slice(0, -1).every((step, i) => one.path[i] === (typeof step === 'number' ? 0 : step))
    )
    return issue === undefined
      ? null
      : unfit(field, `does not act on ${text(valueAt(value, [...path.slice(1), 'name']))}: ${issue.message}`)
  }

  /** Beside what stands at `at`. */
  #set(at: Path, fields: Fields): void {
    const added = Object.fromEntries([...fields].map(([name, { value }]) => [name, value]))
    const before = objectOf(valueAt(this.#value, at))
    this.#value = withAt(this.#value, at, { ...added, ...before }) as Raw
    for (const [name, field] of fields) this.#origins.push(...originsOf(field, [...at, name]))
  }
}

/** A copy of `value` that has `inner` at `path`. */
function withAt(value: unknown, path: Path, inner: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return inner
  const below = withAt(valueAt(value, [key]), rest, inner)
  if (Array.isArray(value)) return value.map((one: unknown, i) => (i === key ? below : one))
  return { ...objectOf(value), [key]: below }
}

/** As `withAt`; of lists on the way there is nothing else. Each of 1,000 parts is judged without the others. */
function aloneAt(value: unknown, path: Path, inner: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return inner
  const below = aloneAt(valueAt(value, [key]), rest, inner)
  return Array.isArray(value) ? [below] : { ...objectOf(value), [key]: below }
}

/** Names of policies that stand in each of `parts`, or in a place below it. */
function policiesInside(parts: readonly Placed[], places: readonly Placed[]): ReadonlyMap<Placed, ReadonlySet<string>> {
  const own = new Map(parts.map((part) => [part, new Set<string>()]))
  const byPath = new Map([...own].map(([{ path }, names]) => [pathText(path), names]))
  for (const { raw, path } of places) {
    const names = Object.keys(objectOf(raw.policies))
    if (names.length === 0) continue
    for (let length = path.length; length > 0; length--) {
      const inside = byPath.get(pathText(path.slice(0, length)))
      for (const name of names) inside?.add(name)
    }
  }
  return own
}

/** `mcp.authentication` of a backend and of its parts. */
export function ownAuthentication(
  backend: KubernetesObject,
  objects: Objects,
  options: PolicyOptions
): readonly Field[] {
  const judged = contentOf(backend, objects, options)
  return 'faults' in judged ? [] : judged.content.gathered.authentications
}
