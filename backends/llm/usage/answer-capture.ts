/**
 * What a chat says, for expressions, logs and metrics. Prompts and whole answers are read only when they are asked for;
 * the events of a stream are kept only where an expression will ask for them.
 */
import type { Answer, ChatEvent, Conversation, FormatName, Part, Turn } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { type ContentData, contentJob } from '#backends/llm/offload/content-job.ts'
import type { Capture, ChatRequest } from '#backends/llm/request/chat-request.ts'
import type { ContentJob, ModelContent, JsonValue as Value } from '#engine/contract/model-use.ts'
import { paramsOf } from './request-settings.ts'

/** Characters kept of a stream, over all its parts; and parts. */
const CAPTURED_CHARS_MAX = 64 * 1024
const CAPTURED_PARTS_MAX = 256

interface Call {
  readonly id: string
  readonly name: string
  arguments: string
}

/** The content of a stream. */
class StreamCapture {
  readonly calls: Call[] = []
  readonly #texts = new Map<number, string>()
  /** What deltas of a choice belong to. */
  readonly #open = new Map<number, Part['kind']>()
  #chars = 0

  keep(event: ChatEvent): void {
    if (event.kind === 'begin') {
      const { part, choice } = event
      if (this.#open.has(choice) || this.#open.size < CAPTURED_PARTS_MAX) this.#open.set(choice, part.kind)
      if (part.kind === 'toolCall' && this.calls.length < CAPTURED_PARTS_MAX)
        this.calls.push({ id: part.id, name: part.name, arguments: '' })
    } else if (event.kind === 'delta') this.#keepText(event.choice, event.text)
  }

  /** A text per choice. */
  completion(): string[] {
    return [...this.#texts].sort(([a], [b]) => a - b).map(([, text]) => text)
  }

  #keepText(choice: number, delta: string): void {
    const text = delta.slice(0, CAPTURED_CHARS_MAX - this.#chars)
    this.#chars += text.length
    const kind = this.#open.get(choice)
    if (kind === 'text' && (this.#texts.has(choice) || this.#texts.size < CAPTURED_PARTS_MAX))
      this.#texts.set(choice, (this.#texts.get(choice) ?? '') + text)
    const call = this.calls.at(-1)
    if (kind === 'toolCall' && call !== undefined) call.arguments += text
  }
}

/** The answer of one attempt, as far as it is known. */
export class AnswerCapture implements ModelContent, Capture {
  /** What a stream says is noted down. */
  readonly capturesStream: boolean
  readonly #chat: ChatRequest
  /** Milliseconds of the monotonic clock; 0: nothing yet. */
  firstTokenAt = 0
  lastTokenAt = 0
  /** A whole answer, parsed when it is read. */
  #bytes: Buffer | null = null
  #format: FormatName | null = null
  #answer: Answer | null = null
  /** The content of a stream is there when the stream is over: before that it would be a part. */
  #isOver = false
  /** Null as long as nothing is noted down: most requests need none of it. */
  #pieces: StreamCapture | null = null

  constructor(chat: ChatRequest, capturesStream: boolean) {
    this.#chat = chat
    this.capturesStream = capturesStream
  }

  /** An answer that came whole, in the provider's format. */
  setWhole(format: FormatName, bytes: Buffer): void {
    this.#format = format
    this.#bytes = bytes
  }

  get hasBegun(): boolean {
    return this.firstTokenAt !== 0
  }

  /** A piece of a stream came at `now`. */
  tokenAt(now: number): void {
    if (this.firstTokenAt === 0) this.firstTokenAt = now
    this.lastTokenAt = now
  }

  end(): void {
    this.#isOver = true
  }

  /** An event of a stream. */
  captureEvent(event: ChatEvent): void {
    this.#pieces ??= new StreamCapture()
    this.#pieces.keep(event)
  }

  // --- when an expression asks ---

  request(): Value {
    return this.#chat.body
  }

  prompt(): Value | undefined {
    const conversation = conversationOf(this.#chat)
    if (conversation === null) return undefined
    const { system, turns } = conversation
    const instructions = system.length === 0 ? [] : [{ role: 'system', content: textOf(system) }]
    return [...instructions, ...turns.flatMap(messagesOf)]
  }

  completion(): Value | undefined {
    const answer = this.#read()
    if (answer !== null) return answer.choices.map(({ parts }) => textOf(parts))
    return this.capturesStream && this.#isOver ? (this.#pieces?.completion() ?? []) : undefined
  }

  toolCalls(): Value | undefined {
    const answer = this.#read()
    if (answer === null) return this.capturesStream && this.#isOver ? (this.#pieces?.calls ?? []) : undefined
    return answer.choices.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === 'toolCall' ? [callOf(part)] : []))
    )
  }

  /** Null: it was no whole answer, or none that can be read. */
  #read(): Answer | null {
    if (this.#answer !== null || this.#bytes === null || this.#format === null) return this.#answer
    try {
      this.#answer = FORMATS[this.#format].readAnswer(JSON.parse(this.#bytes.toString()))
    } catch {
      // It went to a client that may understand it.
      this.#bytes = null
    }
    return this.#answer
  }

  serviceTier(): string | undefined {
    return this.#read()?.serviceTier ?? undefined
  }

  params(): Value | undefined {
    return paramsOf(this.#chat.client, this.#chat.body)
  }

  elsewhere(): ContentJob | null {
    const answer = this.#bytes === null || this.#answer !== null ? null : this.#bytes
    return contentJob(this.#chat, answer, () => this.#data())
  }

  /** The part of the answer that another thread needs. */
  #data(): ContentData {
    const whole = this.#bytes === null || this.#format === null ? null : { bytes: this.#bytes, format: this.#format }
    const isComplete = whole === null && this.capturesStream && this.#isOver
    return {
      whole,
      streamed: isComplete ? { texts: this.#pieces?.completion() ?? [], calls: this.#pieces?.calls ?? [] } : null
    }
  }
}

function conversationOf(chat: ChatRequest): Conversation | null {
  if (chat.conversation !== null) return chat.conversation
  const from = { model: chat.model, isStreamed: FORMATS[chat.client].readPath === undefined ? null : chat.isStreamed }
  try {
    return FORMATS[chat.client].readRequest(chat.body, from)
  } catch {
    // A request that passed as it was may say what only its provider understands.
    return null
  }
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' || part.kind === 'refusal' ? part.text : '')).join('')
}

const callOf = ({ id, name, arguments: text }: Part & { readonly kind: 'toolCall' }) => ({
  id,
  name,
  arguments: text
})

/** One message, and one for each result of a tool. */
function messagesOf({ role, parts }: Turn): { readonly role: string; readonly content: string }[] {
  const results = parts.flatMap((part) =>
    part.kind === 'toolResult' ? [{ role: 'tool', content: textOf(part.content) }] : []
  )
  const others = parts.filter(({ kind }) => kind !== 'toolResult')
  return others.length === 0 ? results : [...results, { role, content: textOf(others) }]
}
