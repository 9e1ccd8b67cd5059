/** A kind of target, as targets/index.ts registers it. */

import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext, BackendKind, PrepareContext } from '#engine/contract/backend.ts'
import type { Target, TargetTraits } from './target.ts'
export interface TargetKind<T extends McpTarget = McpTarget> {
  readonly kind: string
  readonly traits: TargetTraits
  /** Throws ConfigError. */
  compile(target: T, backend: McpBackend, context: BackendContext): Target
  /** The process of the target, if it has one. */
  child?(target: T): ReturnType<NonNullable<BackendKind['children']>>[number]
  /** What workers get in place of `target`: work that is done once per configuration. Throws ConfigError. */
  prepare?(target: T, context: PrepareContext): T
}
