/**
 * The remote key sets of one thread: one fetcher per URL and what is taken of it, however many policies and
 * configurations use it.
 */
import { type KeyServices, RemoteKeys } from './remote-keys.ts'
import { MIN_RSA_EXPONENT } from './weak-keys.ts'

export class KeySources {
  readonly #remote = new Map<string, RemoteKeys>()
  readonly #services: KeyServices

  constructor(services: KeyServices) {
    this.#services = services
  }

  /** Gone when the last configuration that uses it is; before the first one it costs nothing. */
  remote(url: string, exponentMin = MIN_RSA_EXPONENT): RemoteKeys {
    const id = `${exponentMin} ${url}`
    let keys = this.#remote.get(id)
    if (keys === undefined) {
      keys = new RemoteKeys({ url, exponentMin }, this.#services, () => this.#remote.delete(id))
      this.#remote.set(id, keys)
    }
    return keys
  }

  get size(): number {
    return this.#remote.size
  }
}
