/**
 * How to talk to one MCP server, whatever carries it: streamable HTTP, legacy SSE, a child process, an API that speaks
 * no MCP at all. A Target is compiled once per configuration; a Link is one conversation with it, on behalf of one
 * session of one client (or of one request, where there are no sessions).
 */

import type {
  JsonObject,
  JsonValue,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'

/** What a target must know of the one it is asked for. */
export interface LinkOptions {
  /** Stable for the session over workers and reloads; nobody else's. Names what a target keeps for it (a child). */
  readonly sessionKey: string
  /** What the target called the conversation, if it has begun already; null: it begins with `initialize`. */
  readonly upstreamSession: string | null
  /** Revision that both sides have agreed upon, as MCP-Protocol-Version says it; null: not yet. */
  readonly version: string | null
  /** Fields for the target: what the configuration lets through of the client's, trace context. Never changed. */
  readonly headers: HeaderBlock
  /** Nobody knows whose the next request of this session is: nothing is kept for it upstream. */
  readonly isAnonymous?: boolean
  /** Whose share it is of what may be kept and run for all: a caller, or the network of one that nobody knows. */
  readonly party?: string
  /** Who the client is, as its `initialize` said: for sessions that have begun with a server that keeps none. */
  readonly client?: { readonly info: JsonObject; readonly capabilities: JsonObject }
}

/** Where messages of a target go. Called in turns of the event loop, never after `answered` or `failed`. */
export interface LinkEvents {
  /**
   * On the way: a notification, or a request of the server to the client. `eventId`: of the server, to take the stream
   * up again; none where the transport has none.
   */
  message(message: RpcRequest | RpcNotification, eventId?: string | null): void
  /** The answer. `eventId`: as with `message`. */
  answered(response: RpcResponse, eventId?: string | null): void
  /**
   * Ahead of `answered`, where there is this: hints for caches that the answer itself cannot say in the client's era.
   */
  hinted?(ttlMs: JsonValue | undefined, cacheScope: JsonValue | undefined): void
  /** Instead of `answered`, where there is this: the answer as JSON that nobody has changed, perhaps not even read. */
  answeredBytes?(json: Buffer, eventId?: string | null): void
  /** For who passes streams on as streams: how the answer comes, besides what it says. */
  readonly stream?: StreamEvents
  /** There will be none. `expired`: the target knows the session no more (404), and a new one may help. */
  failed(failure: LinkFailure): void
}

/** What a stream of events says that is no message (2025-11-25, transports, Sending Messages to the Server). */
export interface StreamEvents {
  /** The server answers with a stream. Called before anything that comes on it. */
  began(): void
  /** How far the stream has come, and how long to wait before it is taken up again; null: of that nothing new. */
  mark(eventId: string | null, retryMs: number | null): void
  /** The server has closed it behind an id, without the answer. True: the client comes back itself; nothing follows. */
  closed(): boolean
}

export interface LinkFailure {
  readonly kind: 'expired' | 'refused' | 'unreachable' | 'timeout' | 'broken' | 'tooLarge'
  /** HTTP status, where one came. */
  readonly status: number | null
  /** In words, for the client and the log: no secrets, no bodies of the target. */
  readonly message: string
  /** WWW-Authenticate of a 401 or 403: what the server wants to be shown. */
  readonly challenge?: string
}

export interface Link {
  /** Known after the answer to `initialize`; null: the target keeps no sessions. */
  readonly upstreamSession: string | null
  /** From the answer to `initialize` on. */
  setVersion(version: string): void
  /**
   * Sends a request with the id it has. Returns what gives it up (the client has left): no more events. `json`: the
   * message as it came, to be sent as it is. `timeoutMs` 0: however long it takes.
   */
  request(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void
  /** Sends what needs no answer: a notification, or the client's response to a request of the server. */
  send(message: RpcNotification | RpcResponse): Promise<LinkFailure | null>
  /**
   * Opens the stream of what the server says unasked (GET of streamable HTTP). `lastEventId`: where it broke off.
   * `ended` once, with null where the target has no such stream. Returns what closes it.
   */
  listen(lastEventId: string | null, events: ListenEvents): () => void
  /** The session is over: DELETE, or the end of the child. */
  close(): void
  /** This worker needs it no more, others may: nothing of the session ends. */
  release(): void
}

export interface ListenEvents {
  /** The server has such a stream: for links that know it before the first message. */
  opened?(): void
  /** `eventId`: of the server, to go on from; null: it gives none. Responses come where a broken stream goes on. */
  message(message: RpcMessage, eventId: string | null): void
  /** As that of StreamEvents. */
  mark?(eventId: string | null, retryMs: number | null): void
  ended(failure: LinkFailure | null): void
}

/** An item of a list as it is shown, JSON that begins with its name. */
export interface FixedItem {
  readonly name: string
  readonly json: string
}

export interface Target {
  readonly name: string
  readonly kind: 'http' | 'sse' | 'stdio' | 'openapi'
  /**
   * What it has told the last client without a session that it can, as declaredBy says it: of others a guess, which
   * refuses them nothing. Null: it has not been asked.
   */
  readonly declared?: number | null
  /** Whether its server keeps sessions, as far as it is known. Absent: nobody has asked. */
  readonly remembers?: boolean
  /** By method: lists that never change and are the same for everybody, so that nobody is asked for them. */
  readonly fixed?: ReadonlyMap<string, readonly FixedItem[]> | undefined
  open(options: LinkOptions): Link
}

/** What `initialize` said. */
export interface ServerFacts {
  readonly protocolVersion: string
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions: string | null
}
