/**
 * Which one of several controllers writes: the holder of a Lease (coordination.k8s.io/v1), by the rules of client-go.
 * Clocks of holders are not compared. A candidate takes a Lease over when it has not seen it change for its duration,
 * by its own monotonic clock; a holder that cannot renew it gives up before that.
 */
import type { Time } from '#engine/contract/time.ts'
import type { KubernetesObject, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { ApiError } from './api-error.ts'
import type { KubernetesClient } from './client.ts'
import { pause } from './pause.ts'

export const LEASE: ObjectKind = {
  kind: 'Lease',
  apiVersion: 'coordination.k8s.io/v1',
  plural: 'leases',
  isNamespaced: true
}

/** Defaults of client-go's users. */
const LEASE_SECONDS = 15
const RENEW_MS_MAX = 10_000
const RETRY_MS = 2_000

export interface LeaderElectionOptions {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly name: string
  /** Of this process; no other one has it. */
  readonly identity: string
  readonly time: Time
  readonly log: (level: 'info' | 'warn', message: string) => void
  /** Begins with 'waiting'. */
  readonly onChange: (role: Role) => void
}

/** 'waiting': nobody is known to hold the Lease, as while the API server is away. 'following': another one does. */
export type Role = 'leading' | 'following' | 'waiting'

interface LeaseSpec {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
}

export class LeaderElection {
  readonly #options: LeaderElectionOptions
  readonly #stopped = new AbortController()
  /** The Lease as it was seen last, and since when it is so. */
  #lease: KubernetesObject | null = null
  #seenAt = -Infinity
  /** When the renewal began that has succeeded last. */
  #renewedAt = -Infinity
  #role: Role = 'waiting'
  #trouble = ''
  #running: Promise<void> | null = null

  constructor(options: LeaderElectionOptions) {
    this.#options = options
  }

  get role(): Role {
    return this.#role
  }

  get #isLeader(): boolean {
    return this.#role === 'leading'
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Gives the Lease back, so that another controller need not wait for its end. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
    if (!this.#isLeader) return
    this.#become('waiting')
    try {
      await this.#write({ ...specOf(this.#lease), holderIdentity: '', leaseDurationSeconds: 1, ...this.#times() })
    } catch (error) {
      this.#options.log('warn', `the Lease could not be given back: ${(error as Error).message}`)
    }
  }

  async #run(): Promise<void> {
    const { time } = this.#options
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const begun = time.now()
      const callOff = this.#isLeader ? time.after(this.#renewedAt + RENEW_MS_MAX - begun, () => this.#lost()) : null
      try {
        if (await this.#attempt()) this.#hold(begun)
        else this.#become('following')
        this.#trouble = ''
      } catch (error) {
        this.#failed(error as Error)
      }
      callOff?.()
      if (this.#isLeader && time.now() - this.#renewedAt >= RENEW_MS_MAX) this.#lost()
      await pause(time, RETRY_MS * (0.8 + 0.4 * time.random()), signal)
    }
  }

  /** True: the Lease is ours from now on. */
  async #attempt(): Promise<boolean> {
    const { client, namespace, name, identity } = this.#options
    this.#see(await client.get(LEASE, namespace, name))
    const times = this.#times()
    const mine = { holderIdentity: identity, leaseDurationSeconds: LEASE_SECONDS }
    if (this.#lease === null) {
      await this.#write({ ...mine, acquireTime: times.renewTime, ...times, leaseTransitions: 0 })
      return true
    }
    const { holderIdentity = '', leaseTransitions = 0, acquireTime = times.renewTime } = specOf(this.#lease)
    if (holderIdentity === identity) {
      await this.#write({ ...mine, acquireTime, ...times, leaseTransitions })
      return true
    }
    if (holderIdentity !== '' && !this.#isOver()) return false
    await this.#write({ ...mine, acquireTime: times.renewTime, ...times, leaseTransitions: leaseTransitions + 1 })
    return true
  }

  #isOver(): boolean {
    const { leaseDurationSeconds = LEASE_SECONDS } = specOf(this.#lease)
    return this.#options.time.now() - this.#seenAt >= leaseDurationSeconds * 1000
  }

  /** Throws an ApiError of 409 when another candidate was first. */
  async #write(spec: LeaseSpec): Promise<void> {
    const { client, namespace, name } = this.#options
    const { apiVersion, kind } = LEASE
    const lease = this.#lease
    const object = { apiVersion, kind, metadata: { ...lease?.metadata, namespace, name }, spec }
    this.#see(await (lease === null ? client.create(LEASE, object) : client.replace(LEASE, object)))
  }

  #see(lease: KubernetesObject | null): void {
    const isSame = lease !== null && lease.metadata.resourceVersion === this.#lease?.metadata.resourceVersion
    if (!isSame) this.#seenAt = this.#options.time.now()
    this.#lease = lease
  }

  #times(): { readonly renewTime: string } {
    // MicroTime of meta/v1: six digits. Candidates do not read it; people do.
    return { renewTime: new Date(this.#options.time.wallNow()).toISOString().replace('Z', '000Z') }
  }

  #hold(begun: number): void {
    this.#renewedAt = begun
    this.#become('leading')
  }

  #lost(): void {
    if (!this.#isLeader) return
    this.#options.log('warn', 'the Lease could not be renewed in time: another controller may take it')
    this.#become('waiting')
  }

  #failed(error: Error): void {
    // Another candidate was first: the next attempt reads what it has written.
    const isConflict = error instanceof ApiError && error.isConflict
    if (isConflict || error.message === this.#trouble) return
    this.#trouble = error.message
    this.#options.log('warn', `leader election: ${error.message}`)
  }

  #become(role: Role): void {
    if (role === this.#role) return
    const wasLeader = this.#isLeader
    this.#role = role
    if (this.#isLeader) this.#options.log('info', 'this controller holds the Lease: it writes')
    else if (wasLeader) this.#options.log('info', 'this controller does not hold the Lease any more: it does not write')
    this.#options.onChange(role)
  }
}

const specOf = (lease: KubernetesObject | null): LeaseSpec => (lease?.spec ?? {}) as LeaseSpec
