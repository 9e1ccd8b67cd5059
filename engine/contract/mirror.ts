/** What the policy `requestMirror` compiles to, and what the lifecycle knows of the copies. */
import { Slot } from './slot.ts'

/** Where copies go. */
export interface MirrorPlan {
  /** Name of a backend of the configuration, or the backend itself as the Snapshot spells it. */
  readonly backend: string | { readonly kind: string }
  /** Share of the requests, 0..1. */
  readonly share: number
}

/** The copies of one exchange that are still being sent: they get its body as it comes. */
export interface Copies {
  body(chunk: Buffer, start: number, end: number): void
  end(trailers: string): void
  /** The exchange is over: a copy without its end can have none. */
  over(): void
}

export const COPIES = new Slot<Copies>()
