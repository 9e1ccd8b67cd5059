/** The targets of an `mcp` backend, and rules over what they offer (docs/specification.md#mcp-backends). */
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'

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
