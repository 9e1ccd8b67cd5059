/**
 * A chat request whose body is too large to be parsed on the event loop (docs/design/030-large-bodies.md): this thread
 * knows only the facts that the pool has read.
 */

import type { AiEdits } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, Conversation, FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { applyEdits } from '#backends/llm/edits/apply-edits.ts'
import { type Capture, type ChatRequest, readChat } from '#backends/llm/request/chat-request.ts'
import type { Seal } from '#backends/llm/stored/seal.ts'
import { type ClientTools, NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import type { RequestSettings } from '#engine/contract/model-use.ts'
import { LARGE_BYTES } from './threshold.ts'

/** Of a request, after the edits of the configuration. Plain data. */
export interface RequestFacts
  extends Pick<ChatRequest, 'model' | 'isStreamed' | 'wantsUsage' | 'count' | 'isEdited' | 'clientTools'> {
  readonly plan: { readonly format: FormatName; readonly model: string }
  /** Undefined: nobody asked for them. */
  readonly settings: RequestSettings | undefined
}

interface Edit {
  readonly edits: AiEdits
  readonly providerFormat: FormatName
}

/** A large request as plain data, for the thread that reads it. */
export interface LargeData extends Pick<LargeRequest, 'client' | 'path' | 'query' | 'model' | 'isStreamed'> {
  /** As of JobBody (job.ts). */
  readonly id: number
  readonly bytes: Uint8Array
  readonly edit: Edit | null
}

export class LargeRequest implements ChatRequest {
  readonly client: ClientFormat
  bytes: Buffer
  readonly path: string
  readonly query: string
  readonly model: string
  readonly isStreamed: boolean
  readonly wantsUsage: boolean
  readonly count: number
  readonly isEdited: boolean
  unprompted: JsonObject | null = null
  conversation: Conversation | null = null
  clientTools: ClientTools
  capture: Capture | null = null
  seal: Seal | null = null
  readonly #edit: Edit | null
  #body: JsonObject | null = null

  /** `facts` null: nothing is known yet. */
  constructor(
    { client, bytes, path, query }: Pick<LargeRequest, 'client' | 'bytes' | 'path' | 'query'>,
    facts: RequestFacts | null = null,
    edits: AiEdits | null = null
  ) {
    this.client = client
    this.bytes = bytes
    this.path = path
    this.query = query
    this.model = facts?.model ?? ''
    this.isStreamed = facts?.isStreamed ?? false
    this.wantsUsage = facts?.wantsUsage ?? false
    this.count = facts?.count ?? 1
    this.isEdited = facts?.isEdited ?? false
    this.clientTools = facts?.clientTools ?? NO_CLIENT_TOOLS
    this.#edit = edits === null || facts === null ? null : { edits, providerFormat: facts.plan.format }
  }

  get data(): LargeData {
    const { client, bytes, path, query, model, isStreamed } = this
    return { id: idOf(bytes), client, bytes, path, query, model, isStreamed, edit: this.#edit }
  }

  /** Parsed on demand, which is slow: expressions over `llm` read it in another thread (content-job.ts). */
  get body(): JsonObject {
    if (this.#body === null) {
      const chat = readChat(this.client, this.bytes, this.path, this.query)
      const edited = this.#edit === null ? chat : applyEdits(chat, this.#edit.edits, this.#edit.providerFormat)
      this.#body = edited.body
      this.unprompted = edited.unprompted
    }
    return this.#body
  }

  set body(body: JsonObject) {
    this.#body = body
  }
}

/** A large body is not parsed. Throws FormatError. */
export function chatFor(client: ClientFormat, bytes: Buffer, path: string, query: string): ChatRequest {
  if (bytes.length <= LARGE_BYTES) return readChat(client, bytes, path, query)
  return new LargeRequest({ client, bytes, path, query })
}

/** Numbers by which the pool knows bodies that it has been sent. */
const ids = new WeakMap<Buffer, number>()
let lastId = 0

/** A new one where the pool does not know `bytes`. */
export function idOf(bytes: Buffer): number {
  const id = ids.get(bytes) ?? ++lastId
  ids.set(bytes, id)
  return id
}

/** Undefined: the pool has not been sent `bytes`. */
export const knownId = (bytes: Buffer): number | undefined => ids.get(bytes)
