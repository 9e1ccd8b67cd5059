/** What the statuses of all objects should say. One that says the same as before is the same object. */

import { share } from '#engine/ir/share.ts'
import { keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { classStatus, isOfController } from '#engine/kubernetes/translation/attach/classes.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import type { PolicyOptions } from '#engine/kubernetes/translation/policies/index.ts'
import type { TranslatedGateway, TranslatedRoute } from '#engine/kubernetes/translation/translated.ts'
import { BackendTlsStatuses } from './backend-tls.ts'
import { gatewayStatus, type JudgedGateway, listenerSetStatus } from './gateways.ts'
import { judgedListener } from './listeners.ts'
import { PolicyStatuses } from './policies.ts'
import { RouteStatuses } from './route-statuses.ts'

export interface StatusInputs {
  readonly gateways: readonly TranslatedGateway[]
  /** Those with parents of this controller. */
  readonly routes: ReadonlyMap<ObjectKey, TranslatedRoute>
  readonly objects: Objects
  /** Null: all may have changed. */
  readonly changed: readonly ObjectKey[] | null
  /** What compiling has found beside that, as in backends that no route leads to. */
  readonly others: readonly Fault[]
}

export class Statuses {
  readonly #controllerName: string
  readonly #routes: RouteStatuses
  readonly #policies: PolicyStatuses
  readonly #backendTls: BackendTlsStatuses
  #kept: ReadonlyMap<ObjectKey, unknown> = new Map()

  constructor(options: PolicyOptions, controllerName: string) {
    this.#controllerName = controllerName
    this.#routes = new RouteStatuses(controllerName)
    this.#policies = new PolicyStatuses(options)
    this.#backendTls = new BackendTlsStatuses(controllerName)
  }

  update(inputs: StatusInputs): ReadonlyMap<ObjectKey, unknown> {
    const { gateways, routes, objects } = inputs
    const next = new Map<ObjectKey, unknown>()
    for (const one of objects.list('GatewayClass')) {
      if (isOfController(one, this.#controllerName)) next.set(keyOf(one), classStatus(one, objects))
    }
    const { statuses, counts, hasMoved } = this.#routes.update(gateways, routes)
    for (const gateway of gateways) {
      const judged = judgedGateway(gateway, counts.get(gateway.name))
      next.set(keyOf(gateway.state.gateway), gatewayStatus(judged))
      for (const set of gateway.state.sets) next.set(keyOf(set.set), listenerSetStatus(set, judged))
    }
    for (const [key, status] of this.#policies.update(inputs, hasMoved)) next.set(key, status)
    for (const [key, status] of this.#backendTls.update(inputs)) next.set(key, status)
    for (const [key, status] of next) next.set(key, share(this.#kept.get(key), status))
    // They are the same objects while they say the same.
    for (const [key, status] of statuses) next.set(key, status)
    this.#kept = next
    return next
  }
}

function judgedGateway(
  { state, compiled }: TranslatedGateway,
  counts: ReadonlyMap<string, number> | undefined
): JudgedGateway {
  const { above } = compiled
  const ofClass = state.parameters.flatMap(({ faults }) => faults)
  const own = above.faults.filter(({ type, reason }) => type === 'Programmed' || reason === 'InvalidParameters')
  return {
    state,
    listeners: state.listeners.map((listener) => {
      const { fullName } = listener
      return judgedListener(listener, above.listenerFaults.get(fullName) ?? [], counts?.get(fullName) ?? 0)
    }),
    faults: [...new Set([...state.faults, ...ofClass]), ...own]
  }
}
