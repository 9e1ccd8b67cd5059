/** What a wire format of chat has to offer: reading into a conversation, and writing from one. */
import type {
  Answer,
  ChatError,
  ChatEvent,
  Conversation,
  FormatName,
  JsonObject,
  StopReason
} from '#backends/llm/conversation.ts'
import type { Reach } from '#engine/kit/scan/body.ts'
import type { EventTexts, Value } from './guarded-texts.ts'

/**
 * A message that does not follow its format. `field`: path in the body ("messages[2].content[0].type"), "" for
 * the whole.
 * Of a request: 400 with both; of an answer: 502.
 */
export class FormatError extends Error {
  readonly field: string
  /** What the client gets. */
  readonly status: 400 | 403 | 404 | 413 = 400

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** An answer without what was wanted, since a filter of the provider has taken it out. */
export class FilteredError extends FormatError {}

/** Of a FormatError or a SyntaxError it is what is wrong; of others, such as a stack that is used up, it is no use. */
export function reasonOf(error: unknown): string {
  if (error instanceof FormatError) return error.field === '' ? error.message : `${error.field}: ${error.message}`
  return error instanceof SyntaxError ? error.message : 'it is not what its format allows'
}

/**
 * `meaning`: without it the request asks for something else. `harmless`: without it the answer is what was asked for
 * (tolerance.ts). `carried`: it is written in another form.
 */
export type Loss = 'meaning' | 'harmless' | 'carried'

/** What a writer could not say in its format. Nothing is dropped unless it stands here. */
export class Losses {
  readonly #fields = new Map<string, Loss>()

  /** Paths in the client's request, or in the provider's answer, in order, each once. */
  get fields(): string[] {
    return [...this.#fields.keys()]
  }

  get kinds(): Loss[] {
    return [...this.#fields.values()]
  }

  add(field: string, loss: Loss = 'meaning'): void {
    if (loss === 'meaning' || !this.#fields.has(field)) this.#fields.set(field, loss)
  }

  /** It is written, but not as the client has written it. */
  rewrite(field: string): void {
    this.add(field, 'carried')
  }
}

/** What of the request decides how its answer is written. */
export interface AnswerContext {
  /** The model by the name that the client used. */
  readonly model: string
  /** The client asked for usage at the end of the stream (completions only). */
  readonly wantsUsage: boolean
  /** Milliseconds since 1970, of the request: for formats that tell when an answer was made. */
  readonly at: number
  /** A fresh id without prefix, for answers whose provider gives none. */
  readonly id: string
}

/** One event of a stream as its framing gives it: an SSE event, or an event-stream message (Converse). */
export interface WireEvent {
  /** SSE `event`, or `:event-type`; "" when there is none. */
  readonly name: string
  /** SSE `data`, or the payload: JSON text, or "[DONE]". */
  readonly data: string
}

/** What an answer has cost, and how it ended. */
export interface AnswerSummary extends Pick<Answer, 'usage' | 'model' | 'id' | 'serviceTier'> {
  /** One for each choice. */
  readonly stops: readonly StopReason[]
}

/** What is missing at the end of a stream whose answer is whole. */
export interface Finish {
  readonly events: readonly ChatEvent[]
  /** As the format says it: whole SSE events. */
  readonly mark: string
}

/** Wire events in, what they say out. One per answer. */
export interface StreamReader {
  /** Throws FormatError. */
  read(event: WireEvent): readonly ChatEvent[]
  /** The stream is over without its own mark of the end. Null: its answer is not whole. */
  finish?(): Finish | null
  /** Fields of the answer so far that no event tells, by their path there, each once. */
  readonly lost?: Iterable<string>
}

/** Events in, wire text out: whole SSE events. One per answer. */
export interface StreamWriter {
  /** "" when the format has nothing to say for it. */
  write(event: ChatEvent): string
}

/** What servers leave out of their streams although clients cannot do without, and how it is put in again. */
export interface Mending {
  /** What an event may have in it that lacks something. */
  readonly marks: RegExp
  /** The same, of events that the format's `marks` find: these are few, so it may cost more. */
  readonly marksOfRead: RegExp
  /** For one answer: `data` of each such event, mended; null: it lacks nothing. */
  begin(): (data: string) => string | null
}

/** What a format has to offer towards providers. */
export interface ProviderFormat {
  readonly name: FormatName
  /** End of its path: other APIs of the same server stand beside it. */
  readonly chatEnd: RegExp
  /** The header in which its clients look for the id of a request; absent: as OpenAI's do. */
  readonly idField?: string
  /**
   * What an event that matters has in it. Inside of a JSON string the quotes would be escaped, so none is missed, and
   * words of a model are rarely taken for one. Absent: all are read, since each tells its usage, or is binary.
   */
  readonly marks?: RegExp
  /** Of streams that pass as they are. Absent: nothing is known to lack. */
  readonly mending?: Mending
  /** What the format cannot say is added to `losses`, by its path in the format that it came in where that is known. */
  writeRequest(conversation: Conversation, losses: Losses): JsonObject
  readAnswer(body: JsonObject): Answer
  /** Of an answer that is passed on as it is. Throws FormatError. */
  readSummary(body: JsonObject): AnswerSummary
  /** `count`: of answers that were asked for at once, as of Sampling; 1 by default. */
  streamReader(count?: number): StreamReader
  /** `body` as it came, JSON or not. Never throws. */
  readError(status: number, body: string): ChatError
  writeError(error: ChatError): JsonObject
  /** What guards look at in an answer. */
  readonly answerTexts: Reach
  /** ... and in one event of a stream. `value`: its data as JSON; `name`: as of WireEvent. */
  eventTexts(value: Value, name: string): EventTexts
}

/** ... and for conversations with clients. */
export interface ChatFormat extends ProviderFormat {
  /** gen_ai.operation.name; absent: "chat". */
  readonly operation?: string
  /** Throws FormatError. `isStreamed` where the format says it by the path (Gemini); else null. */
  readRequest(
    body: JsonObject,
    from: { readonly model: string | null; readonly isStreamed: boolean | null }
  ): Conversation
  /** What guards look at in a request. */
  readonly requestTexts: Reach
  writeAnswer(answer: Answer, context: AnswerContext, losses: Losses): JsonObject
  /** `losses`: as of writeAnswer, by the path in an answer of the writer's own format where there is no other. */
  streamWriter(context: AnswerContext, losses?: Losses): StreamWriter
}
