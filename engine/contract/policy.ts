/**
 * The shape of a policy file: schema, then compile (build time), then hooks (request time).
 * policies/index.ts lists them in run order; sources and build get that list as an argument.
 */
import type { ZodType } from '#engine/schema/schema.ts'
import type { Compiled } from './filter.ts'
import type { CompiledMatch } from './route.ts'

export interface CompileContext {
  /** Matches of the route that the policy is compiled for. */
  readonly matches: readonly CompiledMatch[]
}

export interface Policy {
  /** Canonical name: the field of spec 2.6 (camelCase). Also the file's name. */
  readonly name: string
  readonly section: 'frontend' | 'traffic' | 'backend'
  readonly schema: ZodType
  /**
   * Names that the standalone file also accepts. `wrap` says where the alias's value goes:
   * requestHeaderModifier -> headerModifiers.request. Without `wrap` the value is the policy itself.
   */
  readonly aliases: readonly { readonly name: string; readonly wrap?: string; readonly schema?: ZodType }[]
  /** Build time: called once per distinct configuration and route. `config` has passed `schema`. */
  readonly compile: (config: never, context: CompileContext) => Compiled
}
