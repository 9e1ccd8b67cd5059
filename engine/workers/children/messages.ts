/** What workers and the hub of child processes (hub.ts) say to each other. Numbers are the worker's. */
import type { ChildFailure, ChildNotice, ChildRequest, ChildSpec } from '#engine/contract/children.ts'

/** What the hub has run. `isWire`: it stands for a process, in the worker of the link (ChildSpec.start). */
export type SentSpec = Omit<ChildSpec, 'start'> & { readonly isWire: boolean }

/** To the worker that has a wire. */
export type WireCommand =
  | { readonly op: 'open' }
  | {
      readonly op: 'write'
      readonly write: number
      readonly line: string
      readonly isFirst: boolean
      readonly extra: unknown
    }
  | { readonly op: 'pause' | 'resume' | 'end' | 'kill' }

/** From it. */
export type WireEvent =
  | { readonly event: 'line'; readonly text: string }
  | { readonly event: 'log'; readonly text: string }
  | { readonly event: 'tooLong' }
  | { readonly event: 'taken'; readonly write: number; readonly failure: ChildFailure | null }
  | { readonly event: 'ended'; readonly why: string }

/** From a worker. */
export type ChildCommand = { readonly kind: 'child'; readonly link: number } & (
  | {
      readonly op: 'attach'
      readonly key: string
      readonly spec: SentSpec
      readonly instance: string | null
      readonly party: string
    }
  | { readonly op: 'call'; readonly call: number; readonly request: ChildRequest }
  /** Its answer is no longer awaited. */
  | { readonly op: 'giveUp'; readonly call: number }
  | { readonly op: 'send'; readonly send: number; readonly notice: ChildNotice }
  | { readonly op: 'listen'; readonly isOn: boolean }
  /** So much text of reports about `instance` has been taken. */
  | { readonly op: 'took'; readonly instance: string; readonly chars: number }
  | { readonly op: 'close' | 'release' }
  | { readonly op: 'wire'; readonly wire: number; readonly event: WireEvent }
)

/** To a worker. */
export type ChildEvent = { readonly kind: 'child'; readonly link: number } /** `call` null: for the listener. */ & (
  | { readonly event: 'message'; readonly call: number | null; readonly text: string; readonly instance: string }
  | { readonly event: 'answered'; readonly call: number; readonly text: string; readonly instance: string }
  | { readonly event: 'failed'; readonly call: number; readonly failure: ChildFailure }
  | { readonly event: 'sent'; readonly send: number; readonly failure: ChildFailure | null }
  /** The process is gone, for those who listen. */
  | { readonly event: 'over'; readonly failure: ChildFailure }
  /** The worker has the wire, or, with `open`, is to have it. */
  | { readonly event: 'wire'; readonly wire: number; readonly order: WireCommand }
)
