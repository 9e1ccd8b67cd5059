/** Applies what data planes run as, one Gateway at a time, and again when it may have been changed by others. */
import { isDeepStrictEqual } from 'node:util'
import type { Time } from '#engine/contract/time.ts'
import { Backoff } from '#engine/kubernetes/client/backoff.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { pause } from '#engine/kubernetes/client/pause.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { ObjectName, Provisioned } from '#engine/kubernetes/provisioning/index.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import { provisionedKind } from './provisioned-kinds.ts'

export interface ProvisionerOptions {
  readonly client: Pick<KubernetesClient, 'apply' | 'get' | 'delete'>
  readonly time: Time
  readonly log: (level: 'debug' | 'info' | 'warn', message: string) => void
}

/** Most of the kinds are not watched: what others have changed of them is put right after so long at most. */
const APPLY_AGAIN_MS = 600_000

interface Row {
  readonly name: string
  gateway: KubernetesObject
  wanted: Provisioned
  /** What was applied last. */
  applied: Provisioned | null
  isDirty: boolean
  isRunning: boolean
  trouble: string
  callOff: (() => void) | null
}

export class Provisioner {
  readonly #options: ProvisionerOptions
  readonly #rows = new Map<string, Row>()
  readonly #stopped = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #isLeader = false

  constructor(options: ProvisionerOptions) {
    this.#options = options
  }

  lead(isLeader: boolean): void {
    this.#isLeader = isLeader
    for (const row of this.#rows.values()) this.#touch(row)
  }

  /** `name`: "namespace/name". Nothing is applied when `wanted` is as before, or has faults. */
  want(name: string, gateway: KubernetesObject, wanted: Provisioned): void {
    const row = this.#rows.get(name)
    if (row === undefined) {
      const fresh = {
        name,
        gateway,
        wanted,
        applied: null,
        isDirty: false,
        isRunning: false,
        trouble: '',
        callOff: null
      }
      this.#rows.set(name, fresh)
      this.#touch(fresh)
      return
    }
    row.gateway = gateway
    if (row.wanted === wanted || isDeepStrictEqual(row.wanted, wanted)) return
    row.wanted = wanted
    this.#touch(row)
  }

  /** Something that was applied has changed. */
  again(name: string): void {
    const row = this.#rows.get(name)
    if (row !== undefined) this.#touch(row)
  }

  /** The Gateway is no more, or belongs to another controller: then what was applied for it goes. */
  forget(name: string, isThere: boolean): void {
    const row = this.#rows.get(name)
    if (row === undefined) return
    this.#rows.delete(name)
    row.callOff?.()
    if (!isThere || !this.#isLeader || row.applied === null) return
    this.#track(this.#remove(row, row.applied.objects).catch((error: Error) => this.#tell(row, error)))
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    for (const row of this.#rows.values()) row.callOff?.()
    await Promise.all(this.#running)
  }

  #touch(row: Row): void {
    row.isDirty = true
    if (!this.#isLeader || row.isRunning || this.#stopped.signal.aborted) return
    row.isRunning = true
    this.#track(this.#run(row))
  }

  #track(work: Promise<void>): void {
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }

  async #run(row: Row): Promise<void> {
    const { time } = this.#options
    const { signal } = this.#stopped
    const backoff = new Backoff(time)
    row.callOff?.()
    while (row.isDirty && this.#isLeader && this.#rows.get(row.name) === row && !signal.aborted) {
      row.isDirty = false
      try {
        await this.#apply(row)
      } catch (error) {
        row.isDirty = true
        this.#tell(row, error as Error)
        await pause(time, backoff.pauseMs(), signal)
      }
    }
    row.isRunning = false
    row.callOff = time.after(APPLY_AGAIN_MS, () => this.#touch(row))
  }

  async #apply(row: Row): Promise<void> {
    const { client, log } = this.#options
    const { wanted } = row
    if (wanted.faults.length > 0) return
    for (const object of wanted.objects) {
      await client.apply(provisionedKind(object), object, { fieldManager: CONTROLLER_NAME })
    }
    await this.#remove(row, wanted.absent)
    if (row.applied !== wanted) log('info', `Gateway ${row.name}: ${wanted.objects.length} objects applied`)
    row.applied = wanted
    row.trouble = ''
  }

  /** Those that this Gateway owns: another owner may have objects of these names. */
  async #remove({ gateway }: Row, names: readonly ObjectName[]): Promise<void> {
    const { client } = this.#options
    for (const name of names) {
      const { metadata } = name
      const kind = provisionedKind(name)
      const found = await client.get(kind, metadata.namespace ?? '', metadata.name)
      if (found !== null && isOwned(found, gateway)) await client.delete(kind, metadata.namespace ?? '', metadata.name)
    }
  }

  #tell(row: Row, error: Error): void {
    if (row.trouble === error.message) return
    row.trouble = error.message
    this.#options.log('warn', `Gateway ${row.name}: its data planes could not be provisioned: ${error.message}`)
  }
}

interface OwnedMeta {
  readonly ownerReferences?: readonly { readonly uid?: string }[]
}

const isOwned = ({ metadata }: KubernetesObject, gateway: KubernetesObject): boolean =>
  ((metadata as OwnedMeta).ownerReferences ?? []).some(({ uid }) => uid === gateway.metadata.uid)
