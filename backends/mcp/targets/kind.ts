/** A kind of target, as targets/index.ts registers it. */

import type { McpBackend, McpRules, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext, BackendKind, PrepareContext } from '#engine/contract/backend.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { DocumentSources } from '#engine/contract/policy.ts'
import type { Path, Placed } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import type { Target, TargetTraits } from './target.ts'

export interface TargetKind<T extends McpTarget = McpTarget> {
  /** As the Snapshot calls it. */
  readonly kind: string
  readonly traits: TargetTraits
  readonly key: TargetKey<T>
  /** Throws ConfigError. */
  compile(target: T, backend: McpBackend, context: BackendContext): Target
  /** The process of the target, if it has one. */
  child?(target: T): ReturnType<NonNullable<BackendKind['children']>>[number]
  /** What workers get in place of `target`: work that is done once per configuration. Throws ConfigError. */
  prepare?(target: T, context: PrepareContext): T
}

/** A key of a target in a configuration: it says the kind, and its value the rest. */
export interface TargetKey<T extends McpTarget = McpTarget> {
  readonly name: string
  /** With its description. `policies`: those of any target, for values that have policies of their own. */
  readonly schema: (policies: z.ZodType) => z.ZodOptional
  readonly hasPolicies?: true
  /** Why policies of connections (authentication, TLS, TCP) may not stand beside it. Absent: they may. */
  readonly noConnection?: string
  /** `value`: validated. Throws an Error for a file that cannot be read. */
  translate(value: never, target: TargetCommon, context: TargetContext): T
  /** What the schema cannot see. `value`: not validated. `attempt` reports what `read` throws. */
  check?(value: Placed, sources: DocumentSources, attempt: (path: Path, read: () => unknown) => void): void
  /** As `locate` of BackendConfig, with a path that begins inside the target. */
  locate?(path: Path, within: string): { readonly path: Path; readonly prefix: string } | null
}

/** What all targets have. */
export interface TargetCommon {
  readonly name: string
  readonly authorization: McpRules | null
}

export interface TargetContext {
  readonly sources: DocumentSources
  /** What policies say of connections to the target. Throws a FieldError. */
  connection(): TargetConnection
}

export interface TargetConnection {
  /** What the target is shown; null: nothing but what the client's forwarded fields say. */
  readonly auth: BackendAuth | null
  /** A policy asks for TLS, whatever the address says. */
  readonly hasTls: boolean
  /** For the Snapshot: what policies configure. */
  readonly configured: { readonly transport?: BackendTransport }
}
