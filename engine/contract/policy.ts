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
   * requestHeaderModifier -> headerModifiers.request, and `schema` is then that part's. Without `wrap` the
   * value is the policy itself, in another spelling when `schema` is given.
   */
  readonly aliases: readonly { readonly name: string; readonly wrap?: string; readonly schema?: ZodType }[]
  /**
   * Whether compile reads context.matches. Then it is called once per distinct configuration and
   * route, otherwise one compiled form serves every route with the same configuration.
   */
  readonly usesMatches?: true
  /** Build time. `config` has passed `schema`. Throws an Error when it does not fit the context. */
  readonly compile: (config: never, context: CompileContext) => Compiled
}
