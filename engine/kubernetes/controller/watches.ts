/** All kinds that the controller reads, in one store; their changes come together. */
import type { Time } from '#engine/contract/time.ts'
import type { KubernetesClient, Scope } from '#engine/kubernetes/client/client.ts'
import { Reflector } from '#engine/kubernetes/client/reflector.ts'
import { KINDS, type KindName, type KubernetesObject, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { keepFor } from './kept.ts'

export interface WatchesOptions {
  readonly client: KubernetesClient
  /** The only one that is watched; absent: all. */
  readonly namespace?: string | undefined
  readonly time: Time
  readonly log: (level: 'debug' | 'info' | 'warn', message: string) => void
  /** Each object as it comes, before it is known whether anything is different. */
  readonly onObject: (object: KubernetesObject) => void
  /** What has changed since the last call; null at first: everything. */
  readonly onChange: (changed: ReadonlySet<ObjectKey> | null) => void
}

/**
 * Changes that come so soon behind others are one with those that follow: a rollout changes many slices at once. One
 * that comes by itself does not wait.
 */
const COALESCE_MS = 5

export class Watches {
  readonly store = new ObjectStore()
  readonly #options: WatchesOptions
  readonly #reflectors: readonly Reflector[]
  #changed = new Set<ObjectKey>()
  #isSynced = false
  /** In a row, of all kinds. */
  #failures = 0
  #isLost = false
  #callOff: (() => void) | null = null
  /** When `onChange` returned last. */
  #calledAt = Number.NEGATIVE_INFINITY

  constructor(options: WatchesOptions) {
    this.#options = options
    this.#reflectors = (Object.keys(KINDS) as KindName[]).map((kind) => this.#reflector(kind))
  }

  #reflector(name: KindName): Reflector {
    const { client, namespace, time, log, onObject } = this.#options
    const kind = KINDS[name]
    const keep = keepFor(name)
    const scope: Scope = namespace === undefined || !kind.isNamespaced ? {} : { namespace }
    return new Reflector({
      client,
      kind,
      scope,
      store: this.store,
      keep: (object) => {
        onObject(object)
        return keep(object)
      },
      onChange: (keys) => this.#take(keys),
      onUnreachable: (error) => this.#unreachable(error),
      onReached: () => this.#reached(),
      log,
      time
    })
  }

  /** Resolves when all kinds are known, and `onChange` has been called with them. */
  async start(): Promise<void> {
    for (const reflector of this.#reflectors) reflector.start()
    await Promise.all(this.#reflectors.map(({ synced }) => synced))
    this.#isSynced = true
    this.#changed = new Set()
    this.#options.onChange(null)
  }

  async stop(): Promise<void> {
    this.#callOff?.()
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()))
  }

  /** A watch that was cut alone is opened again at once: only a second attempt that fails is news. */
  #unreachable(error: Error): void {
    this.#failures++
    if (this.#failures <= this.#reflectors.length || this.#isLost) return
    this.#isLost = true
    this.#options.log('warn', `the API server cannot be reached: ${error.message}; what is known stays`)
  }

  #reached(): void {
    this.#failures = 0
    if (!this.#isLost) return
    this.#isLost = false
    this.#options.log('info', 'the API server answers again')
  }

  #take(keys: readonly ObjectKey[]): void {
    if (!this.#isSynced) return
    for (const key of keys) this.#changed.add(key)
    const { time, onChange } = this.#options
    const isAlone = time.now() - this.#calledAt >= COALESCE_MS
    this.#callOff ??= time.after(isAlone ? 0 : COALESCE_MS, () => {
      this.#callOff = null
      const changed = this.#changed
      this.#changed = new Set()
      onChange(changed)
      this.#calledAt = time.now()
    })
  }
}
