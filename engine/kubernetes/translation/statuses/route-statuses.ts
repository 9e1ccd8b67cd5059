/** Statuses of all routes, each made when something changes that it says, and counts of them by listeners. */

import { share } from '#engine/ir/share.ts'
import { isSameList } from '#engine/kit/same-list.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Parents, TranslatedGateway, TranslatedRoute } from '#engine/kubernetes/translation/translated.ts'
import type { StatusInputs } from './inputs.ts'
import { isAttached, type JudgedParent, type RouteParentStatus, routeStatus } from './routes.ts'

interface Known {
  /** What the status was made of. */
  readonly inputs: readonly unknown[]
  readonly parents: Parents
  readonly status: { readonly parents: readonly RouteParentStatus[] }
  /** Listeners at which it counts. */
  readonly attached: readonly { readonly gateway: string; readonly listener: string }[]
}

/** Attached routes by Gateways and by full names of their listeners. */
type Counts = Map<string, Map<string, number>>

export class RouteStatuses {
  readonly #controllerName: string
  #known = new Map<ObjectKey, Known>()
  #counts: Counts = new Map()

  constructor(controllerName: string) {
    this.#controllerName = controllerName
  }

  /** `statuses`: of all, or of those that were made now. `hasMoved`: a route came, went, or has other parents. */
  update({ gateways, routes, changed }: Pick<StatusInputs, 'gateways' | 'routes' | 'changed'>) {
    const byName = new Map(gateways.map((one) => [one.name, one]))
    const sets = [changed, ...gateways.map(({ compiled }) => compiled.changed)]
    const isWhole = sets.includes(null)
    const keys = isWhole ? routes.keys() : new Set(sets.flatMap((set) => [...set!]))
    const known = isWhole ? new Map<ObjectKey, Known>() : this.#known
    const statuses = new Map<ObjectKey, unknown>()
    const gone: ObjectKey[] = []
    let hasMoved = isWhole && this.#known.size !== routes.size
    for (const key of keys) {
      const translated = routes.get(key)
      const before = this.#known.get(key)
      if (translated === undefined) {
        hasMoved = true
        known.delete(key)
        gone.push(key)
        if (before !== undefined) this.#count(before, null)
        continue
      }
      if (before?.parents !== translated.parents) hasMoved = true
      const now = this.#update(key, translated, byName, before)
      known.set(key, now)
      statuses.set(key, now.status)
      if (!isWhole) this.#count(before, now)
    }
    this.#known = known
    if (isWhole) this.#counts = countsOf(known.values())
    return { statuses, gone, counts: this.#counts, hasMoved, isWhole }
  }

  #update(
    key: ObjectKey,
    translated: TranslatedRoute,
    gateways: ReadonlyMap<string, TranslatedGateway>,
    before: Known | undefined
  ): Known {
    const { route, parents, record } = translated
    const compiled = Object.keys(parents.attachments).map((name) => gateways.get(name)?.compiled.routes.get(key))
    const inputs = [route.metadata.generation, route.spec, parents, record, ...compiled]
    const isKept = before !== undefined && isSameList(before.inputs, inputs)
    return isKept ? before : this.#make(key, translated, gateways, inputs, before)
  }

  #count(before: Known | undefined, now: Known | null): void {
    if (before === now) return
    for (const place of before?.attached ?? []) addTo(this.#counts, place, -1)
    for (const place of now?.attached ?? []) addTo(this.#counts, place, 1)
  }

  #make(
    key: ObjectKey,
    { route, parents, record }: TranslatedRoute,
    gateways: ReadonlyMap<string, TranslatedGateway>,
    inputs: readonly unknown[],
    before: Known | undefined
  ): Known {
    const judged = parents.all.map((parent): JudgedParent => {
      const units = gateways.get(parent.gateway)?.compiled.routes.get(key)?.units ?? []
      const own = units.filter(({ name }) => parent.attachments.some(({ listener }) => listener === name))
      // What is wrong with a policy of the route is said by the policy.
      const found = own.flatMap(({ result }) => result.faults.filter(({ place }) => place.key === key))
      return { parent, faults: [...record.faults.filter(({ place }) => place.key === key), ...found] }
    })
    const attached = judged.flatMap((one) =>
      isAttached(one, route)
        ? one.parent.attachments.map(({ listener }) => ({ gateway: one.parent.gateway, listener }))
        : []
    )
    return {
      inputs,
      parents,
      status: share(before?.status, routeStatus(route, judged, this.#controllerName)),
      attached
    }
  }
}

function countsOf(all: Iterable<Known>): Counts {
  const counts: Counts = new Map()
  for (const { attached } of all) for (const place of attached) addTo(counts, place, 1)
  return counts
}

function addTo(counts: Counts, { gateway, listener }: Known['attached'][number], count: number): void {
  const own = counts.get(gateway) ?? new Map<string, number>()
  counts.set(gateway, own)
  own.set(listener, (own.get(listener) ?? 0) + count)
}
