/** What statuses say against objects, for the log: each sentence once, until it changes. */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { objectText } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition } from '#engine/kubernetes/translation/parts.ts'
import type { Status } from './status.ts'

/** Conditions that are bad news when they are True. */
const BAD: ReadonlySet<string> = new Set(['Conflicted', 'OverlappingTLSConfig', 'PartiallyInvalid'])
/** News of the moment: nobody has done anything wrong. */
const PENDING: ReadonlySet<string> = new Set(['Pending', 'AddressNotAssigned'])

interface Entry {
  readonly conditions?: readonly Condition[]
}

export class Complaints {
  readonly #known = new Map<ObjectKey, { readonly status: Status; readonly texts: readonly string[] }>()

  /** Sentences that are new since the last call. */
  newOf(statuses: ReadonlyMap<ObjectKey, Status>): string[] {
    const fresh: string[] = []
    for (const [key, status] of statuses) {
      const known = this.#known.get(key)
      if (known?.status === status) continue
      const texts = complaintsOf(status).map((text) => `${objectText(key)}: ${text}`)
      this.#known.set(key, { status, texts })
      for (const text of texts) if (known === undefined || !known.texts.includes(text)) fresh.push(text)
    }
    for (const key of this.#known.keys()) if (!statuses.has(key)) this.#known.delete(key)
    return fresh
  }
}

function complaintsOf(status: Status): string[] {
  const { conditions = [], parents = [], ancestors = [], listeners = [] } = status as Record<string, readonly unknown[]>
  const all = [{ conditions }, ...parents, ...ancestors, ...listeners] as readonly Entry[]
  const texts = all.flatMap((entry) =>
    (entry.conditions ?? [])
      .filter((one) => one.status === (BAD.has(one.type) ? 'True' : 'False') && !PENDING.has(one.reason))
      .map(({ type, status: is, reason, message }) => `${type} is ${is}: ${reason}: ${message}`)
  )
  return [...new Set(texts)]
}
