/**
 * The remote key sets of one thread: one fetcher for each place and what is taken of it, however many policies and
 * configurations use it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Background } from '#engine/contract/filter.ts'
import { type KeyPlace, type KeyServices, type KeySource, RemoteKeys } from './remote-keys.ts'

export interface IdentifiedPlace extends KeyPlace {
  /** Deeply equal for equal keys. A name alone is not enough: another server may have it after a reload. */
  readonly id: readonly unknown[]
}

interface Entry {
  readonly id: IdentifiedPlace['id']
  readonly keys: RemoteKeys
}

export class KeySources {
  readonly #remote: Entry[] = []
  readonly #services: KeyServices

  constructor(services: KeyServices) {
    this.#services = services
  }

  /** Gone when the last configuration that uses it is; before the first one it costs nothing. */
  remote(place: IdentifiedPlace, maxAgeMs: number): { readonly keys: KeySource; readonly use: Background } {
    const { id } = place
    let entry = this.#remote.find((known) => isDeepStrictEqual(known.id, id))
    if (entry === undefined) {
      const made: Entry = { id, keys: new RemoteKeys(place, this.#services, () => this.#forget(made)) }
      this.#remote.push(made)
      entry = made
    }
    return { keys: entry.keys, use: entry.keys.use(maxAgeMs, place) }
  }

  get size(): number {
    return this.#remote.length
  }

  #forget(entry: Entry): void {
    const at = this.#remote.indexOf(entry)
    if (at >= 0) this.#remote.splice(at, 1)
  }
}
