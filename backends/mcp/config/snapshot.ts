/** The targets of an `mcp` backend, and rules over what they offer (docs/specification.md#mcp-backends). */
import type { PolicySet } from '#engine/ir/snapshot.ts'

/** Expressions as the policy `authorization` has them: allow, deny, require; sets of several levels add up. */
export interface McpRules {
  readonly allow: readonly string[]
  readonly deny: readonly string[]
  readonly require: readonly string[]
}

/** What all kinds have; the rest is the kind's (targets/index.ts). */
export interface McpTarget {
  readonly kind: string
  readonly name: string
  /** Its own rules beside those of the backend; null: none. */
  readonly authorization: McpRules | null
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
     * Unknown clients without sessions (2026-07-28), before servers with sessions: they are offered the
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
