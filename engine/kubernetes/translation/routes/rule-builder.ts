/** A rule while it is translated: its value, where each part of it came from, and what is wrong with it. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault, PartOrigin, RulePart } from '#engine/kubernetes/translation/parts.ts'
import type { Path, Raw } from '#engine/schema/placed.ts'
import { type InvalidReason, invalidBackendName, poolBackendName } from './names.ts'
import type { RouteOptions } from './options.ts'
import { type JudgedPool, judgedPool } from './pools.ts'
import { type BackendRef, type ResolvedRef, resolveBackendRef, resolvePoolRef } from './references.ts'

export interface RouteContext {
  readonly route: KubernetesObject
  readonly objects: Objects
  readonly options: RouteOptions
}

export class RuleBuilder {
  readonly faults: Fault[] = []
  /** Of the rule in the route. */
  readonly path: Path
  readonly #context: RouteContext
  readonly #origins: PartOrigin[] = []
  readonly #backends = new Set<string>()

  constructor(context: RouteContext, path: Path) {
    this.#context = context
    this.path = path
    this.origin([], path)
  }

  /** What stands at `at` in the rule of the configuration came from `from` in the route. */
  origin(at: Path, from: Path): void {
    this.#origins.push([at, { key: keyOf(this.#context.route), path: from }])
  }

  refuse(type: string, reason: string, message: string, path: Path): void {
    this.faults.push({ type, reason, message, place: { key: keyOf(this.#context.route), path } })
  }

  resolve(ref: BackendRef, path: Path): ResolvedRef {
    const { route, objects, options } = this.#context
    const resolved = resolveBackendRef(ref, route, objects, options, path)
    if ('fault' in resolved) this.faults.push(resolved.fault)
    return resolved
  }

  /** Null: it cannot be followed. `invalid`: of an entry of `backends`, as of a ResolvedRef. */
  resolvePool(ref: BackendRef, path: Path): (JudgedPool & { readonly name: string }) | { readonly invalid: string } {
    const { route, objects } = this.#context
    const resolved = resolvePoolRef(ref, route, objects, path)
    if ('fault' in resolved) {
      this.faults.push(resolved.fault)
      return { invalid: resolved.invalid }
    }
    const { namespace = '', name } = resolved.pool.metadata
    const judged = judgedPool(resolved.pool, objects)
    for (const { message } of judged.faults)
      this.refuse('ResolvedRefs', 'BackendNotFound', `InferencePool ${namespace}/${name}: ${message}`, [
        ...path,
        'name'
      ])
    return { ...judged, name: poolBackendName(namespace, name) }
  }

  /** Name of a backend that answers 500 for the rule itself. */
  invalid(reason: InvalidReason): string {
    const { kind, metadata } = this.#context.route
    return this.use(invalidBackendName(kind, metadata.namespace ?? '', metadata.name, reason))
  }

  /** The rule refers to this entry of `backends`. */
  use(backend: string): string {
    this.#backends.add(backend)
    return backend
  }

  part(value: Raw): RulePart {
    return { value, origins: this.#origins, backends: this.#backends }
  }
}
