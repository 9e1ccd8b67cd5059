/** Keys of the API at the server that replicas share: JSON of a StoredKey by its name. */

import { isStoredKey, type KeyStorage, type StoredKey } from '#engine/accounts/key-store.ts'
import { parseJson } from '#engine/kit/json.ts'
import type { ServerControl } from './control.ts'

export class ServerKeys implements KeyStorage {
  #keys: ReadonlyMap<string, StoredKey> = new Map()
  #texts: ReadonlyMap<string, string> = new Map()
  /** The server has been asked at least once: a key that is not here is none. */
  isComplete = false
  readonly #control: Pick<ServerControl, 'changeKey'>

  constructor(control: Pick<ServerControl, 'changeKey'>) {
    this.#control = control
  }

  get keys(): ReadonlyMap<string, StoredKey> {
    return this.#keys
  }

  /** What the server has now. Entries that are no keys are those of a later version. */
  take(texts: ReadonlyMap<string, string>): void {
    this.#texts = texts
    this.#keys = new Map(
      [...texts].flatMap(([name, text]) => {
        const key = parseJson(text)
        return isStoredKey(key) && key.name === name ? [[name, key] as const] : []
      })
    )
    this.isComplete = true
  }

  async set(key: StoredKey): Promise<boolean> {
    return await this.#control.changeKey(key.name, this.#texts.get(key.name) ?? null, JSON.stringify(key))
  }

  async remove(name: string): Promise<boolean> {
    return await this.#control.changeKey(name, this.#texts.get(name) ?? null, null)
  }
}
