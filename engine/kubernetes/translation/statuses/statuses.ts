/** What the statuses of all objects should say. One that says the same as before is the same object. */

import { share } from '#engine/ir/share.ts'
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { classStatus, isOfController } from '#engine/kubernetes/translation/attach/classes.ts'
import type { Translation } from '#engine/kubernetes/translation/options.ts'
import type { PolicyOptions } from '#engine/kubernetes/translation/policies/index.ts'
import type { TranslatedGateway } from '#engine/kubernetes/translation/translated.ts'
import { BackendTlsStatuses } from './backend-tls.ts'
import { gatewayStatus, type JudgedGateway, listenerSetStatus } from './gateways.ts'
import type { StatusInputs } from './inputs.ts'
import { judgedStatus } from './judged.ts'
import { judgedListener } from './listeners.ts'
import { PolicyStatuses } from './policies.ts'
import { PoolStatuses } from './pools.ts'
import { RouteStatuses } from './route-statuses.ts'

export class Statuses {
  readonly #controllerName: string
  readonly #routes: RouteStatuses
  readonly #policies: PolicyStatuses
  readonly #backendTls: BackendTlsStatuses
  readonly #pools: PoolStatuses
  readonly #kept = new Map<ObjectKey, unknown>()
  /** Whose statuses this update has changed. */
  #changed = new Set<ObjectKey>()
  /** Of what is no route. */
  #others: ReadonlySet<ObjectKey> = new Set()

  constructor(options: PolicyOptions, controllerName: string) {
    this.#controllerName = controllerName
    this.#routes = new RouteStatuses(controllerName)
    this.#policies = new PolicyStatuses(options)
    this.#backendTls = new BackendTlsStatuses(controllerName)
    this.#pools = new PoolStatuses(controllerName)
  }

  /** `statuses`: of all, the same Map with every update. */
  update(inputs: StatusInputs): Pick<Translation, 'statuses' | 'changedStatuses'> {
    this.#changed = new Set()
    const { gateways, objects } = inputs
    const { statuses, gone, counts, hasMoved, isWhole } = this.#routes.update(inputs)
    const next = new Map<ObjectKey, unknown>()
    const say = (object: KubernetesObject, make: () => object) => next.set(keyOf(object), judgedStatus(object, make))
    for (const one of objects.list('GatewayClass')) {
      if (isOfController(one, this.#controllerName)) say(one, () => classStatus(one, objects))
    }
    for (const gateway of gateways) {
      const judged = judgedGateway(gateway, counts.get(gateway.name))
      say(gateway.state.gateway, () => gatewayStatus(judged))
      for (const set of gateway.state.sets) say(set.set, () => listenerSetStatus(set, judged))
    }
    for (const [key, status] of this.#policies.update(inputs, hasMoved)) next.set(key, status)
    for (const [key, status] of this.#backendTls.update(inputs)) next.set(key, status)
    for (const [key, status] of this.#pools.update(inputs)) next.set(key, status)
    const isGone = (key: ObjectKey) => !next.has(key) && !statuses.has(key)
    const left = isWhole ? [...this.#kept.keys()].filter(isGone) : [...gone, ...[...this.#others].filter(isGone)]
    for (const key of left) this.#delete(key)
    for (const [key, status] of next) this.#set(key, share(this.#kept.get(key), status))
    // Of routes, those that were made now.
    for (const [key, status] of statuses) this.#set(key, status)
    this.#others = new Set(next.keys())
    return { statuses: this.#kept, changedStatuses: this.#changed }
  }

  #set(key: ObjectKey, status: unknown): void {
    if (this.#kept.get(key) === status) return
    this.#kept.set(key, status)
    this.#changed.add(key)
  }

  #delete(key: ObjectKey): void {
    if (this.#kept.delete(key)) this.#changed.add(key)
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
