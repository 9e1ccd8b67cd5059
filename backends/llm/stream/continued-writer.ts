/**
 * The rest of an answer in the wire format of the provider that has begun it, as if that one had gone on: same id, same
 * model, next index. So guards, translation and clients see one stream.
 */
import type { ChatEvent, ClientFormat, Part, Usage } from '#backends/llm/conversation.ts'
import { type AnswerContext, Losses, type StreamWriter, type WireEvent } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { itemId } from '#backends/llm/formats/responses/answer-items-write.ts'
import { parseJson } from '#engine/kit/json.ts'
import type { AnswerSoFar, SpokenPart } from './answer-so-far.ts'

/** What the Responses API names in each event: ids of the provider's items, and a number that counts events. */
export class ResponsesNames {
  readonly ids: string[] = []
  next = 0

  hear({ data }: WireEvent): void {
    const event = parseJson(data) as
      | { sequence_number?: unknown; type?: unknown; output_index?: unknown; item?: { id?: unknown } }
      | undefined
    if (typeof event?.sequence_number === 'number') this.next = event.sequence_number + 1
    const { type, output_index: index, item } = event ?? {}
    if (type !== 'response.output_item.added' || typeof index !== 'number' || typeof item?.id !== 'string') return
    if (index === this.ids.length) this.ids.push(item.id)
  }
}

export class ContinuedWriter {
  readonly #writer: StreamWriter
  readonly #context: AnswerContext
  readonly #names: ResponsesNames | null
  /** Between the numbers of the provider's events and the writer's; null: it has written none yet. */
  #shift: number | null = null
  /** What the providers before have told. */
  #usage: Usage | null
  /** The part of the first provider that is still open. */
  #isJoined: boolean
  #isFirst = true
  /** White space at the end of what was said: most providers are not told it, and may say it again. */
  #space: string
  #skips = false
  readonly #skipsThoughts: boolean

  constructor(format: ClientFormat, soFar: AnswerSoFar, names: ResponsesNames | null, usage: Usage | null) {
    const { start, parts, text } = soFar
    const { id, model, created } = start!
    const at = created > 0 ? created * 1_000 : Date.now()
    this.#context = { model, wantsUsage: true, at, id: crypto.randomUUID().replaceAll('-', '') }
    this.#writer = FORMATS[format].streamWriter(this.#context, new Losses())
    this.#names = format === 'responses' ? names : null
    this.#usage = usage
    this.#isJoined = soFar.isOpen
    this.#space = text.slice(text.trimEnd().length)
    this.#skipsThoughts = text !== '' || soFar.hasThoughts
    this.#writer.write({ kind: 'start', id, model, created, usage })
    for (const [i, part] of parts.entries()) this.#retell(part, i < parts.length - 1 || !soFar.isOpen)
  }

  /** Brings the writer to where the stream is. */
  #retell({ kind, text }: SpokenPart, isClosed: boolean): void {
    const part: Part = kind === 'text' ? { kind, text: '', cache: null } : THOUGHTS
    this.#writer.write({ kind: 'begin', choice: 0, part })
    if (text !== '') this.#writer.write({ kind: 'delta', choice: 0, text, logprobs: null })
    if (isClosed) this.#writer.write({ kind: 'end', choice: 0 })
  }

  /** What the stream says for an event of the provider that goes on; '' for nothing. */
  write(event: ChatEvent): string {
    switch (event.kind) {
      case 'start':
        return ''
      case 'begin':
        return this.#begin(event)
      case 'delta':
        return this.#delta(event)
      case 'signature':
        return this.#skips ? '' : this.#written(event)
      case 'end':
        return this.#end()
      case 'stop':
        return this.#close() + this.#written(event)
      case 'usage':
        return this.#written({ ...event, usage: sum(this.#usage, event.usage) })
      default:
        return this.#written(event)
    }
  }

  #begin(event: Extract<ChatEvent, { readonly kind: 'begin' }>): string {
    const { kind } = event.part
    if (kind === 'thinking' && this.#skipsThoughts) {
      this.#skips = true
      return ''
    }
    if (kind === 'text' && this.#isJoined) return ''
    return this.#close() + this.#written(event)
  }

  #delta(event: Extract<ChatEvent, { readonly kind: 'delta' }>): string {
    if (this.#skips) return ''
    let { text } = event
    if (this.#isFirst) {
      this.#isFirst = false
      text = withoutOverlap(this.#space, text)
    }
    return text === '' ? '' : this.#written({ ...event, text })
  }

  #end(): string {
    if (this.#skips) {
      this.#skips = false
      return ''
    }
    this.#isJoined = false
    return this.#written({ kind: 'end', choice: 0 })
  }

  /** Ends the part of the first provider, where the other one has nothing more to say in it. */
  #close(): string {
    if (!this.#isJoined) return ''
    this.#isJoined = false
    return this.#written({ kind: 'end', choice: 0 })
  }

  #written(event: ChatEvent): string {
    const text = this.#writer.write(event)
    return this.#names === null || text === '' ? text : this.#named(text, this.#names)
  }

  #named(text: string, { ids, next }: ResponsesNames): string {
    let named = text.replace(NUMBER, (_, number: string) => {
      this.#shift ??= next - Number(number)
      return `"sequence_number":${Number(number) + this.#shift}`
    })
    ids.forEach((id, index) => {
      for (const type of ['message', 'reasoning'] as const)
        named = named.replaceAll(JSON.stringify(itemId(this.#context, type, index)), () => JSON.stringify(id))
    })
    return named
  }
}

const THOUGHTS: Part = { kind: 'thinking', text: '', signature: null, isRedacted: false }
/** In a text its quotes would be escaped. */
const NUMBER = /"sequence_number":(\d+)/g

/** `text` without what it repeats of the end of `space`. */
function withoutOverlap(space: string, text: string): string {
  for (let from = 0; from < space.length; from++) {
    const end = space.slice(from)
    if (text.startsWith(end)) return text.slice(end.length)
  }
  return text
}

/** Each provider has been asked, and has answered: the client is told what both have counted. */
function sum(before: Usage | null, after: Usage): Usage {
  if (before === null) return after
  const keys = Object.keys(after) as (keyof Usage)[]
  return Object.fromEntries(keys.map((key) => [key, (before[key] ?? 0) + (after[key] ?? 0)])) as unknown as Usage
}
