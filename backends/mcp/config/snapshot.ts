/** The targets of an `mcp` backend, and rules over what they offer (docs/specification.md#mcp-backends). */
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { PolicySet } from '#engine/ir/snapshot.ts'

/** Expressions as the policy `authorization` has them: allow, deny, require; sets of several levels add up. */
export interface McpRules {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  readonly require: readonly string[]
}

export type McpTarget = McpHttpTarget | McpStdioTarget | McpOpenApiTarget

interface McpTargetBase {
  readonly name: string
  /** Its own rules beside those of the backend; null: none. */
  readonly authorization: McpRules | null
}

export interface McpHttpTarget extends McpTargetBase {
  readonly kind: 'http' | 'sse'
  readonly host: string
  readonly port: number
  /** With its leading slash and query. */
  readonly path: string
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
  /** A key for the target, as a bearer token or in another field; null: none. */
  readonly auth: { readonly header: string; readonly value: string } | null
}

export interface McpStdioTarget extends McpTargetBase {
  readonly kind: 'stdio'
  readonly cmd: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Null: that of the gateway. */
  readonly cwd: string | null
}

/** An HTTP API as tools, made of its document once, and so in texts, which threads are sent quickly. */
export interface McpApi {
  /** JSON: what `initialize` says of it. */
  readonly facts: string
  readonly tools: readonly {
    readonly name: string
    /** JSON: as tools/list shows it. */
    readonly tool: string
    /** JSON: how a call of it is sent. */
    readonly plan: string
  }[]
}

export interface McpOpenApiTarget extends McpTargetBase {
  readonly kind: 'openapi'
  /** The document, JSON or YAML read already; null once its backend's kind has prepared it (BackendKind.prepare). */
  readonly document: Readonly<Record<string, unknown>> | null
  /** What has become of the document. */
  readonly api?: McpApi | undefined
  /** Which operations are tools, by patterns; an empty list of `include` is all of them. */
  readonly operations?: { readonly include: readonly string[]; readonly exclude: readonly string[] } | undefined
  readonly host: string
  readonly port: number
  readonly hasTls: boolean
  readonly transport?: BackendTransport | undefined
  /** Before the paths of the document. */
  readonly pathPrefix: string
  readonly auth: { readonly header: string; readonly value: string } | null
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
