/** How to talk to a target, by its kind. */
import type { Target } from '#backends/mcp/target.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { ConfigError } from '#engine/contract/config-error.ts'
import type { McpBackend, McpTarget } from '#engine/ir/snapshot.ts'
import { HttpTarget } from './http.ts'

export function compileTarget(target: McpTarget, backend: McpBackend, context: BackendContext): Target {
  if (target.kind === 'http') return new HttpTarget(target, backend.messageBytesMax, context)
  const path = `backends.${context.name}.targets.${target.name}`
  throw new ConfigError([{ path, message: `targets of the kind ${target.kind} are not there yet` }])
}
