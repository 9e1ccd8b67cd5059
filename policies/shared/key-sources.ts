/** The remote key sets of one thread: one fetcher per URL, however many policies and configurations use it. */
import { fetchKeys } from './fetch-keys.ts'
import { type KeyWorld, RemoteKeys } from './remote-keys.ts'

export class KeySources {
  readonly #remote = new Map<string, RemoteKeys>()
  readonly #world: KeyWorld

  constructor(world: KeyWorld) {
    this.#world = world
  }

  /** Gone when the last configuration that uses it is; before the first one it costs nothing. */
  remote(url: string): RemoteKeys {
    let keys = this.#remote.get(url)
    if (keys === undefined) {
      keys = new RemoteKeys(url, this.#world, () => this.#remote.delete(url))
      this.#remote.set(url, keys)
    }
    return keys
  }

  get size(): number {
    return this.#remote.size
  }
}

/** The real world; timers do not keep the process alive. */
export function keyWorld(log: KeyWorld['log']): KeyWorld {
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
