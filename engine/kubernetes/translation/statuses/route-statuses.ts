/** Statuses of all routes, each made when something changes that it says, and counts of them by listeners. */

import { share } from '#engine/ir/share.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { isSame } from '#engine/kubernetes/translation/compile/route-units.ts'
import type { Parents, TranslatedGateway, TranslatedRoute } from '#engine/kubernetes/translation/translated.ts'
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
type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>

export class RouteStatuses {
  readonly #controllerName: string
  #known: ReadonlyMap<ObjectKey, Known> = new Map()

  constructor(controllerName: string) {
    this.#controllerName = controllerName
  }

  /** `hasMoved`: a route came, went, or has other parents. */
  update(gateways: readonly TranslatedGateway[], routes: ReadonlyMap<ObjectKey, TranslatedRoute>) {
    const byName = new Map(gateways.map((one) => [one.name, one]))
    const next = new Map<ObjectKey, Known>()
    let hasMoved = this.#known.size !== routes.size
    for (const [key, translated] of routes) {
      const { route, parents, record } = translated
      const compiled = Object.keys(parents.attachments).map((name) => byName.get(name)?.compiled.routes.get(key))
      const inputs = [route.metadata.generation, route.spec, parents, record, ...compiled]
      const before = this.#known.get(key)
      if (before?.parents !== parents) hasMoved = true
      next.set(
        key,
        before !== undefined && isSame(before.inputs, inputs)
          ? before
          : this.#make(key, translated, byName, inputs, before)
      )
    }
    this.#known = next
    const statuses = new Map([...next].map(([key, { status }]) => [key, status]))
    return { statuses, counts: countsOf(next.values()), hasMoved }
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
  const counts = new Map<string, Map<string, number>>()
  for (const { attached } of all) {
    for (const { gateway, listener } of attached) {
      const own = counts.get(gateway) ?? new Map<string, number>()
      counts.set(gateway, own)
      own.set(listener, (own.get(listener) ?? 0) + 1)
    }
  }
  return counts
}
