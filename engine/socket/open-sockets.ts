/** Chooses the socket layer of this thread. */

import { handleSockets } from './handle-sockets.ts'
import { findHandles } from './handles.ts'
import type { ReadMemory } from './memory.ts'
import { netSockets } from './net-sockets.ts'
import type { SocketLayer } from './socket-layer.ts'

/** `kind`: force one (tests run over both); without it, raw handles where this Node has them. */
export function openSockets(memory: ReadMemory, kind?: SocketLayer['kind']): SocketLayer {
  const handles = kind === 'net' ? null : findHandles()
  if (handles !== null) return handleSockets(handles, memory)
  if (kind === 'handles') throw new Error('this Node has no socket handles that weir knows')
  return netSockets(memory)
}
