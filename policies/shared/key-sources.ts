/**
 * The remote key sets of one thread: one fetcher per URL and what is taken of it, however many policies and
 * configurations use it.
 */
import { fetchKeys } from './fetch-keys.ts'
import { type KeyServices, RemoteKeys } from './remote-keys.ts'
import { MIN_RSA_EXPONENT } from './weak-keys.ts'

export class KeySources {
  readonly #remote = new Map<string, RemoteKeys>()
  readonly #world: KeyServices

  constructor(world: KeyServices) {
    this.#world = world
  }

  /** Gone when the last configuration that uses it is; before the first one it costs nothing. */
  remote(url: string, exponentMin = MIN_RSA_EXPONENT): RemoteKeys {
    const id = `${exponentMin} ${url}`
    let keys = this.#remote.get(id)
    if (keys === undefined) {
      keys = new RemoteKeys({ url, exponentMin }, this.#world, () => this.#remote.delete(id))
      this.#remote.set(id, keys)
    }
    return keys
  }

  get size(): number {
    return this.#remote.size
  }
}

/** The real world; timers do not keep the process alive. */
export function keyServices(log: KeyServices['log']): KeyServices {
  return {
    fetchKeys,
    now: () => performance.now(),
    later: (ms, call) => {
      const timer = setTimeout(call, ms).unref()
      return () => clearTimeout(timer)
    },
    log
  }
}
