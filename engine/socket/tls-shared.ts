/** What the TLS wires of a thread share. */
import type { Handles } from './handles.ts'
import type { ReadMemory } from './memory.ts'
import { TEXT_WAITING_MAX } from './wire.ts'

/** Bytes that may be under way or wait before the owner is told to stop. */
export const CONGESTED_BYTES = 64 * 1024
const GATHER_BYTES = TEXT_WAITING_MAX + CONGESTED_BYTES

/** What all of them share, of one thread. */
export interface TlsShared {
  readonly handles: Handles
  readonly state: Int32Array
  readonly memory: ReadMemory
  /** Where text and bytes come together before they are encrypted; nothing stays in it. */
  readonly gather: Buffer
}

export function newTlsShared(handles: Handles, memory: ReadMemory): TlsShared {
  return { handles, state: handles.state, memory, gather: Buffer.allocUnsafeSlow(GATHER_BYTES) }
}
