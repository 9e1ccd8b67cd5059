/**
 * Keeps an ObjectStore as the API server has the objects of one kind: lists them, then watches what changes. When the
 * watch ends it goes on where it was; when the API server has forgotten that version, it lists again and finds out what
 * is different. What is known stays while the API server is away.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Time } from '#engine/contract/time.ts'
import {
  type KindName,
  type KubernetesObject,
  keyOf,
  type ObjectKey,
  type ObjectKind
} from '#engine/kubernetes/objects/object.ts'
import type { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { ApiError } from './api-error.ts'
import { Backoff } from './backoff.ts'
import type { KubernetesClient, Scope } from './client.ts'
import { pause } from './pause.ts'
import type { WatchEvent } from './watch.ts'

export interface ReflectorOptions {
  readonly client: KubernetesClient
  readonly kind: ObjectKind
  readonly scope?: Scope
  /** Only this Reflector writes objects of its kind into it. */
  readonly store: ObjectStore
  /** What is kept of an object; by default all of it but managedFields. Null: nothing is. */
  readonly keep?: (object: KubernetesObject) => KubernetesObject | null
  /** What is different in the store now. */
  readonly onChange: (keys: readonly ObjectKey[]) => void
  readonly log: (level: 'debug' | 'info' | 'warn', message: string) => void
  /** No API server has answered, which all kinds find at the same time. Absent: it is logged. */
  readonly onUnreachable?: (error: Error) => void
  readonly onReached?: () => void
  readonly time: Time
}

/** API servers end watches after this or up to twice as much, as client-go has it: never all kinds at once. */
const WATCH_SECONDS_MIN = 300
/** A watch that lasted so long was a good one: the next one needs no pause. */
const GOOD_WATCH_MS = 5_000
/**
 * An API server that starts may not know its CRDs yet. A kind that is missing for so long is gone, with its objects.
 */
const MISSING_MS = 60_000

export class Reflector {
  readonly #options: ReflectorOptions
  readonly #backoff: Backoff
  readonly #stopped = new AbortController()
  readonly #firstSync = Promise.withResolvers<void>()
  /** Null: list first. */
  #version: string | null = null
  #missingSince: number | null = null
  /** What was logged last: the same trouble is told once. */
  #trouble = ''
  #running: Promise<void> | null = null

  constructor(options: ReflectorOptions) {
    this.#options = options
    this.#backoff = new Backoff(options.time)
  }

  /** The store has what the API server had at some time since the start; or the API server has no such kind. */
  get synced(): Promise<void> {
    return this.#firstSync.promise
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Nothing changes the store any more when this has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      let least: number | null = null
      try {
        if (this.#version === null) await this.#list()
        if (await this.#watch()) {
          this.#backoff.reset()
          continue
        }
      } catch (error) {
        if (signal.aborted) return
        least = error instanceof ApiError ? error.retryAfterMs : null
        this.#failed(error as Error)
      }
      await pause(this.#options.time, this.#backoff.pauseMs(least), signal)
    }
  }

  async #list(): Promise<void> {
    const { client, kind, scope } = this.#options
    const { items, resourceVersion } = await client.list(kind, scope, this.#stopped.signal)
    this.#missingSince = null
    this.#replace(items)
    this.#version = resourceVersion
    this.#firstSync.resolve()
  }

  /** True: it was a good one. */
  async #watch(): Promise<boolean> {
    const { client, kind, scope = {}, time } = this.#options
    const timeoutSeconds = Math.round(WATCH_SECONDS_MIN * (1 + time.random()))
    const begun = time.now()
    const end = await client.watch(kind, scope, {
      resourceVersion: this.#version!,
      timeoutSeconds,
      onEvent: (event) => this.#take(event),
      onOpen: () => this.#opened(),
      signal: this.#stopped.signal
    })
    if (end === 'expired') this.#version = null
    return time.now() - begun >= GOOD_WATCH_MS
  }

  #take(event: WatchEvent): void {
    const { store, kind, onChange, log } = this.#options
    if (event.type === 'UNREADABLE') {
      log('warn', `${kind.plural}: left out ${event.message}`)
      return
    }
    if (event.type === 'BOOKMARK') {
      if (event.resourceVersion !== '') this.#version = event.resourceVersion
      return
    }
    const { object } = event
    this.#version = object.metadata.resourceVersion ?? this.#version
    const key = keyOf(object)
    if (event.type === 'DELETED') {
      if (this.#known(object) === undefined) return
      store.delete(key)
    } else if (!this.#set(object)) return
    onChange([key])
  }

  /** False: nothing is different that is kept. */
  #set(object: KubernetesObject): boolean {
    const { store } = this.#options
    const known = this.#known(object)
    if (known !== undefined && known.metadata.resourceVersion === object.metadata.resourceVersion) return false
    const kept = this.#kept(object)
    if (kept !== null) store.set(kept)
    else if (known !== undefined) store.delete(keyOf(object))
    if (kept === null || known === undefined) return kept !== null || known !== undefined
    // What is different may be something that is not kept, as a status.
    return !isDeepStrictEqual(withoutVersion(known), withoutVersion(kept))
  }

  /** Null: nothing is to be kept, or the object is not what `keep` can read. */
  #kept(object: KubernetesObject): KubernetesObject | null {
    const { kind, log, keep = withoutManagedFields } = this.#options
    try {
      return keep(object)
    } catch (error) {
      const { namespace = '', name } = object.metadata
      log('warn', `${kind.plural}: left out ${namespace}/${name}: ${(error as Error).message}`)
      return null
    }
  }

  #known({ metadata: { namespace = '', name } }: KubernetesObject): KubernetesObject | undefined {
    return this.#options.store.get(this.#kindName, namespace, name)
  }

  get #kindName(): KindName {
    return this.#options.kind.kind as KindName
  }

  #replace(objects: readonly KubernetesObject[]): void {
    const { store, onChange } = this.#options
    const changed: ObjectKey[] = []
    const present = new Set<ObjectKey>()
    for (const object of objects) {
      present.add(keyOf(object))
      if (this.#set(object)) changed.push(keyOf(object))
    }
    for (const known of store.list(this.#kindName)) {
      const key = keyOf(known)
      if (present.has(key)) continue
      store.delete(key)
      changed.push(key)
    }
    if (changed.length > 0) onChange(changed)
  }

  #failed(error: Error): void {
    const { kind, time, onUnreachable } = this.#options
    if (!(error instanceof ApiError)) {
      // The watch may go on where it was.
      if (onUnreachable === undefined) this.#tell(`${kind.plural}: ${error.message}; what is known stays`)
      else onUnreachable(error)
      return
    }
    this.#version = null
    if (!error.isNotFound) {
      this.#missingSince = null
      this.#tell(`${kind.plural}: ${error.message}; what is known stays`)
      return
    }
    this.#tell(`${kind.plural}: the API server has no ${kind.kind} of ${kind.apiVersion}; the rest works without`)
    this.#missingSince ??= time.now()
    if (time.now() - this.#missingSince >= MISSING_MS) this.#replace([])
    this.#firstSync.resolve()
  }

  #tell(trouble: string): void {
    if (trouble === this.#trouble) return
    this.#trouble = trouble
    this.#options.log('warn', trouble)
  }

  #opened(): void {
    this.#options.onReached?.()
    if (this.#trouble === '') return
    this.#trouble = ''
    this.#options.log('info', `${this.#options.kind.plural}: watched again`)
  }
}

const withoutVersion = ({ metadata, ...object }: KubernetesObject) => ({
  ...object,
  metadata: { ...metadata, resourceVersion: '' }
})

function withoutManagedFields(object: KubernetesObject): KubernetesObject {
  const { managedFields: _, ...metadata } = object.metadata as KubernetesObject['metadata'] & {
    managedFields?: unknown
  }
  return { ...object, metadata }
}
