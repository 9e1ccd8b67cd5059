/**
 * The shape of a policy file: schema, then compile (build time), then hooks (request time).
 * policies/index.ts lists them in run order; sources and build get that list as an argument.
 */
import type { ZodType } from '#engine/schema/schema.ts'
import type { Buckets } from './buckets.ts'
import type { Compiled } from './filter.ts'
import type { CompiledMatch } from './route.ts'

/** What the engine lends to policies: the same for every policy of a configuration. */
export type Workshop = Omit<CompileContext, 'matches' | 'place'>

/** What a policy gets to work with when it is compiled for the routes of one configuration. */
export interface CompileContext {
  /** Matches of the route that the policy is compiled for. */
  readonly matches: readonly CompiledMatch[]
  /** Names the listener or route that the policy stands on; the same after a reload. For Policy.usesPlace. */
  readonly place: string
  /** Token buckets that all threads share and that survive a reload. */
  readonly buckets: Buckets
  /**
   * State of this thread that survives a reload (caches of keys, of verified tokens): made on the first
   * call with that key, the same object ever after. `key` begins with the policy's name.
   */
  readonly kept: <T extends object>(key: string, make: () => T) => T
  /** Counts an expression of `policy` that failed, or gave what cannot be used, for one exchange. */
  readonly failed: (policy: string) => void
  /** Largest body that a hook may ask for (Filter.buffers), in bytes. */
  readonly maxBufferBytes: number
}

/** What a configuration may refer to. */
export interface Sources {
  /** Text of a file; a relative path begins at the configuration file's folder. */
  readonly readFile: (path: string) => string
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
  /** Whether compile reads context.place: equal configurations in two places are two policies, with state each. */
  readonly usesPlace?: true
  /**
   * Load time, main thread: replaces references (files) in a validated configuration by what they refer to.
   * Throws an Error that says what cannot be read. Files that were read are watched.
   */
  readonly resolve?: (config: never, sources: Sources) => unknown
  /** Policies of several levels add up: compile gets the list of their configurations, least precise first. */
  readonly accumulates?: true
  /** Build time. `config` has passed `schema` and `resolve`. Throws an Error when it does not fit the context. */
  readonly compile: (config: never, context: CompileContext) => Compiled
}
