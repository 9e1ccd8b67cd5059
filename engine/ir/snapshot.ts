/**
 * The internal representation: what both sources (file, Kubernetes) translate to and what every
 * worker builds its Runtime from. Plain data, structured-clone safe, no references left to resolve.
 */

import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { RequestRules } from '#engine/http/request-rules.ts'
import type { RuleSet } from '#engine/kit/scan/rules.ts'
import type { Secret } from '#engine/kit/secret.ts'
import type { BackendHttp } from './backend-http.ts'
import type { DialectName } from './dialects.ts'
import type { FrontendSettings, ListenerTls } from './frontend.ts'
import type { McpRules, McpTarget } from './mcp-targets.ts'
import type { ProcessSettings } from './process.ts'

export type { FrontendSettings } from './frontend.ts'
export type {
  McpApi,
  McpHttpTarget,
  McpOpenApiTarget,
  McpRules,
  McpStdioTarget,
  McpTarget
} from './mcp-targets.ts'
export type { ProcessSettings } from './process.ts'

/** Policies of one attachment point: canonical policy name -> validated configuration of that policy. */
export type PolicySet = Readonly<Record<string, unknown>>

export interface Snapshot {
  /** Rises by one with every accepted configuration of this process. */
  readonly version: number
  /** First 12 hex digits of the SHA-256 of the source text. */
  readonly hash: string
  /** ISO time at which the source was accepted. */
  readonly acceptedAt: string
  /** Policies of the whole gateway: traffic policies, the least precise level of all, and frontend policies. */
  readonly gateway: PolicyPhases & { readonly frontend: PolicySet }
  readonly binds: readonly Bind[]
  /** Backends by name; inline ones get a name made from their route ("default/route0/0"). */
  readonly backends: Readonly<Record<string, Backend>>
  readonly frontend: FrontendSettings
  readonly process: ProcessSettings
}

/** Policies of one attachment point by phase. Phases merge apart (docs/specification.md#attachment-and-merging). */
export interface PolicyPhases {
  /** PostRouting: the route is known. */
  readonly policies: PolicySet
  /** PreRouting: before the route is chosen. */
  readonly preRouting: PolicySet
}

export interface Bind {
  /** proxy: a PROXY header before everything else; direct: none; absent: as frontend.proxyProtocol says. */
  readonly tunnelProtocol?: 'direct' | 'proxy'
  readonly port: number
  readonly listeners: readonly Listener[]
  /** Which downstream transport serves the port; 'auto' lets the engine choose (docs/performance.md). */
  readonly transport: 'auto' | 'node' | 'uws'
}

export interface Listener extends PolicyPhases {
  readonly name: string
  /** Lower case; "*" for any, "*.example.com" for any name below, else exact. */
  readonly hostname: string
  /** HTTP: clear text. HTTPS: TLS ends here. TLS: ends here when `tls` is set, else it is passed on by its SNI. */
  readonly protocol: 'HTTP' | 'HTTPS' | 'TLS' | 'TCP'
  /** Of HTTPS, and of TLS that ends here; null: TLS does not end here. */
  readonly tls: ListenerTls | null
  /** What becomes of requests before they are judged. Absent: the defaults. */
  readonly requests?: RequestRules
  /** Of HTTP and HTTPS. */
  readonly routes: readonly RouteSpec[]
  /** Of TLS and TCP. */
  readonly tcpRoutes: readonly TcpRouteSpec[]
}

/** A route of connections whose bytes nobody reads. */
export interface TcpRouteSpec {
  readonly name: string
  /** Names in SNI, as Listener.hostname; empty: every name of the listener. */
  readonly hostnames: readonly string[]
  readonly backends: readonly WeightedBackend[]
}

export interface RouteSpec {
  readonly name: string
  /** Of several rules with this name, which. */
  readonly rule?: string
  /** Lower case, as Listener.hostname; empty: every host of the listener. */
  readonly hostnames: readonly string[]
  /** Never empty: a route without matches gets one prefix match "/". */
  readonly matches: readonly RouteMatch[]
  readonly policies: PolicySet
  readonly backends: readonly WeightedBackend[]
}

/** No other route of the listener has it: what is kept from one configuration to the next is kept under it. */
export const ownName = ({ name, rule }: { readonly name: string; readonly rule?: string | undefined }): string =>
  rule === undefined ? name : `${name}/${rule}`

export type PathMatch = { readonly exact: string } | { readonly prefix: string } | { readonly regex: string }
export type ValueMatch = { readonly exact: string } | { readonly regex: string }

export interface RouteMatch {
  readonly path: PathMatch
  /** Upper case, or undefined for any. */
  readonly method?: string
  /** Names in lower case; all must match. */
  readonly headers: readonly { readonly name: string; readonly value: ValueMatch }[]
  readonly query: readonly { readonly name: string; readonly value: ValueMatch }[]
}

export interface WeightedBackend {
  /** Key into Snapshot.backends. */
  readonly backend: string
  /** 0..1000000; 0 means never. */
  readonly weight: number
  readonly policies: PolicySet
}

export type Backend = StaticBackend | DynamicBackend | AiBackend | ModelsBackend | McpBackend

export interface StaticBackend {
  readonly kind: 'static'
  /** Host name or address; '' with unixPath. */
  readonly host: string
  readonly port: number
  readonly unixPath: string | null
  /** Absent: nothing is said. */
  readonly transport?: BackendTransport | undefined
  readonly http?: BackendHttp
  readonly policies: PolicySet
}

/** Sends to the host that the request names (docs/specification.md#dynamic-forward-proxy). */
export interface DynamicBackend {
  readonly kind: 'dynamic'
  /** CIDR ranges allowed in spite of the address guard. */
  readonly allowAddresses: readonly string[]
  readonly transport?: BackendTransport | undefined
  readonly http?: BackendHttp
  readonly policies: PolicySet
}

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
  readonly promptGuard: AiGuards
  readonly policies: PolicySet
}

/** docs/specification.md#prompt-guards: in the order in which they act. */
export interface AiGuards {
  readonly request: readonly AiGuard[]
  readonly response: readonly AiGuard[]
}

export type AiGuard = AiRegexGuard | AiWebhookGuard | AiModerationGuard

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
  /** Scheme, host and port. */
  readonly origin: string
  /** Header fields of the client that are sent along: name in lower case; values that match. */
  readonly forward: readonly { readonly name: string; readonly value: ValueMatch }[]
  readonly failOpen: boolean
  readonly timeoutMs: number
  readonly reply: AiRejection
}

export interface AiModerationGuard {
  readonly kind: 'moderation'
  readonly origin: string
  readonly path: string
  readonly model: string
  readonly key: string | null
  readonly failOpen: boolean
  readonly timeoutMs: number
  readonly reply: AiRejection
}

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
  /** Names that stand for one of several models, by weight. */
  readonly splits: readonly {
    readonly name: string
    readonly targets: readonly { readonly weight: number; readonly backend: AiBackend }[]
  }[]
  /** The client's name -> a name of the above. */
  readonly aliases: Readonly<Record<string, string>>
  readonly routes: AiBackend['routes']
  readonly policies: PolicySet
}

export type AiRouteType =
  | 'Completions'
  | 'Messages'
  | 'Responses'
  | 'GenerateContent'
  | 'Passthrough'
  | 'Embeddings'
  | 'AnthropicTokenCount'
  | 'GeminiTokenCount'
  | 'Models'
  | 'Realtime'

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
  readonly type: 'openai' | 'azureopenai' | 'anthropic' | 'gemini' | 'vertexai' | 'bedrock' | 'custom'
  /** Instead of the one that the request names; null: the request's. */
  readonly model: string | null
  /** Null: the provider's own. */
  readonly host: string | null
  readonly port: number | null
  readonly path: string | null
  /** Formats of a custom provider, the preferred first. */
  readonly formats: readonly ('completions' | 'messages' | 'responses')[]
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
  /** What a provider in somebody's cloud needs to know besides; null: nothing. */
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
}

export type AiCloud =
  /** `apiVersion`: "v1", "preview" or a date. */
  | { readonly kind: 'azureopenai'; readonly apiVersion: string }
  | { readonly kind: 'vertexai'; readonly projectId: string; readonly region: string }
  | {
      readonly kind: 'bedrock'
      readonly region: string
      readonly guardrail: { readonly identifier: string; readonly version: string } | null
    }

/** How a provider is shown who asks (docs/specification.md#backend-authentication). */
export type AiAuth =
  /** The client's own credential, unless a policy of the gateway has taken it. */
  | { readonly kind: 'client' }
  /** The client's own credential, also the one that a policy has taken. */
  | { readonly kind: 'passthrough' }
  | { readonly kind: 'key'; readonly key: Secret }
  /** `keys` null: the default chain of AWS. `region` null: the provider's. */
  | {
      readonly kind: 'aws'
      readonly keys: {
        readonly accessKeyId: string
        readonly secretAccessKey: Secret
        readonly sessionToken: Secret | null
      } | null
      readonly region: string | null
    }
  /** `audience` null: https:// and the provider's host. `credential` null: the default of Google's libraries. */
  | {
      readonly kind: 'gcp'
      readonly token: 'access' | 'id'
      readonly audience: string | null
      readonly credential: { readonly file: string } | { readonly json: Secret } | null
    }

/** MCP servers behind one endpoint (docs/specification.md#mcp-backends). */
export interface McpBackend {
  readonly kind: 'mcp'
  /** Names are unique. */
  readonly targets: readonly McpTarget[]
  /** Stateless: each request has an upstream relationship of its own, and no session id is given out. */
  readonly sessionRouting: 'Stateful' | 'Stateless'
  /** Whether names of tools and prompts begin with their target's: where there are several, always, or never. */
  readonly prefixMode: 'conditional' | 'always' | 'never'
  /** What a target that fails does to lists and initialisation: fail too, or be left out. */
  readonly failureMode: 'failClosed' | 'failOpen'
  /** CEL over mcp.*: who sees and uses what. Null: everybody everything. */
  readonly authorization: McpRules | null
  /** Of sessions: secret of the seal (null: made at the start, and shared by the workers), and idle milliseconds. */
  readonly session: {
    readonly key: string | null
    readonly idleMs: number
    /**
     * Clients without sessions (2026-07-28) that nobody knows, before servers that keep some: they are offered the
     * revisions with a handshake, or each request has a session of its own. Absent: Handshake.
     */
    readonly anonymous?: 'Handshake' | 'PerRequest'
  }
  /** Milliseconds for an answer of one target to a list or an initialisation. */
  readonly targetTimeoutMs: number
  /** Lower-case names of the client's fields that targets get besides trace context; never cookies. */
  readonly forwardHeaders: readonly string[]
  /** Bytes of one message of a target. */
  readonly messageBytesMax: number
  readonly policies: PolicySet
}
