/** Models of providers as the Snapshot has them. */

import type { ChatRouteType } from '#backends/llm/conversation.ts'
import type { DialectName } from '#backends/llm/providers/compatible.ts'
import type { Dialect } from '#backends/llm/providers/dialect/dialect.ts'
import type { OperationType } from '#backends/llm/routes/answer-spec.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { PriceRow } from '#engine/contract/price-list.ts'
import type { NamedService, ServiceRef } from '#engine/contract/service.ts'
import type { PolicySet, ValueMatch } from '#engine/ir/snapshot.ts'
import type { BudgetLimits } from '#engine/kit/retry-budget.ts'
import type { RuleSet } from '#engine/kit/scan/rules.ts'
import type { Secret } from '#engine/kit/secret.ts'
import type { RedisServer } from '#engine/redis/connect.ts'

/** Models of LLM providers (docs/specification.md#llm-backends). */
export interface AiBackend {
  readonly kind: 'ai'
  /** In order of priority; the providers of one group are equal. Names are unique over all groups. */
  readonly groups: readonly (readonly AiProvider[])[]
  /** What is spoken on paths that end with `suffix` ('*': all others), longest first. */
  readonly routes: readonly { readonly suffix: string; readonly type: AiRouteType }[]
  /** The client's name of a model, or a pattern with one star -> the provider's. */
  readonly modelAliases: Readonly<Record<string, string>>
  /** What happens to fields that the provider's format cannot say; `tolerant` refuses what changes the meaning. */
  readonly unsupported: 'tolerant' | 'refuse' | 'drop'
  /** Of streams: when clients get a comment, and when a provider is given up; milliseconds, 0: never. */
  readonly silence: { readonly keepaliveMs: number; readonly stallMs: number }
  /** How often a stream that breaks is gone on with by another provider; absent: never. */
  readonly continuations?: number | undefined
  /** Of a backend that is made to go on with streams: its requests end with the beginning of the answer. */
  readonly goesOn?: true
  readonly promptGuard: AiGuards
  /** Which of the equal providers of a group is asked; absent: the better of two by latency and load. */
  readonly ranking?: AiRanking | undefined
  /** Providers for one kind of error each, in their order; each kind at most once. */
  readonly fallbacks?: readonly AiFallback[] | undefined
  /** How far failover goes; absent: the defaults (config/failover.ts). */
  readonly failover?: AiFailover | undefined
  /** Copies of its calls; absent: none. */
  readonly shadow?: AiShadow | undefined
  /** Rows that go ahead of all others for its providers. */
  readonly prices: readonly PriceRow[]
  /** Answers are kept for equal requests; absent: none is. */
  readonly cache?: AiCache | undefined
  readonly stored: AiStored
  readonly policies: PolicySet
  /** One of several that a name stands for; absent: it is the only one. */
  readonly branch?: AiBranch | undefined
}

/** Words of `routing` that draw a backend of a model, ahead of the choice among its providers. */
export type SplitStrategy = 'weighted' | 'conditional' | 'canary'

/** When the name of a model leads to this backend. */
export interface AiBranch {
  readonly name: string
  readonly strategy: SplitStrategy
  /** CEL: when it is true; undefined: by weight. */
  readonly when: string | undefined
  /** CEL: requests with one key go the same way; undefined: each is drawn. */
  readonly key: string | undefined
  /** Of the requests for which no condition is true. */
  readonly percent: number
}

/** Copies of calls go to a provider whose answers are measured and thrown away. */
export interface AiShadow {
  /** Of the calls, 0..1. */
  readonly share: number
  readonly provider: AiProvider
}

/** What providers keep for clients (docs/llm-objects.md). */
export interface AiStored {
  /** Ids are marked with it; null: with what is made of the provider's credential. */
  readonly key: Secret | null
  readonly scope: 'key' | 'team' | 'all'
  /** All providers of a port: an id of any of them may be shown to each of its models. Absent: those of the backend. */
  readonly among?: readonly AiProvider[]
  /** Models that no provider's aliases name are not served. */
  readonly isClosed?: true
}

export interface AiFailover {
  /** Further attempts, of a route in a worker. */
  readonly budget: BudgetLimits
  readonly cooldown: Cooldown
}

/** When a provider that fails is left alone, and how long. */
export interface Cooldown {
  /** In a row. */
  readonly failures: number
  readonly firstMs: number
  readonly maxMs: number
  /** As long at most when the provider asks for it. */
  readonly retryAfterMaxMs: number
}

/** docs/routing.md. */
export interface AiCache {
  readonly ttlMs: number
  readonly scope: 'key' | 'team' | 'all'
  /** CEL; null: the whole body. */
  readonly key: string | null
  /** Per worker, and of one answer. */
  readonly bytesMax: number
  readonly entryBytesMax: number
  readonly keepsToolCalls: boolean
  /** Of answers that replicas share; null: each worker keeps its own. */
  readonly server: RedisServer | null
  /** Answers to like questions; null: there are none. */
  readonly semantic: AiSemantic | null
}

/** docs/routing.md#like-questions. */
export interface AiSemantic {
  /** Who makes the vectors. */
  readonly embeddings: AiProvider
  readonly key: Secret
  /** Cosine, 0..1. */
  readonly threshold: number
  readonly timeoutMs: number
  readonly ttlMs: number
  readonly store: AiVectorStore
}

/** A vector service. */
export interface AiVectorStore {
  readonly kind: 'qdrant'
  readonly server: ServiceRef
  /** Of its API; '': it begins at the root. */
  readonly pathPrefix: string
  readonly collection: string
  readonly apiKey: Secret | null
}

export type AiRanking =
  | { readonly kind: 'cost' | 'leastBusy' }
  /** `explore`: share of the requests, 0..1, for which all are equal. */
  | { readonly kind: 'latency'; readonly explore: number }
  /** `key`: CEL; null: the first `prefixChars` characters of the prompt. */
  | { readonly kind: 'consistentHash'; readonly key: string | null; readonly prefixChars: number }

/** What has gone wrong at a provider, as far as it decides whom to ask then. */
export const ERROR_CLASSES = [
  ...(['rate_limit', 'overloaded', 'server_error', 'timeout'] as const),
  ...(['context_window', 'content_policy', 'auth'] as const)
] as const

export type ErrorClass = (typeof ERROR_CLASSES)[number]

export interface AiFallback {
  readonly on: readonly ErrorClass[]
  readonly providers: readonly AiProvider[]
}

/** docs/specification.md#prompt-guards: in the order in which they act. */
export interface AiGuards {
  readonly request: readonly AiGuard[]
  readonly response: readonly AiGuard[]
}

export type AiGuard = AiRegexGuard | AiWebhookGuard | AiModerationGuard | AiCloudGuard

/** What a client gets when a guard rejects. */
export interface AiRejection {
  readonly status: number
  readonly message: string
}

export interface AiRegexGuard {
  readonly kind: 'regex'
  readonly rules: RuleSet
  readonly action: 'mask' | 'reject'
  readonly reply: AiRejection
}

export interface AiWebhookGuard {
  readonly kind: 'webhook'
  /** Scheme, host and port; or a backend of the file. `at` begins in the guard. */
  readonly server: string | NamedService
  /** Header fields of the client that are sent along: name in lower case; values that match. */
  readonly forward: readonly { readonly name: string; readonly value: ValueMatch }[]
  readonly failOpen: boolean
  readonly timeoutMs: number
  readonly reply: AiRejection
}

export interface AiModerationGuard {
  readonly kind: 'moderation'
  /** A backend of the file, or one that is written there. `at` begins in the guard. */
  readonly server: ServiceRef
  readonly path: string
  readonly model: string
  readonly failOpen: boolean
  readonly timeoutMs: number
  readonly reply: AiRejection
}

/** A guard of a cloud. */
export interface AiCloudGuard {
  readonly kind: 'cloud'
  readonly asks: CloudGuardSpec
  /** A backend of the file, or the cloud's own. `at` begins in the guard. */
  readonly server: ServiceRef
  readonly failOpen: boolean
  readonly timeoutMs: number
  readonly reply: AiRejection
}

export type CloudGuardSpec =
  /** Of the guardrail's version. */
  | { readonly cloud: 'guardrail'; readonly path: string }
  | {
      readonly cloud: 'contentSafety'
      /** From which severity one is rejected, and more fields of the question; null: not asked. */
      readonly analyze: { readonly severity: number; readonly fields: object } | null
      readonly shields: boolean
    }
  /** Of the template. */
  | { readonly cloud: 'modelArmor'; readonly path: string }

/** Models by the names that clients use: the one that a request names decides which of the backends it gets. */
export interface ModelsBackend {
  readonly kind: 'models'
  readonly models: readonly {
    /** Exact, or a pattern with one star at its beginning or end. */
    readonly name: string
    /** Clients may name it, and see it in lists. */
    readonly isPublic: boolean
    readonly backend: AiBackend
  }[]
  /** Names that stand for one of several models: the first one whose condition holds, else by weight. */
  readonly splits: readonly {
    readonly name: string
    readonly strategy: SplitStrategy
    /** CEL: requests with one key go to the same target; absent: each is drawn. */
    readonly key?: string | undefined
    readonly targets: readonly {
      readonly weight: number
      /** CEL; absent: by weight, behind all those that have one. */
      readonly when?: string | undefined
      readonly backend: AiBackend
    }[]
  }[]
  /** The client's name -> a name of the above. */
  readonly aliases: Readonly<Record<string, string>>
  readonly routes: AiBackend['routes']
  readonly policies: PolicySet
}

/** Chat in one of the formats that clients speak, or another operation. */
export type AiRouteType = ChatRouteType | OperationType | 'Passthrough'

/** How requests are changed before they are sent (docs/specification.md#policies-for-models). */
export interface AiEdits {
  /** Fields of the body of a chat request that take the place of what the client said. */
  readonly overrides: readonly AiField[]
  /** Fields that are sent where the client said nothing. */
  readonly defaults: readonly AiField[]
  readonly prompt: AiPrompt | null
  readonly caching: AiCaching | null
}

export interface AiField {
  readonly field: string
  /** JSON. */
  readonly value: unknown
}

export interface AiPrompt {
  readonly prepend: readonly AiMessage[]
  readonly append: readonly AiMessage[]
}

export interface AiMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant'
  readonly content: string
}

export interface AiCaching {
  readonly cacheSystem: boolean
  readonly cacheMessages: boolean
  readonly cacheTools: boolean
  /** A shorter beginning is not marked. */
  readonly minTokens: number
}

export interface AiProvider {
  readonly name: string
  /** What the file calls it, where names are made for several targets of one model; absent: `name`. */
  readonly called?: string
  /** One of providers/index.ts. */
  readonly type: string
  /** Instead of the model of the request; null: the request's. */
  readonly model: string | null
  /** Null: the provider's own. */
  readonly host: string | null
  readonly port: number | null
  readonly path: string | null
  /** Formats of a custom provider, the preferred first. */
  readonly formats: readonly ('completions' | 'messages' | 'responses')[]
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
  /** Other settings of the type, such as a region of a cloud; null: none. */
  readonly cloud: AiCloud | null
  readonly auth: AiAuth
  /** Those of the backend, as far as the provider has none of its own. */
  readonly edits: AiEdits
  /** Instead of the backend's; null: those. */
  readonly modelAliases: AiBackend['modelAliases'] | null
  /** Instead of the first part of the provider's own paths ("/v1"); null: that. */
  readonly pathPrefix: string | null
  /** How its chat completions differ from OpenAI's; null: by its host. */
  readonly dialect: DialectName | null
  /** Beside that; absent: nothing. */
  readonly dialectChanges?: Partial<Dialect>
  /** Longest request that it takes; absent: any. */
  readonly contextTokens?: number | undefined
  /** Instead of the backend's; null: those. */
  readonly prices: readonly PriceRow[] | null
}

/** `kind`: the type, which knows the rest. */
export interface AiCloud {
  readonly kind: string
  readonly [field: string]: unknown
}

/** Which credentials a provider gets (docs/specification.md#backend-authentication). */
export type AiAuth =
  /** The client's own credential, unless a policy of the gateway has taken it. */
  | { readonly kind: 'client' }
  | BackendAuth
  /** Its type's own way; `credentials` is what that has made of the provider's fields. */
  | { readonly kind: 'provider'; readonly credentials: unknown }
