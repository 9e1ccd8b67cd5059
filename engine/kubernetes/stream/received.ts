/** What a data plane has of its controller: the draft that came last, and the endpoints. */
import { withAlikeRoutes } from '#engine/ir/alike.ts'
import { share } from '#engine/ir/share.ts'
import { applyDelta } from '#engine/ir/snapshot-delta.ts'
import type { ServiceEndpoint, ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { EndpointsRecord, Hello, SnapshotRecord } from './messages.ts'
import { RecordError } from './records.ts'

/** A draft as the controller has numbered it. */
export interface ReceivedDraft {
  readonly epoch: string
  readonly version: number
  /** Version of the program that made it. */
  readonly program: string
  readonly draft: SnapshotDraft
}

/** What a data plane that starts has kept of the one before. */
export interface Held extends ReceivedDraft {
  readonly endpoints: ServiceEndpoints
  readonly endpointsVersion: number
}

/** Null: gone. */
export type EndpointChanges = Readonly<Record<string, readonly ServiceEndpoint[] | null>>

export class Received {
  #draft: ReceivedDraft | null = null
  #endpoints = new Map<string, readonly ServiceEndpoint[]>()
  #endpointsEpoch = ''
  #endpointsVersion = 0
  /** Names that are gone, which the draft in force may still ask for. */
  readonly #leaving = new Set<string>()

  constructor(held: Held | null) {
    if (held === null) return
    this.#draft = held
    this.#endpoints = new Map(Object.entries(held.endpoints))
    this.#endpointsEpoch = held.epoch
    this.#endpointsVersion = held.endpointsVersion
  }

  get draft(): ReceivedDraft | null {
    return this.#draft
  }

  get hello(): Hello {
    const epoch = this.#draft?.epoch ?? ''
    const endpoints = this.#endpointsEpoch === epoch ? this.#endpointsVersion : 0
    return { kind: 'hello', epoch, snapshot: this.#draft?.version ?? 0, endpoints }
  }

  /** What is to be kept of it, with the draft that is in force. */
  held(inForce: ReceivedDraft): Held {
    const endpointsVersion = this.#endpointsEpoch === inForce.epoch ? this.#endpointsVersion : 0
    return { ...inForce, endpoints: Object.fromEntries(this.#endpoints), endpointsVersion }
  }

  /** Throws a RecordError when it is for another draft than the one that is held. */
  takeSnapshot({ epoch, version, base, program, delta }: SnapshotRecord): ReceivedDraft {
    const held = this.#draft
    if (base !== 0 && (held?.epoch !== epoch || held.version !== base)) {
      throw new RecordError(`a change of version ${base}, which is not held`)
    }
    try {
      // What comes whole shares what it has in common with the draft before: workers build only what is new.
      const alike = withAlikeRoutes(delta)
      const draft = base === 0 ? share(held?.draft, applyDelta(null, alike)) : applyDelta(held!.draft, alike)
      this.#draft = { epoch, version, program, draft }
      return this.#draft
    } catch (error) {
      throw new RecordError(`a change that does not fit: ${(error as Error).message}`)
    }
  }

  /** What of it holds at once: names that are gone stay until a draft is in force that does not ask for them. */
  takeEndpoints({ epoch, version, base, changes }: EndpointsRecord): EndpointChanges {
    if (base !== 0 && (this.#endpointsEpoch !== epoch || this.#endpointsVersion !== base)) {
      throw new RecordError(`changes of endpoints since ${base}, which are not held`)
    }
    this.#endpointsEpoch = epoch
    this.#endpointsVersion = version
    if (base === 0) {
      for (const name of this.#endpoints.keys()) if (!Object.hasOwn(changes, name)) this.#leaving.add(name)
      this.#endpoints.clear()
    }
    const now: Record<string, readonly ServiceEndpoint[]> = {}
    for (const [name, list] of Object.entries(changes)) {
      if (list === null) {
        this.#endpoints.delete(name)
        this.#leaving.add(name)
      } else {
        this.#endpoints.set(name, list)
        this.#leaving.delete(name)
        now[name] = list
      }
    }
    return now
  }

  /** The newest draft is in force: names that are gone may go. */
  takeLeaving(): EndpointChanges {
    const gone = Object.fromEntries([...this.#leaving].map((name): [string, null] => [name, null]))
    this.#leaving.clear()
    return gone
  }
}
