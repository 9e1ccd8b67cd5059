/** The kinds of targets. To add one: its file or folder here, its settings in config/, and a line in KINDS. */

import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext, PrepareContext } from '#engine/contract/backend.ts'
import { httpKind } from './http/target.ts'
import type { TargetKind } from './kind.ts'
import { openApiKind } from './openapi/target.ts'
import { sseKind } from './sse/target.ts'
import { stdioKind } from './stdio.ts'
import type { Target } from './target.ts'

const KINDS = [httpKind, sseKind, stdioKind, openApiKind] as const

export const TARGET_KINDS: ReadonlyMap<string, TargetKind> = new Map(
  KINDS.map((kind) => [kind.kind, kind as TargetKind])
)

/** Throws ConfigError. */
export function compileTarget(target: McpTarget, backend: McpBackend, context: BackendContext): Target {
  return TARGET_KINDS.get(target.kind)!.compile(target, backend, context)
}

/** The process of the target; undefined: it has none. */
export const childOf = (target: McpTarget) => TARGET_KINDS.get(target.kind)!.child?.(target)

/** Once on the main thread, before workers compile the target. Throws ConfigError. */
export function prepareTarget(target: McpTarget, context: PrepareContext): McpTarget {
  return TARGET_KINDS.get(target.kind)!.prepare?.(target, context) ?? target
}
