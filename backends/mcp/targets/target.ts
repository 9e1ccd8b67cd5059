/**
 * How to talk to one MCP server, whatever carries it: streamable HTTP, legacy SSE, a child process, an API that speaks
 * no MCP at all. A Target is compiled once per configuration. A Link is one conversation with it, on behalf of one
 * session of one client, or of one request where there are no sessions.
 */

import type {
  JsonObject,
  JsonValue,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import type { Era } from '#backends/mcp/protocol/revisions.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
export interface LinkOptions {
  /** Of the client's session, the same in all workers and over reloads. Names what a target keeps for it (a child). */
  readonly sessionKey: string
  /** The target's id of a session that has begun; null: it begins with `initialize`. */
  readonly upstreamSession: string | null
  /** Revision that was negotiated, as in MCP-Protocol-Version; null: not yet. */
  readonly version: string | null
  /** Forwarded from the client (session/forwarded-headers.ts). Never changed. */
  readonly headers: HeaderBlock
  /** The next request may come from another caller: nothing is kept upstream for this one. */
  readonly isAnonymous?: boolean
  /** Who is charged for bounded resources (processes, sessions): a caller, or the network of an unknown one. */
  readonly party?: string
  /** From the client's `initialize`: for sessions with stateless servers. */
  readonly client?: { readonly info: JsonObject; readonly capabilities: JsonObject }
}

/** Receives what a target sends for one request. Nothing comes after `answered` or `failed`. */
export interface LinkEvents {
  /**
   * A notification, or a request of the server to the client, before the response. `eventId`: the server's, to resume
   * the stream; none where the transport has none.
   */
  message(message: RpcRequest | RpcNotification, eventId?: string | null): void
  /** The response. `eventId`: as for `message`. */
  answered(response: RpcResponse, eventId?: string | null): void
  /** Before `answered`: cache hints that the response cannot carry in the client's era. */
  cacheHints?(ttlMs: JsonValue | undefined, cacheScope: JsonValue | undefined): void
  /** Instead of `answered`, where it is defined: the response as the server's own bytes, perhaps never parsed. */
  answeredBytes?(json: Buffer, eventId?: string | null): void
  /** For callers that relay streams: how the response arrives. */
  stream?: StreamEvents
  /** There is no response. `expired`: the target has lost the session (404); a new one may help. */
  failed(failure: LinkFailure): void
}

/** What an event stream says besides messages (2025-11-25, transports, Sending Messages to the Server). */
export interface StreamEvents {
  /** The server responds with a stream. Called before any of its events. */
  started(): void
  /** The id of the last event, and how long to wait before resuming; null: unchanged. */
  mark(eventId: string | null, retryMs: number | null): void
  /** The server has closed the stream after an id, without a response. True: the client resumes it; nothing follows. */
  closed(): boolean
}

export interface LinkFailure {
  readonly kind: 'expired' | 'refused' | 'unreachable' | 'timeout' | 'broken' | 'tooLarge'
  /** HTTP status, where one came. */
  readonly status: number | null
  /** For the client and the log: no secrets, nothing from the target's bodies. */
  readonly message: string
  /** WWW-Authenticate of a 401 or 403. */
  readonly challenge?: string
}

export function failure(kind: LinkFailure['kind'], message: string, status: number | null = null): LinkFailure {
  return { kind, status, message }
}

export interface Link {
  /**
   * Of a link that is kept: the same conversation, for a request with these fields (LinkOptions.headers). It is not
   * released by itself. Undefined: what the link holds open takes none.
   */
  forRequest?(headers: HeaderBlock): Link
  /** The target's session id, known after `initialize`; null: it has none. */
  readonly upstreamSession: string | null
  /** The revision that `initialize` has negotiated. */
  setVersion(version: string): void
  /**
   * Sends a request under its own id. Returns what gives it up: no more events. `json`: the message as bytes, to be
   * sent as they are. `timeoutMs` 0: no timeout.
   */
  request(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void
  /** Sends a notification, or the client's response to a request of the server. */
  send(message: RpcNotification | RpcResponse): Promise<LinkFailure | null>
  /**
   * Opens the stream of server-initiated messages (GET of streamable HTTP). `lastEventId`: where to resume. `ended` is
   * called once, with null where the target has no such stream. Returns what closes it.
   */
  listen(lastEventId: string | null, events: ListenEvents): () => void
  /** The session is over: DELETE, or the end of the child. */
  close(): void
  /** This worker is done with it, others may not be: the session goes on. */
  release(): void
}

export interface ListenEvents {
  /** The server has accepted the stream, where that is known before the first message. */
  opened?(): void
  /** `eventId`: the server's; null: it has none. Responses come on resumed streams. */
  message(message: RpcMessage, eventId: string | null): void
  /** As in StreamEvents. */
  mark?(eventId: string | null, retryMs: number | null): void
  ended(failure: LinkFailure | null): void
}

/** An item of a list as JSON, its name first. */
export interface StaticItem {
  readonly name: string
  readonly json: string
}

/** How targets of a kind differ, for code that knows no kind by name. */
export interface TargetTraits {
  /** A link holds something open (a process, a stream) and is kept for the session; else each request has its own. */
  readonly keepsLink: boolean
  /** Whether servers of the kind keep sessions; `byId`: those that return an Mcp-Session-Id. */
  readonly sessions: 'byId' | 'always' | 'never'
  /** The era of all servers of the kind; null: each is asked (bridge/era-probe.ts). */
  readonly era: Era | null
  /** A process of our own: one that does not answer, or ends, before `initialize` is stateful. */
  readonly isProcess: boolean
}

export interface Target {
  readonly name: string
  readonly traits: TargetTraits
  /** Its server authenticates the clients themselves: an authentication challenge is passed on to them. */
  readonly passesChallenges?: boolean
  /**
   * Capability bits (protocol/capabilities.ts) that it declared to the last sessionless client: only a guess for
   * others, which refuses them nothing. Null: not known yet.
   */
  readonly capabilities?: number | null
  /** Whether its server keeps sessions, as far as known. */
  readonly hasSessions?: boolean
  /** By method: lists that never change and are the same for every caller, so that no request is needed. */
  readonly staticLists?: ReadonlyMap<string, readonly StaticItem[]> | undefined
  open(options: LinkOptions): Link
}
