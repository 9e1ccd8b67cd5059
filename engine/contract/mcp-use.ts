/** What one exchange asked of MCP servers and what came of it: for expressions, logs and metrics. */
import type { JsonValue } from './model-use.ts'

/** What a rule is asked about, or a request names. */
export interface McpItem {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'task' | 'method'
  /**
   * By its target's own name: without a prefix of the gateway. Of a resource: its URI; of a method that no revision has
   * (of an extension): the method.
   */
  readonly name: string
  /** Name of the target that owns it. */
  readonly target: string
  /** Of a call (of a method: its params); none (an empty object) in lists. */
  readonly arguments?: JsonValue | undefined
}

/** The backend fills it in as it learns more; it is made when the message has been read. */
export interface McpUse {
  /** Of the JSON-RPC message: "tools/call". Undefined: it could not be read. */
  method?: string | undefined
  /** Stable for the session, and of no use to readers of a log: never the session id itself. */
  sessionId?: string | undefined
  /** Agreed revision of the protocol: "2025-11-25". */
  protocolVersion?: string | undefined
  /** Of the JSON-RPC request, as text. */
  requestId?: string | undefined
  /** Target that was asked, where it is one. */
  target?: string | undefined
  /** Of a call, a get or a read; while a rule runs, what it is asked about. */
  item: McpItem | null
  /** JSON-RPC code, where the answer is an error. */
  errorCode?: number | undefined
  /** The tool has answered that it failed (isError). */
  hasToolError?: boolean | undefined
}

export function newMcpUse(): McpUse {
  return {
    method: undefined,
    sessionId: undefined,
    protocolVersion: undefined,
    requestId: undefined,
    target: undefined,
    item: null,
    errorCode: undefined,
    hasToolError: undefined
  }
}

/** `error.type` of the OpenTelemetry MCP conventions: the code of the error, or "tool_error"; undefined: none. */
export function mcpErrorType({ errorCode, hasToolError }: McpUse): string | undefined {
  if (errorCode !== undefined) return String(errorCode)
  return hasToolError === true ? 'tool_error' : undefined
}
