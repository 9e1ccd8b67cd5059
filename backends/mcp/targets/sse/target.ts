/**
 * MCP servers of the HTTP+SSE transport (2024-11-05, replaced in 2025-03-26). The stream is the session. The first
 * worker that needs it opens it; the main thread multiplexes it for all workers, as it does for child processes
 * (engine/workers/children).
 */

import { configDigest } from '#backends/mcp/targets/config-digest.ts'
import type { TargetKind } from '#backends/mcp/targets/kind.ts'
import { LineTarget } from '#backends/mcp/targets/line-target.ts'
import { type McpHttpTarget, remoteKey } from '#backends/mcp/targets/remote.ts'
import type { Target } from '#backends/mcp/targets/target.ts'
import { callerFor } from '#backends/shared/auth/authenticated-call.ts'
import { configuredEndpoint } from '#engine/contract/backend-transport/endpoint.ts'
import type { Children, ChildSpec } from '#engine/contract/children.ts'
import { SseChannel, type SseServer } from './channel.ts'
export const sseKind: TargetKind<McpHttpTarget> = {
  kind: 'sse',
  key: remoteKey('sse', 'A server that speaks HTTP with SSE, as before 2025-03-26.'),
  traits: { keepsLink: true, sessions: 'always', era: 'stateful', isProcess: false },
  compile(target, { messageBytesMax, session }, context) {
    const { name, host, port, path, hasTls, auth } = target
    const origin = `${hasTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
    const server = {
      name,
      origin,
      path,
      ask: callerFor(auth, target, configuredEndpoint(target, context), context),
      messageBytesMax
    }
    const identity = configDigest(target)
    return sseTarget({ ...server, identity, backend: context.name, idleMs: session.idleMs }, context.children)
  }
}

export interface SseOptions extends SseServer {
  /** A digest of what the server is, and what it is shown. */
  readonly identity: string
  /** Key of the backend in the Snapshot. */
  readonly backend: string
  /** Milliseconds without a message or a listener after which the stream is closed; 0: never. */
  readonly idleMs: number
}

export function sseTarget(options: SseOptions, children: Children): Target {
  const { backend, name, origin, path, identity, messageBytesMax, idleMs } = options
  const spec: ChildSpec = {
    backend,
    target: name,
    // Tells one server from another, also over a reload.
    cmd: origin + path,
    args: [identity],
    env: {},
    cwd: null,
    lineBytesMax: messageBytesMax,
    idleMs,
    start: (events) => new SseChannel(options, events)
  }
  return new LineTarget(spec, children, sseKind.traits)
}
