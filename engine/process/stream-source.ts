/** The configuration is what a controller says of one Gateway; until it says something, what was in force before. */
import { createHash } from 'node:crypto'
import type { HostListChanges } from '#engine/contract/endpoint.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { withoutKeys } from '#engine/kit/sensitive.ts'
import { hostsForZone, withoutIdentities } from '#engine/kubernetes/endpoints/index.ts'
import {
  type EndpointChanges,
  type Held,
  HeldFile,
  type ReceivedDraft,
  SnapshotClient
} from '#engine/kubernetes/stream/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { Published } from '#engine/workers/supervisor.ts'
import { explainFailure } from './in-force.ts'
import type { ProxySettings } from './proxy-options.ts'
import type { SnapshotSource, SourceParts } from './snapshot-source.ts'
import { setHeapFlags } from './v8-flags.ts'

/** What has changed is on disk so soon: drafts may be large, and 50 of them come in a second. */
const KEEP_AFTER_MS = 5_000
/** Or later: to write 5,000 routes takes 0.2 s of the processor. This share of the time is for it. */
const KEEP_SHARE = 0.01

export class StreamSource implements SnapshotSource {
  readonly isRemote = true
  readonly #settings: ProxySettings
  /** What this process says itself: its own settings, and policies that stand there. */
  readonly #local: SnapshotDraft
  readonly #parts: SourceParts
  readonly #file: HeldFile | null
  readonly #first = Promise.withResolvers<Published>()
  #client: SnapshotClient | null = null
  #unkept: (() => Held) | null = null
  #beingKept: (() => Held) | null = null
  #keeping: NodeJS.Timeout | null = null
  /** How long the last one took to write. */
  #keptInMs = 0

  constructor(settings: ProxySettings, local: SnapshotDraft, parts: SourceParts) {
    this.#settings = settings
    this.#local = local
    this.#parts = parts
    const { state, gateway } = settings
    this.#file = state === null ? null : new HeldFile(state.folder, state.key, gateway)
  }

  async first(): Promise<Published> {
    const { address, ca, token, gateway, pod } = this.#settings
    // Workers learn that there are lists before they have the first Snapshot.
    this.#parts.supervisor.setHosts({})
    this.#client = new SnapshotClient({
      ...{ address, ca, token, gateway, pod },
      held: await this.#restored(),
      onSnapshot: (received) => this.#putInForce(received),
      onEndpoints: (changes) => this.#setHosts(changes),
      onHeld: (held) => this.#keepSoon(held),
      log: this.#parts.log
    })
    this.#client.start()
    return await this.#first.promise
  }

  follow(): void {}

  reload(): void {
    this.#parts.log('info', 'nothing is read again: the controller says what changes')
  }

  close(): void {
    this.#client?.close()
    if (this.#keeping !== null) clearTimeout(this.#keeping)
    const last = this.#unkept ?? this.#beingKept
    if (last === null) return
    try {
      this.#file?.write(last())
    } catch (error) {
      this.#cannotKeep(error)
    }
  }

  /** Null: nothing was kept, or it cannot be used. */
  async #restored(): Promise<Held | null> {
    const { log } = this.#parts
    try {
      const held = this.#file?.read() ?? null
      if (held === null) return null
      this.#setHosts(held.endpoints)
      await this.#putInForce(held)
      log('info', `what was in force before is in force again: ${nameOf(held)}`)
      return held
    } catch (error) {
      log('warn', `what was kept is not used: ${(error as Error).message}`)
      return null
    }
  }

  /** Throws an Error that says why it cannot be. */
  async #putInForce(received: ReceivedDraft): Promise<void> {
    const { inForce, log } = this.#parts
    const draft = this.#withLocal(received.draft)
    setHeapFlags()
    const outcome = await inForce.publish({ draft, hash: hashOf(received), expanded: [], places: null })
    if (!outcome.ok) {
      const reason = withoutKeys(explainFailure(outcome))
      inForce.refuse(`${nameOf(received)} cannot be put in force, what runs stays: ${reason}`)
      throw new Error(reason)
    }
    log('debug', `${nameOf(received)} is in force`)
    this.#first.resolve(outcome)
  }

  /** Policies of `config` are of the process; those of the Gateway win. */
  #withLocal(draft: SnapshotDraft): SnapshotDraft {
    const { gateway, backends } = this.#local
    if (Object.keys(gateway.frontend).length === 0) return draft
    return {
      ...draft,
      gateway: { ...draft.gateway, frontend: { ...gateway.frontend, ...draft.gateway.frontend } },
      backends: { ...backends, ...draft.backends }
    }
  }

  #setHosts(changes: EndpointChanges): void {
    const { zone, mesh } = this.#settings
    const known = mesh === null ? withoutIdentities(changes) : changes
    const hosts = Object.entries(known).map(([name, list]): [string, HostListChanges[string]] => [
      name,
      list === null ? null : hostsForZone(list, zone)
    ])
    if (hosts.length > 0) this.#parts.supervisor.setHosts(Object.fromEntries(hosts))
  }

  #keepSoon(held: () => Held): void {
    if (this.#file === null) return
    this.#unkept = held
    this.#keeping ??= setTimeout(() => void this.#keep(), Math.max(KEEP_AFTER_MS, this.#keptInMs / KEEP_SHARE)).unref()
  }

  async #keep(): Promise<void> {
    const begun = performance.now()
    this.#beingKept = this.#unkept
    this.#unkept = null
    try {
      if (this.#beingKept !== null) await this.#file?.writeSoon(this.#beingKept())
    } catch (error) {
      this.#cannotKeep(error)
    }
    this.#beingKept = null
    this.#keptInMs = performance.now() - begun
    this.#keeping = null
    if (this.#unkept !== null) this.#keepSoon(this.#unkept)
  }

  #cannotKeep(error: unknown): void {
    this.#parts.log('warn', `what is in force cannot be kept: ${(error as Error).message}`)
  }
}

const nameOf = ({ version }: ReceivedDraft): string => `version ${version} of the controller`

/** Of a version of one run of a controller, for people. */
function hashOf({ epoch, version }: ReceivedDraft): Snapshot['hash'] {
  return createHash('sha256').update(`${epoch} ${version}`).digest('hex').slice(0, 12)
}
