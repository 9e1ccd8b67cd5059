/** Endpoints of all that drafts name: of Services, by their slices, and of InferencePools, by their pods. */
import type { ServiceEndpoints, ServiceIndex } from '#engine/kubernetes/endpoints/index.ts'
import type { PoolWorkloads } from './pool-workloads.ts'

export class KnownEndpoints {
  readonly #services: Pick<ServiceIndex, 'endpoints'>
  readonly #pools: Pick<PoolWorkloads, 'endpoints' | 'isKnown'>

  constructor(services: Pick<ServiceIndex, 'endpoints'>, pools: Pick<PoolWorkloads, 'endpoints' | 'isKnown'>) {
    this.#services = services
    this.#pools = pools
  }

  /** Until it is true nobody can say that there is none. */
  isKnown(names: ReadonlySet<string>): boolean {
    return this.#pools.isKnown(names)
  }

  /** By destination. A list that has not changed is the same object as before. */
  endpoints(names: ReadonlySet<string>): ServiceEndpoints {
    const services = this.#services.endpoints(names)
    const pools = this.#pools.endpoints(names)
    return Object.keys(pools).length === 0 ? services : { ...services, ...pools }
  }
}
