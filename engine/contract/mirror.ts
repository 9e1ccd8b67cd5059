/** What the policy `requestMirror` compiles to, and what the lifecycle knows of the copies. */
import type { Exchange } from './exchange.ts'
import type { Recorder } from './route.ts'
import { Slot } from './slot.ts'

/** Where copies go. */
export interface MirrorPlan {
  /** Name of a backend of the configuration, or the backend itself as the Snapshot spells it. */
  readonly backend: string | { readonly kind: string }
  /** Share of the requests, 0..1. */
  readonly share: number
}

/** A plan as a route runs it. */
export interface RouteMirror {
  /** Name of the backend, for counting. */
  readonly backend: string
  readonly share: number
  readonly serve: (copy: Exchange) => void
  readonly recorder: MirrorRecorder
  /** Largest part of one body that may wait for the mirror. */
  readonly waitingBytesMax: number
  /** A request was not copied, because it is a copy that has come back. */
  readonly looped: () => void
  /** Copies under way in this worker. */
  readonly load: { copies: number }
}

/** Counts copies; they are no requests of clients. */
export interface MirrorRecorder extends Recorder {
  /** A copy was not even begun, because too many are under way. */
  dropped(backend: string): void
}

/** The copies of one exchange that are still being fed: they are told of its body as it comes. */
export interface Copies {
  body(chunk: Buffer, start: number, end: number): void
  end(trailers: string): void
  /** The exchange is over: a copy without its end can have none. */
  over(): void
}

export const COPIES = new Slot<Copies>()
