/** What statuses say against objects, for the log: each sentence once, until it changes. */

import { complaintsOf } from '#engine/kubernetes/manifests/statuses.ts'
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { placeText } from '#engine/kubernetes/translation/conditions.ts'
import type { Status, StatusChanges } from './status.ts'

/** News of the moment: there is nothing to mend. */
const PASSING = /\((?:Pending|AddressNotAssigned)\)/

export class Complaints {
  readonly #known = new Map<ObjectKey, { readonly status: Status; readonly texts: readonly string[] }>()

  /** Sentences that are new since the last call. `isWhole`: there are no other statuses. */
  newOf(changes: StatusChanges, isWhole: boolean): string[] {
    const fresh: string[] = []
    if (isWhole) for (const key of this.#known.keys()) if (!changes.has(key)) this.#known.delete(key)
    for (const [key, status] of changes) {
      const known = this.#known.get(key)
      if (status === undefined) this.#known.delete(key)
      if (status === undefined || known?.status === status) continue
      const texts = complaintsOf(status)
        .map(({ message, path }) => `${placeText({ key, path })}: ${message}`)
        .filter((text) => !PASSING.test(text))
      this.#known.set(key, { status, texts })
      for (const text of texts) if (known === undefined || !known.texts.includes(text)) fresh.push(text)
    }
    return fresh
  }
}
