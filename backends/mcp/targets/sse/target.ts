/**
 * MCP servers of the HTTP+SSE transport (2024-11-05, replaced in 2025-03-26). The stream is the session. One worker has
 * it, the first that needed it, and the main thread has the conversation, where all workers reach it, as they reach
 * those with child processes (engine/workers/children).
 */

import { lineTarget } from '#backends/mcp/targets/stdio.ts'
import type { Target } from '#backends/mcp/targets/target.ts'
import type { Children, ChildSpec } from '#engine/contract/children.ts'
import { SseChannel, type SseServer } from './channel.ts'

export interface SseOptions extends SseServer {
  /** Key of the backend in the Snapshot. */
  readonly backend: string
  /** Milliseconds without a message or a listener after which the stream is closed; 0: never. */
  readonly idleMs: number
}

export function sseTarget(options: SseOptions, children: Children): Target {
  const { backend, name, origin, path, auth, messageBytesMax, idleMs } = options
  const spec: ChildSpec = {
    backend,
    target: name,
    // What tells one server from another, also over a reload.
    cmd: origin + path,
    args: [],
    env: auth === null ? {} : { [auth.header]: auth.value },
    cwd: null,
    lineBytesMax: messageBytesMax,
    idleMs,
    start: (events) => new SseChannel(options, events)
  }
  return lineTarget('sse', spec, children)
}
