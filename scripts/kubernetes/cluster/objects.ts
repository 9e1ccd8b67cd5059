/** What the players of a cluster see of it: objects of several kinds, watched, and work that waits for changes. */
import { setTimeout as after } from 'node:timers/promises'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { Reflector } from '#engine/kubernetes/client/reflector.ts'
import {
  type KindName,
  type KubernetesObject,
  type ObjectKey,
  type ObjectKind,
  objectKey
} from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'

export type Listener = (key: ObjectKey) => void

export class ClusterObjects {
  readonly client: KubernetesClient
  readonly #store = new ObjectStore()
  readonly #reflectors: Reflector[] = []
  readonly #listeners = new Set<Listener>()

  constructor(client: KubernetesClient) {
    this.client = client
  }

  /** `listener`: is told of every change from now on. */
  onChange(listener: Listener): void {
    this.#listeners.add(listener)
  }

  async watch(kinds: readonly ObjectKind[]): Promise<void> {
    for (const kind of kinds) {
      const reflector = new Reflector({
        client: this.client,
        kind,
        store: this.#store,
        onChange: (keys) => {
          for (const key of keys) for (const listener of this.#listeners) listener(key)
        },
        log: (level, message) => {
          if (level === 'warn') console.error(`cluster: ${message}`)
        },
        time: SYSTEM_TIME
      })
      this.#reflectors.push(reflector)
      reflector.start()
      await reflector.synced
    }
  }

  get<T extends KubernetesObject>(kind: ObjectKind, namespace: string, name: string): T | undefined {
    return this.#store.get(kind.kind as KindName, namespace, name) as T | undefined
  }

  list<T extends KubernetesObject>(kind: ObjectKind, namespace?: string): readonly T[] {
    return this.#store.list(kind.kind as KindName, namespace) as readonly T[]
  }

  /** Resolves when the object, which was made a moment ago, is known here too. */
  seen(kind: ObjectKind, namespace: string, name: string): Promise<void> {
    const awaited = objectKey(kind.kind, namespace, name)
    if (this.get(kind, namespace, name) !== undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const listener = (key: ObjectKey) => {
        if (key !== awaited) return
        this.#listeners.delete(listener)
        resolve()
      }
      this.#listeners.add(listener)
    })
  }

  async stop(): Promise<void> {
    for (const reflector of this.#reflectors) await reflector.stop()
  }
}

const RETRY_MS = 500
/** Most wait for an object that another player, or the suite, is about to make. */
const FAILURES_BEFORE_LOG = 20

/** Does the work of one key at a time, once more when it was asked for meanwhile, and again when it failed. */
export class WorkQueue<Key extends string> {
  readonly #work: (key: Key) => Promise<void>
  /** True: once more. */
  readonly #running = new Map<Key, boolean>()
  #isStopped = false

  constructor(work: (key: Key) => Promise<void>) {
    this.#work = work
  }

  add(key: Key): void {
    const isRunning = this.#running.has(key)
    this.#running.set(key, isRunning)
    if (!isRunning) void this.#run(key)
  }

  stop(): void {
    this.#isStopped = true
  }

  async #run(key: Key): Promise<void> {
    let failures = 0
    while (!this.#isStopped) {
      this.#running.set(key, false)
      try {
        await this.#work(key)
      } catch (error) {
        if (this.#isStopped) return
        if (++failures === FAILURES_BEFORE_LOG) console.error(`cluster: ${key}: ${(error as Error).message}`)
        await after(RETRY_MS)
        continue
      }
      if (this.#running.get(key) === false) break
    }
    this.#running.delete(key)
  }
}
