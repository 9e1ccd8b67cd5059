/** What statuses say against objects, for the log: each sentence once, until it changes. */

import { complaintsOf } from '#engine/kubernetes/manifests/statuses.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { placeText } from '#engine/kubernetes/translation/conditions.ts'
import type { Status } from './status.ts'

/** News of the moment: there is nothing to mend. */
const PASSING = /\((?:Pending|AddressNotAssigned)\)/

export class Complaints {
  readonly #known = new Map<ObjectKey, { readonly status: Status; readonly texts: readonly string[] }>()

  /** Sentences that are new since the last call. */
  newOf(statuses: ReadonlyMap<ObjectKey, Status>): string[] {
    const fresh: string[] = []
    for (const [key, status] of statuses) {
      const known = this.#known.get(key)
      if (known?.status === status) continue
      const texts = complaintsOf(status)
        .map(({ message, path }) => `${placeText({ key, path })}: ${message}`)
        .filter((text) => !PASSING.test(text))
      this.#known.set(key, { status, texts })
      for (const text of texts) if (known === undefined || !known.texts.includes(text)) fresh.push(text)
    }
    for (const key of this.#known.keys()) if (!statuses.has(key)) this.#known.delete(key)
    return fresh
  }
}
