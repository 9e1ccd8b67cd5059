/** A chat request as the client sent it: read once, for all attempts. */
import type { ChatEvent, ClientFormat, Conversation, FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { AnswerContext } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Seal } from '#backends/llm/stored/seal.ts'
import { type ClientTools, NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import { modelOf, parseBody } from './json-body.ts'

/** One request, as all its attempts see it. */
export interface ChatRequest {
  readonly client: ClientFormat
  body: JsonObject
  /** The body as it came. */
  bytes: Buffer
  /** By the client's name; "" when it names none. */
  readonly model: string
  readonly isStreamed: boolean
  /** Usage at the end of a stream, which only completions must ask for. */
  readonly wantsUsage: boolean
  /** Choices asked for. */
  readonly count: number
  readonly query: string
  /** The configuration has changed `body`: the client's own bytes will not do. */
  readonly isEdited: boolean
  /** `body` before messages of the configuration came around its own; null: none did. */
  unprompted: JsonObject | null
  /** Read when a provider needs another format. */
  conversation: Conversation | null
  /** Client tools that the provider of this attempt knows as functions. */
  clientTools: ClientTools
  /** Of the attempt under way. */
  capture: Capture | null
  /** What ids in its answer are marked with (docs/llm-objects.md); null: clients get those of the provider. */
  seal: Seal | null
}

/** What is noted of an answer as it comes (usage/answer-capture.ts). */
export interface Capture {
  /** The events of a stream are wanted, too. */
  readonly capturesStream: boolean
  readonly hasBegun: boolean
  /** An answer that came whole, in the provider's format. */
  setWhole(format: FormatName, bytes: Buffer): void
  /** A piece of a stream came. `now`: milliseconds of the monotonic clock. */
  tokenAt(now: number): void
  captureEvent(event: ChatEvent): void
}

const NO_CONTENT: JsonObject = Object.freeze({})
const NO_BYTES = Buffer.alloc(0)
const UNREAD = {
  isEdited: false,
  unprompted: null,
  conversation: null,
  clientTools: NO_CLIENT_TOOLS,
  capture: null,
  seal: null
}

/** Frees the content of a request that no further provider can be sent. */
export function releaseContent(chat: ChatRequest): void {
  chat.body = NO_CONTENT
  chat.bytes = NO_BYTES
  chat.conversation = null
  chat.unprompted = null
}

/** Throws FormatError. `bytes`: the body as it came. */
export function readChat(client: ClientFormat, bytes: Buffer, path: string, query: string): ChatRequest {
  const body = parseBody(bytes)
  const { model, isStreamed } = FORMATS[client].readPath?.(path) ?? targetIn(body)
  const facts = { client, body, bytes, model, isStreamed, query, ...answerShapeOf(client, body) }
  return { ...facts, ...UNREAD }
}

/** What a body says where the path does not. */
export function targetIn(body: JsonObject): Pick<ChatRequest, 'model' | 'isStreamed'> {
  return { model: modelOf(body), isStreamed: body.stream === true }
}

/** What `body` asks of the shape of the answer. */
export function answerShapeOf(client: ClientFormat, body: JsonObject): Pick<ChatRequest, 'wantsUsage' | 'count'> {
  const { stream_options: options } = body
  const count = FORMATS[client].choiceCount?.(body)
  const wantsUsage = isObject(options) && options.include_usage === true
  return { wantsUsage, count: typeof count === 'number' ? count : 1 }
}

/** How the answer to `chat` is written. */
export function answerContextOf(chat: ChatRequest): AnswerContext {
  return { model: chat.model, wantsUsage: chat.wantsUsage, at: Date.now(), id: crypto.randomUUID().replaceAll('-', '') }
}
