/**
 * Writes statuses where they are not as they should be. Two writers that disagree cost little: the more often the same
 * status of an object had to be written, the longer the next write waits.
 */
import type { Time } from '#engine/contract/time.ts'
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import {
  KINDS,
  type KindName,
  type KubernetesObject,
  keyOf,
  type ObjectKey
} from '#engine/kubernetes/objects/object.ts'
import { type Status, type StatusChanges, statusToWrite, statusWithoutUs } from './status.ts'

export interface StatusWriterOptions {
  readonly client: Pick<KubernetesClient, 'patchStatus' | 'get'>
  /** Of our entries in statuses that controllers share. */
  readonly controllerName: string
  readonly time: Time
  readonly log: (level: 'debug' | 'warn', message: string) => void
  /** After each attempt. */
  readonly onWrite?: ((isWritten: boolean) => void) | undefined
}

/** Kinds whose statuses the controller writes. */
export const STATUS_KINDS = [
  'GatewayClass',
  'Gateway',
  'ListenerSet',
  'HTTPRoute',
  'GRPCRoute',
  'TLSRoute',
  'TCPRoute',
  'BackendTLSPolicy',
  'InferencePool',
  'GatewayBackend',
  'GatewayPolicy'
] as const satisfies readonly KindName[]

const HAS_STATUS: ReadonlySet<string> = new Set(STATUS_KINDS)
/** Those of one object come one after the other. */
const CONCURRENT_WRITES_MAX = 8
/**
 * While objects change one status is written at a time: each takes the API server as long as a change, and nobody's
 * requests wait for it (docs/design/044-kubernetes-translation.md).
 */
const BUSY_MS = 250
const DELAY_FIRST_MS = 200
const DELAY_MS_MAX = 60_000
/** A status that has stood so long is no dispute. */
const SETTLED_MS = 300_000

interface Row {
  current: Status
  metadata: KubernetesObject['metadata']
  /** Undefined: nothing is said of the object. */
  desired: Status | undefined
  /** How often `desired` was written, or should have been, and when last. */
  attempts: number
  attemptedAt: number
  /** Calls the delayed write off. */
  callOff: (() => void) | null
  trouble: string
}

export class StatusWriter {
  readonly #options: StatusWriterOptions
  readonly #rows = new Map<ObjectKey, Row>()
  readonly #desired = new Map<ObjectKey, Status>()
  readonly #queue = new Set<ObjectKey>()
  readonly #writing = new Set<ObjectKey>()
  /** When something had to be said last that was not said before. */
  #desiredAt = Number.NEGATIVE_INFINITY
  #isLeader = false
  #idle: PromiseWithResolvers<void> | null = null

  constructor(options: StatusWriterOptions) {
    this.#options = options
  }

  /** What the API server has. */
  observe(object: KubernetesObject): void {
    if (!HAS_STATUS.has(object.kind)) return
    const key = keyOf(object)
    const row = this.#rows.get(key) ?? this.#newRow(key)
    row.metadata = object.metadata
    row.current = (object.status ?? {}) as Status
    this.#enqueue(key, row)
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    this.#rows.get(key)?.callOff?.()
    this.#rows.delete(key)
    this.#queue.delete(key)
  }

  keepOnly(isThere: (key: ObjectKey) => boolean): void {
    for (const key of this.#rows.keys()) if (!isThere(key)) this.forget(key)
  }

  /** Statuses as they should be. What is the same object as before is not looked at. `isWhole`: there are no others. */
  desire(changes: StatusChanges, isWhole: boolean): void {
    if (isWhole) for (const key of this.#desired.keys()) if (!changes.has(key)) this.#forgetDesired(key)
    for (const [key, status] of changes) {
      if (status === undefined) this.#forgetDesired(key)
      else if (this.#desired.get(key) !== status) {
        this.#desired.set(key, status)
        this.#desireOne(key, status)
      }
    }
  }

  #forgetDesired(key: ObjectKey): void {
    if (this.#desired.delete(key)) this.#desireOne(key, undefined)
  }

  /** Only the leader writes; a new leader looks at everything. */
  lead(isLeader: boolean): void {
    this.#isLeader = isLeader
    if (isLeader) for (const [key, row] of this.#rows) this.#enqueue(key, row)
    else this.#queue.clear()
  }

  /** Resolves when nothing is being written, and nothing waits but for its delay. */
  async idle(): Promise<void> {
    if (this.#queue.size + this.#writing.size === 0) return
    this.#idle ??= Promise.withResolvers()
    await this.#idle.promise
  }

  #newRow(key: ObjectKey): Row {
    const row: Row = {
      current: {},
      metadata: { name: '' },
      desired: this.#desired.get(key),
      attempts: 0,
      attemptedAt: 0,
      callOff: null,
      trouble: ''
    }
    this.#rows.set(key, row)
    return row
  }

  #desireOne(key: ObjectKey, status: Status | undefined): void {
    const row = this.#rows.get(key)
    if (row === undefined) return
    this.#desiredAt = this.#options.time.now()
    row.desired = status
    row.attempts = 0
    row.callOff?.()
    row.callOff = null
    this.#enqueue(key, row)
  }

  #enqueue(key: ObjectKey, row: Row): void {
    if (!this.#isLeader || row.callOff !== null) return
    const { time } = this.#options
    if (time.now() - row.attemptedAt >= SETTLED_MS) row.attempts = 0
    if (row.attempts === 0) {
      this.#queue.add(key)
      this.#pump()
      return
    }
    const ms = Math.min(DELAY_FIRST_MS * 2 ** (row.attempts - 1), DELAY_MS_MAX) * (0.5 + time.random() / 2)
    row.callOff = time.after(ms, () => {
      row.callOff = null
      if (!this.#isLeader) return
      this.#queue.add(key)
      this.#pump()
    })
  }

  #pump(): void {
    const isBusy = this.#options.time.now() - this.#desiredAt < BUSY_MS
    const writesMax = isBusy ? 1 : CONCURRENT_WRITES_MAX
    for (const key of this.#queue) {
      if (this.#writing.size >= writesMax) return
      if (this.#writing.has(key)) continue
      this.#queue.delete(key)
      this.#writing.add(key)
      void this.#write(key).finally(() => {
        this.#writing.delete(key)
        this.#pump()
      })
    }
    if (this.#queue.size + this.#writing.size > 0) return
    this.#idle?.resolve()
    this.#idle = null
  }

  async #write(key: ObjectKey): Promise<void> {
    const row = this.#rows.get(key)
    if (row === undefined) return
    const { client, time, controllerName, onWrite } = this.#options
    const kind = KINDS[key.slice(0, key.indexOf('/')) as KindName]
    const now = `${new Date(time.wallNow()).toISOString().slice(0, 19)}Z`
    const { current, desired } = row
    const status =
      desired === undefined
        ? statusWithoutUs(current, controllerName)
        : statusToWrite(current, desired, now, controllerName)
    if (status === null) return
    row.attempts++
    row.attemptedAt = time.now()
    try {
      const { metadata, status: written } = await client.patchStatus(kind, row, status)
      row.metadata = metadata
      row.current = (written ?? {}) as Status
      row.trouble = ''
      onWrite?.(true)
    } catch (error) {
      onWrite?.(false)
      await this.#failed(key, row, error as Error)
    }
  }

  async #failed(key: ObjectKey, row: Row, error: Error): Promise<void> {
    const { client, log } = this.#options
    const isKnown = error instanceof ApiError
    // It is gone, or becomes another one: its watch says so.
    if (isKnown && error.isNotFound) return
    if (isKnown && error.isConflict) {
      const [name, namespace = '', object = ''] = key.split('/')
      const fresh = await client.get(KINDS[name as KindName], namespace, object).catch(() => null)
      if (fresh === null) return
      row.metadata = fresh.metadata
      row.current = (fresh.status ?? {}) as Status
    } else if (row.trouble !== error.message) {
      row.trouble = error.message
      log('warn', `the status of ${key.replace('/', ' ')} could not be written: ${error.message}`)
    }
    this.#enqueue(key, row)
  }
}
