/** POST /explain: requests under the configuration in force, one after the other, since this thread has other work. */
import type { AdminOptions } from '#engine/admin/admin.ts'
import type { HostLists } from '#engine/contract/endpoint.ts'
import type { ExplainParts } from '#engine/explain/explain.ts'
import type { Explanation } from '#engine/explain/explanation.ts'
import { RequestError, type RequestInput } from '#engine/explain/request.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { ConfigStatus } from './in-force.ts'

/** Says what would become of a request; `buckets` null: all are full. Rejects with a RequestError. */
export type ExplainRequest = (
  snapshot: Snapshot,
  input: RequestInput,
  state: Pick<ExplainParts, 'places' | 'buckets' | 'hosts' | keyof KeysInForce>
) => Promise<Explanation>

/** Of keys: those that the API has made, and what is used of budgets. */
export type KeysInForce = Pick<ExplainParts, 'madeKeys' | 'budgets' | 'hasServer'>

export class Explanations {
  readonly #explain: ExplainRequest
  readonly #status: () => Pick<ConfigStatus, 'snapshot' | 'places'>
  readonly #buckets: ExplainParts['buckets']
  readonly #hosts: () => HostLists
  readonly #keys: () => KeysInForce
  #last: Promise<unknown> = Promise.resolve()

  constructor(
    explain: ExplainRequest,
    status: () => Pick<ConfigStatus, 'snapshot' | 'places'>,
    buckets: ExplainParts['buckets'],
    hosts: () => HostLists,
    keys: () => KeysInForce
  ) {
    this.#explain = explain
    this.#status = status
    this.#buckets = buckets
    this.#hosts = hosts
    this.#keys = keys
  }

  readonly answer: NonNullable<AdminOptions['explain']> = (input) => {
    const { snapshot, places } = this.#status()
    if (snapshot === null) return Promise.resolve({ error: 'no configuration is in force yet' })
    const answer = this.#last.then(() => {
      const state = { places, buckets: this.#buckets, hosts: this.#hosts(), ...this.#keys() }
      return this.#explain(snapshot, input, state)
    })
    const over = () => null
    this.#last = answer.then(over, over)
    return answer.then(
      (found) => ({ found }),
      (error: unknown) => {
        if (error instanceof RequestError) return { error: error.message }
        throw error
      }
    )
  }
}
