/** Applies what data planes run as, one Gateway at a time, and again when it may have been changed by others. */
import { isDeepStrictEqual } from 'node:util'
import type { Time } from '#engine/contract/time.ts'
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import { Backoff } from '#engine/kubernetes/client/backoff.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { pause } from '#engine/kubernetes/client/pause.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import {
  conflictFault,
  isOwnedBy,
  type ObjectName,
  type Provisioned,
  type ProvisionInput,
  refusalFault
} from '#engine/kubernetes/provisioning/index.ts'
import { CONTROLLER_NAME } from '#engine/kubernetes/resources/names.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { provisionedKind } from './provisioned-kinds.ts'

export interface ProvisionerOptions {
  readonly client: Pick<KubernetesClient, 'apply' | 'get' | 'delete'>
  readonly time: Time
  /** What the API server says against what is wanted for a Gateway has changed. */
  readonly onRefusal: () => void
  readonly log: (level: 'debug' | 'info' | 'warn', message: string) => void
}

/** Most of the kinds are not watched: what others have changed of them is put right after so long at most. */
const APPLY_AGAIN_MS = 600_000

/** What is wanted for a Gateway, and what it was made of. */
export interface Wanted extends Provisioned {
  readonly input: ProvisionInput
}

interface Row {
  readonly name: string
  wanted: Wanted
  /** What was applied last. */
  applied: Wanted | null
  /** Why it cannot be applied, ever. */
  refusal: Fault | null
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
  want(name: string, wanted: Wanted): void {
    const row = this.#rows.get(name)
    if (row === undefined) {
      const state = { applied: null, refusal: null, isDirty: false, isRunning: false, trouble: '', callOff: null }
      const fresh: Row = { name, wanted, ...state }
      this.#rows.set(name, fresh)
      this.#touch(fresh)
      return
    }
    const before = row.wanted
    row.wanted = wanted
    if (before !== wanted && !isDeepStrictEqual(before.objects, wanted.objects)) this.#touch(row)
  }

  /** Why what is wanted for a Gateway cannot be applied: of its condition Accepted. */
  refusal(name: string): Fault | null {
    return this.#rows.get(name)?.refusal ?? null
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
    const { log } = this.#options
    const { wanted } = row
    if (wanted.faults.length > 0) return
    for (const object of wanted.objects) {
      const refusal = (await this.#conflict(row, object)) ?? (await this.#applyOne(wanted.input, object))
      if (refusal?.message !== row.refusal?.message) {
        row.refusal = refusal
        this.#options.onRefusal()
      }
      if (refusal !== null) return
    }
    await this.#remove(row, [...wanted.absent, ...left(row.applied, wanted)])
    const isNews = !isDeepStrictEqual(row.applied?.objects, wanted.objects)
    if (isNews) log('info', `Gateway ${row.name}: ${wanted.objects.length} objects applied`)
    row.applied = wanted
    row.trouble = ''
  }

  /** Before anything is applied for a Gateway: to apply takes an object of its name from its owner. */
  async #conflict({ applied, wanted: { input } }: Row, object: KubernetesObject): Promise<Fault | null> {
    if (applied !== null) return null
    const { name, namespace = '' } = object.metadata
    const found = await this.#options.client.get(provisionedKind(object), namespace, name)
    return found === null || isOwnedBy(found, input.gateway) ? null : conflictFault(input.gateway, object)
  }

  /** Null: it is applied. Throws an Error when it may be applied later. */
  async #applyOne(input: ProvisionInput, object: KubernetesObject): Promise<Fault | null> {
    try {
      await this.#options.client.apply(provisionedKind(object), object, { fieldManager: CONTROLLER_NAME })
      return null
    } catch (error) {
      const refusal = error instanceof ApiError ? refusalFault(input, object, error) : null
      if (refusal === null) throw error
      return refusal
    }
  }

  /** Those that this Gateway owns: another owner may have objects of these names. */
  async #remove({ wanted: { input } }: Row, names: readonly ObjectName[]): Promise<void> {
    const { client } = this.#options
    for (const name of names) {
      const { metadata } = name
      const kind = provisionedKind(name)
      const found = await client.get(kind, metadata.namespace ?? '', metadata.name)
      if (found !== null && isOwnedBy(found, input.gateway))
        await client.delete(kind, metadata.namespace ?? '', metadata.name)
    }
  }

  #tell(row: Row, error: Error): void {
    if (row.trouble === error.message) return
    row.trouble = error.message
    this.#options.log('warn', `Gateway ${row.name}: its data planes could not be provisioned: ${error.message}`)
  }
}

/** What was applied under names that are not wanted any more: the Gateway has another class. */
function left(applied: Wanted | null, { objects }: Wanted): readonly ObjectName[] {
  const isWanted = ({ kind, metadata }: ObjectName) =>
    objects.some((one) => one.kind === kind && one.metadata.name === metadata.name)
  return applied?.objects.filter((object) => !isWanted(object)) ?? []
}
