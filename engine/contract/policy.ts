/**
 * The shape of a policy file: schema, then compile (build time), then hooks (request time).
 * policies/index.ts lists them in run order; sources and build get that list as an argument.
 */
import type { ZodType } from '#engine/schema/schema.ts'
import type { ResourceWord } from '#engine/schema/spelling.ts'
import type { AccessLogPlan } from './access-log.ts'
import type { Accounts, KeySpec } from './accounts.ts'
import type { Background } from './background.ts'
import type { BodyProcessing } from './body-processor.ts'
import type { Buckets } from './buckets.ts'
import type { Filter, RetryPlan, RouteSettings } from './filter.ts'
import type { MirrorPlan } from './mirror.ts'
import type { MetricsPlan } from './otlp.ts'
import type { PriceBook } from './prices.ts'
import type { CompiledMatch } from './route.ts'
import type { Secrets } from './secrets.ts'
import type { Services } from './service.ts'
import type { ExportSpend } from './spend.ts'
import type { Time } from './time.ts'
import type { TracingPlan } from './tracing.ts'

/** What a policy compiles to. */
export interface Compiled {
  readonly filter?: Filter
  readonly background?: Background
  readonly settings?: Partial<RouteSettings>
  /** Of a frontend policy: how exchanges are logged. */
  readonly accessLog?: AccessLogPlan
  /** Of a frontend policy: which exchanges are traced, and where spans go. */
  readonly tracing?: TracingPlan
  /** Of a frontend policy: where metrics go. */
  readonly metrics?: MetricsPlan
  readonly retry?: RetryPlan
  readonly mirrors?: readonly MirrorPlan[]
  /** It reads ex.servedAt or ex.respondedAt. */
  readonly readsTimes?: boolean
  /** It reads why a target of a model was drawn: llm.routing. */
  readonly readsRouting?: boolean
}

/** What the engine lends to policies: the same for every policy of a configuration. */
export type PolicyServices = Omit<CompileContext, 'matches' | 'attachment' | 'services'>

/** What a policy gets to work with when it is compiled for the routes of one configuration. */
export interface CompileContext {
  /** Matches of the route that the policy is compiled for; empty in the phase PreRouting, where there is none yet. */
  readonly matches: readonly CompiledMatch[]
  /** Names the listener or route that the policy stands on; the same after a reload. For Policy.usesAttachment. */
  readonly attachment: string
  /** Token buckets that all threads share and that survive a reload. */
  readonly buckets: Buckets
  /**
   * State of this thread that survives a reload (caches of keys, of verified tokens): made on the first
   * call with that key, the same object ever after. `key` begins with the policy's name.
   */
  readonly state: <T extends object>(key: string, make: () => T) => T
  /** Keys of clients, of the configuration and of the API. */
  readonly accounts: Accounts
  /** What calls of models cost. */
  readonly prices: PriceBook
  /** For what wants to know of each call of a model. */
  readonly exportSpend: ExportSpend
  /** For what works on bodies while they pass. */
  readonly bodies: BodyProcessing
  /** In place of the globals. What a hook waits for ends with the exchange: exchange-signal.ts. */
  readonly time: Time
  /** Servers of others that the policy asks. A policy is compiled anew when a backend that it has asked for changes. */
  readonly services: Services
  /** Runs work that is too slow for an event loop in a thread of its own. */
  readonly offload: Offload
  /** Counts an expression of `policy` that failed, or gave what cannot be used, for one exchange. */
  readonly failed: (policy: string) => void
  /** Largest body that a hook may ask for (Filter.buffers), in bytes. */
  readonly maxBufferBytes: number
  /** To the log of the process, for what no exchange can tell (keys cannot be fetched). Never anything secret. */
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
}

/** What threads of the offload pool do, by the job's name. Plain data in and out; `bytes` of a result move. */
export interface JobRows {
  readonly [name: string]: (argument: unknown) => unknown
}

/** Jobs for another thread, by name: engine/workers/jobs.ts and backends/jobs.ts have them all. */
export interface Offload {
  /**
   * Argument and result are cloned, but for a body that was changed, which is handed over. Rejects when the job throws,
   * when too many of its class are waiting, or when it takes too long. `client`: the owner of turns in its
   * class (client-key.ts); '': jobs without an owner share their turns.
   */
  run(job: string, argument: unknown, client?: string): Promise<unknown>
}

/** What a source can read for a configuration. */
export interface Files {
  /**
   * Text of a file; a relative path begins at the configuration file's folder. Throws an Error that says
   * in words why it cannot be read; a file that is read is watched.
   */
  readonly readFile: (path: string) => string
}

/** What a configuration may refer to. */
export interface Sources extends Files {
  readonly secrets: Secrets
  /** Values of a document in YAML. */
  readonly readYaml: (text: string) => unknown
}

/** What documents of APIs are read from, which are larger than keys and may stand at URLs. */
export interface Documents extends Files {
  readonly readLarge: (path: string) => string
  /** Throws an Error that says in words why there is none. */
  readonly readUrl: (url: string) => string
  /** Values of a document in YAML. */
  readonly readYaml: (text: string) => unknown
}

export interface DocumentSources extends Documents, Sources {}

/** A mistake in a field of a policy's configuration that its schema cannot see. */
export class FieldError extends Error {
  /** Keys and indices from the policy's own value on. */
  readonly path: readonly PropertyKey[]

  constructor(path: readonly PropertyKey[], message: string) {
    super(message)
    this.name = 'FieldError'
    this.path = path
  }
}

/** What a policy cannot see of its own configuration, and warns by. */
export interface WarningContext {
  /** Clients may have keys: the configuration has some, or they are made elsewhere. */
  readonly mayHaveKeys: boolean
}

export interface Policy {
  /** Canonical name: the field of the resource (camelCase). Also the file's name. */
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
   * Of a frontend policy that files may have under `config` instead, by the same name: the spelling there. Its output
   * is another input of `compile`.
   */
  readonly inConfig?: ZodType
  /**
   * Where resources have it instead of `section` of a GatewayPolicy: where other schemas have this word for it, or as a
   * filter of the Gateway API's routes.
   */
  readonly inResources?: ResourceWord | 'route filter'
  /**
   * Whether compile reads context.matches. Then it is called once per distinct configuration and
   * route, otherwise one compiled form serves every route with the same configuration.
   */
  readonly usesMatches?: true
  /** compile reads context.attachment: one configuration at two attachments is two policies, with state each. */
  readonly usesAttachment?: true
  /**
   * Load time, main thread: replaces references (files) in a validated configuration by what they refer to.
   * Throws a FieldError that says where and why that is not possible. Must give the same for the same files.
   */
  readonly resolve?: (config: never, sources: Sources) => unknown
  /**
   * A reference to a backend may have it too, for the requests that go there. `true`: its hooks decide at once and read
   * no body, and it asks no service. 'waits': they may take time, so the backend is drawn ahead of them, behind the
   * policies of the route, and every attempt goes there.
   */
  readonly atReferences?: true | 'waits'
  /** Policies of several levels add up: compile gets the list of their configurations, least precise first. */
  readonly accumulates?: true
  /** What a valid configuration allows and its author probably did not mean: shown when it is loaded. */
  readonly warnings?: (config: never, around: WarningContext) => readonly string[]
  /**
   * It is in force with no more than `{}` on the port of a shortcut that asks for keys, where a configuration has
   * any.
   */
  readonly isImpliedByKeys?: true
  /** Keys of clients in a resolved configuration, which are valid where the policy stands. */
  readonly keysOf?: (config: never) => readonly KeySpec[]
  /** It answers every request, so that nothing behind it is asked. */
  readonly answersAll?: true
  /** Prefixes that a route with this policy matches besides its own `paths` (exact ones and prefixes). */
  readonly alsoServes?: (paths: readonly string[]) => readonly string[]
  /** The variable of expressions that is there only behind this policy: whom it has found. */
  readonly identifies?: 'jwt' | 'apiKey' | 'basicAuth'
  /**
   * Of a policy that guards something: a valid configuration that lets as little pass as it can. It is in force in
   * place of one that a resource of Kubernetes asks for and that cannot be carried out.
   */
  readonly closed?: unknown
  /** Sources of the expressions in a valid configuration that are wrong without the variables they read. */
  readonly expressions?: (config: never) => readonly string[]
  /** Build time. `config` has passed `schema` and `resolve`. Throws an Error when it does not fit the context. */
  readonly compile: (config: never, context: CompileContext) => Compiled
}
