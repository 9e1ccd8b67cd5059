/** The kinds of targets. To add one: its file or folder here, and a line in KINDS. */

import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext, PrepareContext } from '#engine/contract/backend.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { httpKind } from './http/target.ts'
import type { TargetKey, TargetKind } from './kind.ts'
import { openApiKind } from './openapi/target.ts'
import { sseKind } from './sse/target.ts'
import { staticKey } from './static.ts'
import { stdioKind } from './stdio.ts'
import type { Target } from './target.ts'

const KINDS: readonly TargetKind[] = [httpKind, sseKind, stdioKind, openApiKind]

/** The keys of a target in a configuration, one of which it has. */
export const TARGET_KEYS: readonly TargetKey[] = [...KINDS.map(({ key }) => key), staticKey]

export const TARGET_KINDS: ReadonlyMap<string, TargetKind> = new Map(KINDS.map((kind) => [kind.kind, kind]))

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

/** Of a target in a configuration: no server of its kind keeps sessions. */
export const neverHasSessions = (raw: Raw): boolean =>
  KINDS.some(({ traits, key }) => traits.sessions === 'never' && raw[key.name] !== undefined)
