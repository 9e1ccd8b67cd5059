/** An answer that was kept, in the form that another client wants: whole, or as a stream. */
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, FormatName, JsonObject, Part, StopReason } from '#backends/llm/conversation.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { eventsOf } from '#backends/llm/guards/collected-stream.ts'
import { answerContextOf, type ChatRequest } from '#backends/llm/request/chat-request.ts'
import { sseFraming } from '#backends/llm/stream/framing.ts'
import type { Kept } from './store.ts'

type Form = Pick<Kept, 'format' | 'isStream' | 'bytes'>

/** Throws FormatError, SseTooLong, SyntaxError, or Error for a stream that ends with an error. */
export function readKept({ format, isStream, bytes }: Form): Answer {
  if (!isStream) return FORMATS[format].readAnswer(JSON.parse(bytes.toString()) as JsonObject)
  return assemble(readEvents(bytes, format), format)
}

function* readEvents(bytes: Buffer, format: FormatName): Generator<ChatEvent> {
  const reader = FORMATS[format].streamReader()
  for (const event of eventsOf(bytes, sseFraming())) yield* reader.read(event)
}

/** Bytes that are those of `kept`, or what they say in the form that `chat` asks for. Throws as readKept. */
export function keptFor(kept: Kept, chat: ChatRequest): Buffer {
  const isSame = kept.isStream === chat.isStreamed
  if (isSame && (!kept.isStream || kept.hasUsage === chat.wantsUsage)) return kept.bytes
  const answer = { ...readKept(kept), usage: kept.usage }
  const context = answerContextOf(chat)
  if (!chat.isStreamed) {
    return Buffer.from(JSON.stringify(FORMATS[chat.client].writeAnswer(answer, context, new Losses())))
  }
  const writer = FORMATS[chat.client].streamWriter(context)
  return Buffer.from(
    eventsIn(answer)
      .map((event) => writer.write(event))
      .join('')
  )
}

/** What a stream of `answer` says. */
function eventsIn({ id, model, created, choices, usage, serviceTier }: Answer): ChatEvent[] {
  const events: ChatEvent[] = [{ kind: 'start', id, model, created, usage }]
  choices.forEach(({ parts, stop, stopSequence, logprobs }, choice) => {
    for (const part of parts) events.push(...partEvents(part, choice, logprobs))
    events.push({ kind: 'stop', choice, stop, stopSequence })
  })
  if (usage !== null) events.push({ kind: 'usage', usage, serviceTier })
  events.push({ kind: 'done' })
  return events
}

function* partEvents(
  part: Part,
  choice: number,
  logprobs: Answer['choices'][number]['logprobs']
): Generator<ChatEvent> {
  const { kind } = part
  if (kind === 'toolCall') {
    yield { kind: 'begin', choice, part: { ...part, arguments: '', signature: null } }
    yield { kind: 'delta', choice, text: part.arguments, logprobs: null }
  } else if (kind === 'text' || kind === 'refusal') {
    yield { kind: 'begin', choice, part: { ...part, text: '' } }
    yield { kind: 'delta', choice, text: part.text, logprobs: kind === 'text' ? logprobs : null }
  } else if (kind === 'thinking') {
    yield { kind: 'begin', choice, part: part.isRedacted ? part : { ...part, text: '', signature: null } }
    if (part.text !== '') yield { kind: 'delta', choice, text: part.text, logprobs: null }
  } else yield { kind: 'begin', choice, part }
  const isSealed = (kind === 'toolCall' || kind === 'thinking') && part.signature !== null
  if (isSealed && !(kind === 'thinking' && part.isRedacted)) {
    yield { kind: 'signature', choice, signature: part.signature! }
  }
  yield { kind: 'end', choice }
}

/** Answers that say all they were going to. A filter may judge otherwise the next time; so may a full context. */
const WHOLE: ReadonlySet<StopReason> = new Set<StopReason>(['end', 'length', 'stopSequence', 'tools'])

/** Whether others may have it. */
export function isKeepable(form: Form, keepsToolCalls: boolean): boolean {
  try {
    const { choices } = readKept(form)
    const isQuiet = (part: Part) => part.kind !== 'toolCall' && part.kind !== 'opaque'
    return (
      choices.length > 0 &&
      choices.every(({ parts, stop }) => WHOLE.has(stop) && (keepsToolCalls || parts.every(isQuiet)))
    )
  } catch {
    // What cannot be read is passed on, and not kept.
    return false
  }
}
