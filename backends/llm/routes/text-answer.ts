/** Answers of chats as OpenAI's older completions (API reference, "The completion object"), whole and in pieces. */
import type { ChatError, FormatName, Json, JsonObject, Part, Usage } from '#backends/llm/conversation.ts'
import { writeError } from '#backends/llm/formats/completions/error.ts'
import { writeStop } from '#backends/llm/formats/completions/stop.ts'
import { writeUsage } from '#backends/llm/formats/completions/usage.ts'
import { type EventOf, EventWriter } from '#backends/llm/formats/event-writer.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { AnswerSpec } from './answer-spec.ts'

export interface TextAnswerSpec extends AnswerSpec {
  readonly of: 'TextCompletions'
  readonly providerFormat: FormatName
  /** By the client's name. */
  readonly model: string
  /** What stands ahead of each text; "" where the client wants none. */
  readonly echo: string
  /** Answers that were asked for at once. */
  readonly count: number
  /** At the end of a stream. */
  readonly wantsUsage: boolean
}

/** Throws FormatError. */
export function textAnswer({ providerFormat, model, echo }: TextAnswerSpec, body: Json): JsonObject {
  const answer = FORMATS[providerFormat].readAnswer(body as JsonObject)
  const choices = answer.choices.map(({ parts, stop, logprobs }, index) => ({
    text: echo + parts.map(textIn).join(''),
    index,
    logprobs: olderLogprobs(logprobs, 0),
    finish_reason: wordFor(stop)
  }))
  const usage = answer.usage === null ? {} : { usage: writeUsage(answer.usage) }
  return { ...headOf(answer.id, answer.created, model), choices, ...usage }
}

/** A refusal is what the model says. */
const textIn = (part: Part): string => (part.kind === 'text' || part.kind === 'refusal' ? part.text : '')

/** There were no calls of tools. */
const wordFor = (stop: EventOf<'stop'>['stop']): string => writeStop(stop === 'tools' ? 'end' : stop, false, false)

function headOf(id: string, created: number, model: string): JsonObject {
  return {
    id: id === '' ? `cmpl-${crypto.randomUUID().replaceAll('-', '')}` : id.replace(/^chatcmpl-/, 'cmpl-'),
    object: 'text_completion',
    created: created === 0 ? Math.floor(Date.now() / 1000) : created,
    model
  }
}

/** `offset`: of the first token in the text, in characters. */
function olderLogprobs(entries: Json, offset: number): JsonObject | null {
  if (!Array.isArray(entries)) return null
  const tokens: Json[] = []
  const logprobs: Json[] = []
  const tops: Json[] = []
  const offsets: Json[] = []
  let at = offset
  for (const one of entries as readonly Json[]) {
    if (!isObject(one) || !isString(one.token)) continue
    tokens.push(one.token)
    logprobs.push(one.logprob ?? null)
    tops.push(topsOf(one.top_logprobs ?? null))
    offsets.push(at)
    at += one.token.length
  }
  return { tokens, token_logprobs: logprobs, top_logprobs: tops, text_offset: offsets }
}

function topsOf(list: Json): Json {
  if (!Array.isArray(list) || list.length === 0) return null
  const named = (list as readonly Json[]).flatMap((one) =>
    isObject(one) && isString(one.token) ? [[one.token, one.logprob ?? null] as const] : []
  )
  return Object.fromEntries(named)
}

/** A chat's events as pieces of completions. */
export class TextWriter extends EventWriter {
  readonly #spec: TextAnswerSpec
  /** Characters of each choice so far; a choice that is not there has not begun. */
  readonly #lengths: (number | undefined)[] = []
  /** Whether the open part of a choice is one that is read. */
  readonly #isSpoken: boolean[] = []
  #head: JsonObject

  constructor(spec: TextAnswerSpec, losses: Losses) {
    super({ model: spec.model, wantsUsage: spec.wantsUsage, at: 0, id: '' }, losses)
    this.#spec = spec
    this.#head = headOf('', 0, spec.model)
  }

  protected start({ id, created }: EventOf<'start'>): string {
    this.#head = headOf(id, created, this.#spec.model)
    return ''
  }

  protected begin(part: Part, choice: number): string {
    this.#isSpoken[choice] = part.kind === 'text' || part.kind === 'refusal'
    return this.#text(choice, textIn(part), null)
  }

  protected delta({ choice, text, logprobs }: EventOf<'delta'>): string {
    return this.#isSpoken[choice] === true ? this.#text(choice, text, logprobs) : ''
  }

  protected sign(): string {
    return ''
  }

  protected end(): string {
    return ''
  }

  protected stop({ stop }: EventOf<'stop'>, choice: number): string {
    return this.#chunk(choice, this.#lengths[choice] === undefined ? this.#spec.echo : '', null, wordFor(stop))
  }

  protected error(error: ChatError): string {
    return `data: ${JSON.stringify(writeError(error))}\n\n`
  }

  protected done(): string {
    const usage = this.#spec.wantsUsage ? this.#usageChunk(this.usage) : ''
    return `${usage}data: [DONE]\n\n`
  }

  #text(choice: number, text: string, logprobs: Json): string {
    const length = this.#lengths[choice]
    if (text === '' && logprobs === null) return ''
    const echo = length === undefined ? this.#spec.echo : ''
    this.#lengths[choice] = (length ?? 0) + echo.length + text.length
    return this.#chunk(choice, echo + text, olderLogprobs(logprobs, length ?? 0), null)
  }

  #chunk(index: number, text: string, logprobs: JsonObject | null, stop: string | null): string {
    const choices = [{ text, index, logprobs, finish_reason: stop }]
    return `data: ${JSON.stringify({ ...this.#head, choices })}\n\n`
  }

  #usageChunk(usage: Usage | null): string {
    if (usage === null) return ''
    return `data: ${JSON.stringify({ ...this.#head, choices: [], usage: writeUsage(usage) })}\n\n`
  }
}
