/**
 * The remote key sets of one thread: one fetcher for each place and what is taken of it, however many policies and
 * configurations use it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Background } from '#engine/contract/background.ts'
import { type KeyPlace, type KeyServices, type KeySource, RemoteKeys } from './remote-keys.ts'

export interface IdentifiedPlace extends KeyPlace {
  /** Deeply equal for equal keys. A name alone is not enough: another server may have it after a reload. */
  readonly id: readonly unknown[]
}

interface Entry {
  readonly id: IdentifiedPlace['id']
  /** A configuration that is never put in force (its port is taken) leaves nothing. */
  readonly made: WeakRef<RemoteKeys>
}

export class KeySources {
  #remote: Entry[] = []
  readonly #used = new Set<RemoteKeys>()
  readonly #services: KeyServices

  constructor(services: KeyServices) {
    this.#services = services
  }

  /** Gone when the last configuration that uses it is; before the first one it costs nothing. */
  remote(place: IdentifiedPlace, maxAgeMs: number): { readonly keys: KeySource; readonly use: Background } {
    const { id } = place
    this.#remote = this.#remote.filter(({ made }) => made.deref() !== undefined)
    const known = this.#remote.find((one) => isDeepStrictEqual(one.id, id))?.made.deref()
    const keys = known ?? this.#make(place)
    return { keys, use: keys.use(maxAgeMs, place) }
  }

  get size(): number {
    return this.#remote.length
  }

  #make(place: IdentifiedPlace): RemoteKeys {
    const keys: RemoteKeys = new RemoteKeys(place, this.#services, (isUsed) => {
      if (isUsed) this.#used.add(keys)
      else this.#forget(keys)
    })
    this.#remote.push({ id: place.id, made: new WeakRef(keys) })
    return keys
  }

  #forget(keys: RemoteKeys): void {
    this.#used.delete(keys)
    this.#remote = this.#remote.filter(({ made }) => made.deref() !== keys)
  }
}
