/** How to talk to a target, by its kind. */

import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { Target } from '#backends/mcp/targets/target.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { endpointOptions } from '#engine/contract/backend-transport/transport.ts'
import { HttpTarget } from './http/target.ts'
import { openApiTarget } from './openapi/target.ts'
import { sseTarget } from './sse/target.ts'
import { stdioTarget } from './stdio.ts'

/** Throws ConfigError. */
export function compileTarget(target: McpTarget, backend: McpBackend, context: BackendContext): Target {
  const { messageBytesMax } = backend
  const { idleMs } = backend.session
  const { name, kind } = target
  const of = { backend: context.name, idleMs }
  switch (kind) {
    case 'http':
      return new HttpTarget(target, messageBytesMax, context)
    case 'sse': {
      const { host, port, path, hasTls, auth } = target
      const origin = `${hasTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
      const { inProcess, connectTimeoutMs, upstream, children } = context
      // The address comes from the configuration, so it needs no guard.
      const base = { guarded: false, allow: [], connectTimeoutMs }
      const settings = endpointOptions({ host, hasTls }, target.transport, base)
      const endpoint = upstream.endpoint({ host, port, unixPath: null }, settings)
      return sseTarget({ ...of, name, origin, path, auth, endpoint, inProcess, messageBytesMax }, children)
    }
    case 'stdio': {
      const { cmd, args, env, cwd } = target
      return stdioTarget({ ...of, target: name, cmd, args, env, cwd, lineBytesMax: messageBytesMax }, context.children)
    }
    case 'openapi':
      return openApiTarget(target, messageBytesMax, context)
  }
}
