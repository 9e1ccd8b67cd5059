/** What a dry run is made of beyond the engine. */
import type { UpstreamClient } from '#engine/contract/backend.ts'
import type { HostLists } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { InProcess } from '#engine/contract/in-process.ts'
import type { Recorder, Router } from '#engine/contract/route.ts'
import type { StreamClient } from '#engine/contract/tcp.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { Lifecycle } from '#engine/lifecycle/lifecycle.ts'
import type { Placed } from './explanation.ts'

/** What takes the place of the world. */
export interface DryEnds {
  readonly upstream: UpstreamClient & StreamClient
  readonly lifecycle: Lifecycle
  readonly recorder: Recorder
  readonly inProcess: InProcess
  /** A bucket of a limit was looked at. */
  limitSeen(text: string): void
}

export interface OtherRoute extends Placed {
  readonly name: string
  readonly why: string
}

export interface DryParts {
  /** Hosts that are known without DNS. */
  readonly hosts: HostLists
  /** Snapshot -> Runtime, nothing of which begins. */
  build(snapshot: Snapshot, ends: DryEnds): Router
  /** The routes that `ex` was not taken to, the nearest first. */
  others(ex: Exchange): readonly OtherRoute[]
}
