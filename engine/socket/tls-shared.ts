/** What the TLS wires of a thread share. */
import type { Handles } from './handles.ts'
import { READ_BYTES, type ReadMemory } from './memory.ts'
import { TEXT_WAITING_MAX } from './wire.ts'

/**
 * Bytes of one wire that may be under way or wait. Slots are few, so what is lent of them is bounded for all wires
 * together; copies are bounded here alone. 1 MB answers: 0.87 of nginx's time with these, 1.2 with 64 KB for both.
 */
export const LENT_BYTES_MAX = 512 * 1024
export const COPIED_BYTES_MAX = 64 * 1024
const GATHER_BYTES = TEXT_WAITING_MAX + READ_BYTES

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
