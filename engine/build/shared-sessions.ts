/**
 * One key of sessions for all processes that serve the same clients: each opens the sessions of the others, and those
 * of the one before it. A backend with a key of its own keeps it.
 */
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Backend, Snapshot } from '#engine/ir/snapshot.ts'

export class SharedSessions {
  readonly #kinds: ReadonlyMap<string, BackendKind>
  readonly #key: string
  /** What was made of drafts, their lists of backends, and backends: what has not changed stays the same object. */
  readonly #drafts = new WeakMap<object, unknown>()
  readonly #lists = new WeakMap<Snapshot['backends'], Snapshot['backends']>()
  readonly #backends = new WeakMap<Backend, Backend>()

  /** `key`: at least 16 characters, secret. */
  constructor(kinds: readonly BackendKind[], key: string) {
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]))
    this.#key = key
  }

  /** The draft itself where no backend needs the key. */
  of<D extends Pick<Snapshot, 'backends'>>(draft: D): D {
    const known = this.#drafts.get(draft) as D | undefined
    if (known !== undefined) return known
    const backends = this.#list(draft.backends)
    const made = backends === draft.backends ? draft : { ...draft, backends }
    this.#drafts.set(draft, made)
    return made
  }

  #list(backends: Snapshot['backends']): Snapshot['backends'] {
    const known = this.#lists.get(backends)
    if (known !== undefined) return known
    const entries = Object.entries(backends).map(([name, one]): [string, Backend] => [name, this.#backend(one)])
    const isSame = entries.every(([name, backend]) => backends[name] === backend)
    const made = isSame ? backends : Object.fromEntries(entries)
    this.#lists.set(backends, made)
    return made
  }

  #backend(backend: Backend): Backend {
    const withKey = this.#kinds.get(backend.kind)?.withSessionKey
    if (withKey === undefined) return backend
    const made = this.#backends.get(backend) ?? (withKey(backend as never, this.#key) as Backend)
    this.#backends.set(backend, made)
    return made
  }
}
