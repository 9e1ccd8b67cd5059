/** Values of one object -> the spelling of files, and what is known of them then: what they need, what is wrong. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault, PartOrigin } from '#engine/kubernetes/translation/parts.ts'
import { type BackendRef, resolveBackendRef } from '#engine/kubernetes/translation/routes/references.ts'
import { objectOf, type Path, type Raw, text } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import { Converter, ELSEWHERE, InPlaceOf, type WordPlace } from './convert.ts'
import type { Field } from './fields.ts'
import { selectedTargets, TARGETS_MAX } from './mcp-targets.ts'
import type { PolicyOptions } from './options.ts'
import { schemasOf } from './schemas.ts'
import { type HolderKind, heldKeys, NAMESPACE_LABEL, secretName, selectSecrets } from './secrets.ts'

export class Gathered {
  readonly backends = new Set<string>()
  readonly secrets = new Set<string>()
  /** What makes the object unfit, with its paths. */
  readonly faults: Fault[] = []
  /** What is left out, and the rest holds. */
  readonly doubts: Fault[] = []
  /** Of what was converted: where it stands now, in the value that was given. */
  readonly moves: (readonly [at: Path, from: Path])[] = []
  /** Of MCP servers, as the policy of a route. */
  readonly authentications: Field[] = []
  /** Targets of MCP that a selector has found -> the name of the selector's entry. */
  readonly sections = new Map<string, string>()
  /** Names of targets that are there already. */
  readonly targets = new Set<string>()
  readonly #from: KubernetesObject
  readonly #objects: Objects
  readonly #options: PolicyOptions
  readonly #converter: Converter

  constructor(from: KubernetesObject, objects: Objects, options: PolicyOptions) {
    this.#from = from
    this.#objects = objects
    this.#options = options
    this.#converter = new Converter({
      resources: schemasOf(options).resources,
      moved: (at, path) => this.moves.push([at, path]),
      words: {
        BackendObjectReference: (value, place) => this.#backend(value, place),
        LocalObjectReference: (value, place) => this.#held(value, place, ['Secret']),
        AuthoritiesReference: (value, place) => this.#held(value, place, ['Secret', 'ConfigMap']),
        SecretSelector: (value, place) => this.#selected(value, place),
        McpSelector: (value, place) => this.#targets(value, place),
        McpAuthentication: (value, place) => this.#authentication(value, place),
        HttpHeaderMatch: (value) => headerMatch(value),
        Json: (value) => value
      }
    })
  }

  /** `path`: of the value in the object. */
  convert(schema: z.core.$ZodType, value: unknown, path: Path): unknown {
    return this.#converter.convert(schema, value, path)
  }

  get #namespace(): string {
    return this.#from.metadata.namespace ?? ''
  }

  #fault(path: Path, reason: string, message: string): Fault {
    return { type: 'ResolvedRefs', reason, message, place: { key: keyOf(this.#from), path } }
  }

  #backend(value: Raw, { path }: WordPlace): unknown {
    // Its schema has accepted it.
    const ref = value as object as BackendRef
    const found = resolveBackendRef(ref, this.#from, this.#objects, this.#options, path)
    if ('fault' in found) {
      this.faults.push(found.fault)
      return { name: found.invalid }
    }
    this.backends.add(found.name)
    return { name: found.name }
  }

  #held(value: Raw, { path }: WordPlace, kinds: readonly HolderKind[]): unknown {
    const name = text(value.name) ?? ''
    const kind = kinds.find((one) => this.#objects.get(one, this.#namespace, name) !== undefined)
    if (kind === undefined) {
      const message = `there is no ${kinds.join(' or ')} ${this.#namespace}/${name}`
      this.faults.push(this.#fault(path, 'RefNotFound', message))
      return { name: secretName('Secret', this.#namespace, name) }
    }
    if (heldKeys(this.#objects.get(kind, this.#namespace, name)!).length === 0) {
      this.faults.push(this.#fault(path, 'RefNotFound', `${kind} ${this.#namespace}/${name} holds nothing`))
    }
    const entry = secretName(kind, this.#namespace, name)
    this.secrets.add(entry)
    return { name: entry }
  }

  #selected({ matchLabels }: Raw, { path }: WordPlace): unknown {
    const found = selectSecrets(this.#objects, this.#namespace, matchLabels)
    if (found.length === 0) {
      const message = `namespace ${this.#namespace} has no Secret with all of these labels that holds something`
      this.faults.push(this.#fault(path, 'RefNotFound', message))
    }
    for (const { metadata } of found) this.secrets.add(secretName('Secret', this.#namespace, metadata.name))
    return { matchLabels: { ...objectOf(matchLabels), [NAMESPACE_LABEL]: this.#namespace } }
  }

  #targets(value: Raw, { path, around }: WordPlace): InPlaceOf {
    const { targets, refused } = selectedTargets(value, this.#from, this.#objects, this.#options)
    for (const { reason, message } of refused) this.doubts.push(this.#fault(path, reason, message))
    const others = targets.filter(({ name }) => !this.targets.has(name))
    const kept = others.slice(0, TARGETS_MAX - this.targets.size)
    if (kept.length < others.length) {
      const message = `a backend has at most ${TARGETS_MAX} targets: ${others.length - kept.length} of those found are left out`
      this.doubts.push(this.#fault(path, 'UnsupportedValue', message))
    }
    for (const { name } of kept) {
      this.targets.add(name)
      this.sections.set(name, text(around.name) ?? '')
    }
    return new InPlaceOf(kept.map(({ name, server }) => ({ name, static: server })))
  }

  #authentication(value: Raw, { path }: WordPlace): typeof ELSEWHERE {
    const policy = schemasOf(this.#options).mcpAuthentication
    if (policy === undefined) return ELSEWHERE
    const before = this.moves.length
    const converted = this.#converter.convert(policy.schema, value, path)
    const key = keyOf(this.#from)
    const origins = this.moves
      .splice(before)
      .map(([at, from]): PartOrigin => [at.slice(path.length), { key, path: from }])
    this.authentications.push({ value: converted, key, from: path, origins })
    return ELSEWHERE
  }
}

/** HTTPHeaderMatch of the Gateway API. */
function headerMatch({ type = 'Exact', name, value }: Raw): unknown {
  return { name, value: type === 'RegularExpression' ? { regex: value } : { exact: value } }
}
