/** What a controller publishes for a Gateway, and what data planes make of it. */
import type { ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'

/** Name of a Gateway: "namespace/name". */
export type GatewayName = `${string}/${string}`

/** Parts that are the same objects as before are not sent again. */
export interface PublishedGateway {
  readonly draft: SnapshotDraft
  /** Of all Services that the draft may ask for. */
  readonly endpoints: ServiceEndpoints
  /** Where parts of the draft were written: path in the Snapshot, place. Absent: unknown. */
  readonly places?: readonly (readonly [path: string, place: string])[]
}

/** A data plane that is connected. */
export interface DataPlane {
  readonly gateway: GatewayName
  /** Name of its Pod, as it says itself. */
  readonly pod: string
  /** The newest draft that it has put in force, as publish() has numbered it; 0: none. */
  readonly inForce: number
  /** What it has refused, when that is newer than what is in force. */
  readonly refused: { readonly version: number; readonly reason: string } | null
}
