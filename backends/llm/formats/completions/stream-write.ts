/** Events as chunks (OpenAI API reference, "The chat completion chunk object"). */

import type { ChatError, Json, JsonObject, Part, Signature, ThinkingPart } from '#backends/llm/conversation.ts'
import { writeError } from '#backends/llm/formats/completions/error.ts'
import { type EventOf, EventWriter } from '#backends/llm/formats/event-writer.ts'
import type { Writable } from '#backends/llm/formats/fields.ts'
import type { AnswerContext, Losses } from '#backends/llm/formats/format.ts'
import { lostPart } from '#backends/llm/translate/dropped-fields.ts'
import { addOther, headOf, isLegacyCall, writeLogprobs } from './answer.ts'
import { writeStop } from './stop.ts'
import { writeBlock } from './thinking.ts'
import { extraContent, isOpaqueCall } from './tool-calls.ts'
import { writeUsage } from './usage.ts'

interface OpenChoice {
  part: Part | null
  /** Of the open part, when it is thinking. */
  text: string
  /** Calls begun so far; the open one is the last. */
  calls: number
  /** Arguments of the open call have been written. */
  hasArguments: boolean
  /** The open call is a function_call. */
  isLegacy: boolean
  hasLegacyCall: boolean
  hasRefused: boolean
  /** Thoughts that are in reasoning_content alone, until others follow. */
  pending: ThinkingPart | null
  hasBlocks: boolean
  /** Blocks of thoughts and images that have been written: clients join each list of a message by index. */
  blocks: number
  images: number
}

export class CompletionsWriter extends EventWriter {
  readonly #choices: (OpenChoice | undefined)[] = []
  /** Of every chunk, up to its choices; and what follows them. */
  #head = ''
  readonly #tail: string

  constructor(context: AnswerContext, losses?: Losses) {
    super(context, losses)
    // "All other chunks will also include a usage field, but with a null value."
    this.#tail = context.wantsUsage ? '],"usage":null}\n\n' : ']}\n\n'
    this.#begin('', 0)
  }

  protected start({ id, created }: EventOf<'start'>): string {
    this.#begin(id, created)
    return ''
  }

  protected error(error: ChatError): string {
    return `data: ${JSON.stringify(writeError(error))}\n\n`
  }

  protected done(): string {
    return `${this.#usageChunk()}data: [DONE]\n\n`
  }

  #begin(id: string, created: number): void {
    const head = { ...headOf({ id, created }, this.context), object: 'chat.completion.chunk' }
    this.#head = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`
  }

  #chunk(choice: number, delta: string, end: string): string {
    return `${this.#head}{"index":${choice},"delta":${delta},${end}}${this.#tail}`
  }

  #say(choice: number, delta: Writable): string {
    return this.#chunk(choice, JSON.stringify(delta), '"finish_reason":null')
  }

  /** The choice, and its first chunk when there was none yet. */
  #open(index: number): { readonly open: OpenChoice; readonly first: string } {
    const known = this.#choices[index]
    if (known !== undefined) return { open: known, first: '' }
    const open: OpenChoice = {
      part: null,
      text: '',
      calls: 0,
      hasArguments: false,
      isLegacy: false,
      hasLegacyCall: false,
      hasRefused: false,
      pending: null,
      hasBlocks: false,
      blocks: 0,
      images: 0
    }
    this.#choices[index] = open
    return { open, first: this.#say(index, { role: 'assistant', content: '' }) }
  }

  protected begin(part: Part, choice: number): string {
    const { open, first } = this.#open(choice)
    open.part = part
    open.text = ''
    open.hasArguments = false
    if (part.kind === 'text' || part.kind === 'thinking' || part.kind === 'refusal') {
      if (part.kind === 'refusal') open.hasRefused = true
      return first + this.#content(choice, open, part.text, null)
    }
    if (part.kind === 'toolCall') {
      const call = this.#beginCall(choice, open, part)
      return first + call + this.#content(choice, open, part.arguments, null)
    }
    if (isOpaqueCall(part)) {
      open.calls++
      return first + this.#say(choice, { tool_calls: [{ ...part.value, index: open.calls - 1 }] })
    }
    const delta: Writable = {}
    if (addOther(part, delta)) {
      if (Array.isArray(delta.images)) delta.images = [{ index: open.images++, ...(delta.images[0] as JsonObject) }]
      return first + this.#say(choice, delta)
    }
    this.losses.add(lostPart(choice, part))
    return first
  }

  #beginCall(choice: number, open: OpenChoice, part: Extract<Part, { kind: 'toolCall' }>): string {
    const named = { name: part.name, arguments: '' }
    open.isLegacy = isLegacyCall(part) && !open.hasLegacyCall
    if (open.isLegacy) {
      open.hasLegacyCall = true
      return this.#say(choice, { function_call: named })
    }
    const call: Writable = { index: open.calls, id: part.id, type: 'function', function: named }
    if (part.signature !== null) call.extra_content = extraContent(part.signature)
    open.calls++
    return this.#say(choice, { tool_calls: [call] })
  }

  protected delta({ choice, text, logprobs }: EventOf<'delta'>): string {
    const open = this.#choices[choice]
    return open === undefined ? '' : this.#content(choice, open, text, logprobs)
  }

  /** More of the open part. */
  #content(choice: number, open: OpenChoice, text: string, logprobs: Json): string {
    const { part } = open
    if (part === null || (text === '' && logprobs === null)) return ''
    const quoted = JSON.stringify(text)
    const end = logprobs === null ? GOES_ON : logprobsEnd(logprobs, part.kind === 'refusal')
    if (part.kind === 'toolCall') {
      open.hasArguments = true
      if (open.isLegacy) return this.#chunk(choice, `{"function_call":{"arguments":${quoted}}}`, end)
      const call = `{"tool_calls":[{"index":${open.calls - 1},"function":{"arguments":${quoted}}}]}`
      return this.#chunk(choice, call, end)
    }
    if (part.kind === 'thinking') {
      const blocks = this.#flush(choice, open)
      open.text += text
      return blocks + this.#chunk(choice, `{"reasoning_content":${quoted}}`, end)
    }
    return this.#chunk(choice, part.kind === 'refusal' ? `{"refusal":${quoted}}` : `{"content":${quoted}}`, end)
  }

  /** The block of thoughts before, which others turn out to follow. */
  #flush(choice: number, open: OpenChoice): string {
    if (open.pending === null) return ''
    const block = writeBlock(open.pending)
    open.pending = null
    return this.#sayBlock(choice, open, block)
  }

  /** openai-python puts lists of a message together by `index`, and fails without. */
  #sayBlock(choice: number, open: OpenChoice, block: Writable): string {
    open.hasBlocks = true
    return this.#say(choice, { thinking_blocks: [{ index: open.blocks++, ...block }] })
  }

  protected sign(signature: Signature, choice: number): string {
    const open = this.#choices[choice]
    if (open?.part?.kind === 'thinking') open.part = { ...open.part, signature }
    if (open?.part?.kind !== 'toolCall' || open.isLegacy) return ''
    // Clients (openai-python, LangChain, LiteLLM, the ai SDK) read `function` of every piece without asking for it.
    const piece = { index: open.calls - 1, function: { arguments: '' }, extra_content: extraContent(signature) }
    return this.#say(choice, { tool_calls: [piece] })
  }

  protected end(choice: number): string {
    const open = this.#choices[choice]
    const part = open?.part ?? null
    if (open === undefined || part === null) return ''
    const isBare = part.kind === 'toolCall' && !open.hasArguments
    const last = isBare ? this.#content(choice, open, '{}', null) : ''
    open.part = null
    if (part.kind !== 'thinking') return last
    const thoughts = { ...part, text: open.text }
    const isAlone = part.signature === null && !part.isRedacted
    if (isAlone && open.text === '') return ''
    const blocks = this.#flush(choice, open)
    if (isAlone && !open.hasBlocks) {
      open.pending = thoughts
      return blocks
    }
    // As LiteLLM has it: the whole block once it is complete, after its text came as reasoning_content.
    return blocks + this.#sayBlock(choice, open, writeBlock(thoughts))
  }

  protected stop({ choice, stop, stopSequence }: EventOf<'stop'>): string {
    const { open, first } = this.#open(choice)
    if (stop === 'pause') this.losses.add(`choices[${choice}].finish_reason`)
    const word = JSON.stringify(writeStop(stop, open.hasRefused, open.hasLegacyCall))
    const sequence = stopSequence === null ? '' : `,"stop_reason":${JSON.stringify(stopSequence)}`
    return first + this.#chunk(choice, '{}', `"finish_reason":${word}${sequence}`)
  }

  #usageChunk(): string {
    if (!this.context.wantsUsage || this.usage === null) return ''
    const tier = this.serviceTier === null ? '' : `,"service_tier":${JSON.stringify(this.serviceTier)}`
    return `${this.#head}],"usage":${JSON.stringify(writeUsage(this.usage))}${tier}}\n\n`
  }
}

const GOES_ON = '"finish_reason":null'

function logprobsEnd(logprobs: Json, isOfRefusal: boolean): string {
  return `"logprobs":${JSON.stringify(writeLogprobs(logprobs, isOfRefusal))},${GOES_ON}`
}
