/** What workers and the hub of child processes (hub.ts) say to each other. Numbers are the worker's. */
import type { ChildFailure, ChildNotice, ChildRequest, ChildSpec } from '#engine/contract/children.ts'

/** From a worker. */
export type ChildOrder = { readonly kind: 'child'; readonly link: number } & (
  | { readonly op: 'attach'; readonly key: string; readonly spec: ChildSpec; readonly instance: string | null }
  | { readonly op: 'call'; readonly call: number; readonly request: ChildRequest }
  /** Nobody waits for its answer any more. */
  | { readonly op: 'giveUp'; readonly call: number }
  | { readonly op: 'send'; readonly send: number; readonly notice: ChildNotice }
  | { readonly op: 'listen'; readonly isOn: boolean }
  /** So much text of reports about `instance` has been taken. */
  | { readonly op: 'took'; readonly instance: string; readonly chars: number }
  | { readonly op: 'close' | 'release' }
)

/** To a worker. */
export type ChildReport = { readonly kind: 'child'; readonly link: number } /** `call` null: for the listener. */ & (
  | { readonly event: 'message'; readonly call: number | null; readonly text: string; readonly instance: string }
  | { readonly event: 'answered'; readonly call: number; readonly text: string; readonly instance: string }
  | { readonly event: 'failed'; readonly call: number; readonly failure: ChildFailure }
  | { readonly event: 'sent'; readonly send: number; readonly failure: ChildFailure | null }
  /** The process is gone, for those who listen. */
  | { readonly event: 'over'; readonly failure: ChildFailure }
)
