/**
 * What an answer says, read from the JSON of each format without Weir's own readers: those are what is tested. Only
 * what all formats can say is compared; the rest must be named where it is lost.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { WireFormat } from './read.ts'

export interface Facts {
  readonly text: string
  /** Calls of functions: name, and arguments with sorted keys. */
  readonly calls: readonly string[]
  /** Arguments came in pieces of Gemini's, which are not put together here. */
  readonly hasPieces?: boolean
  readonly stop: string
  /** Tokens; null: not told. */
  readonly input: number | null
  readonly output: number | null
  /** Types of what else it has. */
  readonly others: readonly string[]
}

type Loose = { readonly [name: string]: Json | undefined }

const list = (value: Json | undefined): readonly Loose[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : []
const object = (value: Json | undefined): Loose => (isObject(value) ? value : {})
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const count = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)

function call(name: Json | undefined, args: Json | undefined): string {
  const value = typeof args === 'string' ? parsed(args) : (args ?? {})
  return `${text(name)}(${JSON.stringify(sorted(value))})`
}

function parsed(args: string): Json {
  try {
    return args === '' ? {} : JSON.parse(args)
  } catch {
    return args
  }
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(sorted)
  if (!isObject(value)) return value
  const pairs = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(pairs.map(([name, one]) => [name, sorted(one)]))
}

/** Bedrock runs it itself. */
const SERVER_TOOL = 'server_tool_use'

export function factsOf(format: WireFormat, whole: JsonObject): Facts {
  return READERS[format](whole)
}

const STOPS: Readonly<Record<string, string>> = {
  ...{
    stop: 'end',
    end_turn: 'end',
    stop_sequence: 'end',
    pause_turn: 'end',
    STOP: 'end',
    completed: 'end',
    eos: 'end'
  },
  ...{ COMPLETE: 'end', STOP_SEQUENCE: 'end', TOOL_CALL: 'tools' },
  // Behind calls; and of what a format of answers cannot say.
  ...{ UNEXPECTED_TOOL_CALL: 'end', CONTINUATION: 'end', queued: 'end', in_progress: 'end' },
  ...{ length: 'length', max_tokens: 'length', MAX_TOKENS: 'length', max_output_tokens: 'length' },
  ...{ model_context_window_exceeded: 'length', compaction: 'end' },
  ...{ tool_calls: 'tools', tool_use: 'tools', function_call: 'tools' },
  ...{ content_filter: 'filter', content_filtered: 'filter', guardrail_intervened: 'filter', refusal: 'filter' },
  ...{
    SAFETY: 'filter',
    RECITATION: 'filter',
    PROHIBITED_CONTENT: 'filter',
    BLOCKLIST: 'filter',
    IMAGE_SAFETY: 'filter',
    MODEL_ARMOR: 'filter'
  }
}

/** A call is to be answered, whatever the word. */
function stopOf(word: Json | undefined, calls: readonly string[]): string {
  const stop = STOPS[text(word)] ?? (text(word) === '' ? 'end' : text(word))
  return stop === 'end' && calls.length > 0 ? 'tools' : stop
}

const READERS: { readonly [F in WireFormat]: (whole: JsonObject) => Facts } = {
  completions(whole) {
    const [choice = {}] = list(whole.choices)
    const message = object(choice.message)
    const parts = Array.isArray(message.content) ? list(message.content) : []
    const words = typeof message.content === 'string' ? [message.content] : parts.map((part) => text(part.text))
    const calls = [
      ...list(message.tool_calls).map((one) => call(object(one.function).name, object(one.function).arguments)),
      ...(text(object(message.function_call).name) === ''
        ? []
        : [call(object(message.function_call).name, object(message.function_call).arguments)])
    ]
    const usage = object(whole.usage)
    const prompt = count(usage.prompt_tokens)
    const known = usage.prompt_tokens !== undefined
    const refusal = text(message.refusal)
    const stop = stopOf(choice.finish_reason, calls)
    return {
      text: words.join('') + refusal,
      calls,
      // Other formats have a reason of their own for it.
      stop: refusal !== '' && stop === 'end' ? 'filter' : stop,
      input: known ? prompt : null,
      output: known ? Math.max(count(usage.completion_tokens), count(usage.total_tokens) - prompt) : null,
      others: [...list(message.images).map(() => 'image'), ...list(message.annotations).map(() => 'annotation')]
    }
  },
  messages(whole) {
    const blocks = list(whole.content)
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ name, input }) => call(name, input))
    const usage = object(whole.usage)
    const cached = count(usage.cache_read_input_tokens) + count(usage.cache_creation_input_tokens)
    const known = ['text', 'tool_use', 'thinking', 'redacted_thinking']
    return {
      text: blocks.map((block) => (block.type === 'text' ? text(block.text) : '')).join(''),
      calls,
      stop: stopOf(whole.stop_reason, calls),
      input: usage.input_tokens === undefined ? null : count(usage.input_tokens) + cached,
      output: usage.output_tokens === undefined ? null : count(usage.output_tokens),
      others: blocks.map(({ type }) => text(type)).filter((type) => !known.includes(type))
    }
  },
  responses(whole) {
    const items = list(whole.output)
    const parts = items.flatMap((item) => (item.type === 'message' ? list(item.content) : []))
    const calls = items.filter(({ type }) => type === 'function_call').map((item) => call(item.name, item.arguments))
    const usage = object(whole.usage)
    const why = whole.status === 'incomplete' ? object(whole.incomplete_details).reason : whole.status
    const refused = parts.some(({ type }) => type === 'refusal')
    return {
      text: parts.map((part) => text(part.text) + text(part.refusal)).join(''),
      calls,
      stop: refused && why === 'completed' ? 'filter' : stopOf(why, calls),
      input: usage.input_tokens === undefined ? null : count(usage.input_tokens),
      output: usage.output_tokens === undefined ? null : count(usage.output_tokens),
      others: items
        .map(({ type }) => text(type))
        .filter((type) => !['message', 'function_call', 'reasoning'].includes(type))
    }
  },
  gemini(whole) {
    const [candidate = {}] = list(whole.candidates)
    const parts = list(object(candidate.content).parts)
    const calls = parts
      .filter(({ functionCall }) => isObject(functionCall))
      .map(({ functionCall }) => call(object(functionCall).name, object(functionCall).args))
    const usage = object(whole.usageMetadata)
    const output = count(usage.candidatesTokenCount) + count(usage.thoughtsTokenCount)
    const isKnown = (part: Loose): boolean =>
      part.text !== undefined || part.functionCall !== undefined || part.thoughtSignature !== undefined
    const blocked = text(object(whole.promptFeedback).blockReason) === '' ? undefined : 'SAFETY'
    return {
      text: parts.map((part) => (part.thought === true ? '' : text(part.text))).join(''),
      calls,
      hasPieces: whole.hasPieces === true,
      stop: stopOf(candidate.finishReason ?? blocked, calls),
      input:
        usage.promptTokenCount === undefined
          ? null
          : count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount),
      output: usage.promptTokenCount === undefined ? null : output,
      others: parts.filter((part) => !isKnown(part)).map((part) => Object.keys(part)[0] ?? '')
    }
  },
  converse(whole) {
    const blocks = list(object(object(whole.output).message).content)
    const calls = blocks
      .filter(({ toolUse }) => isObject(toolUse) && toolUse.type !== SERVER_TOOL)
      .map(({ toolUse }) => call(object(toolUse).name, object(toolUse).input))
    const usage = object(whole.usage)
    const cached = count(usage.cacheReadInputTokens) + count(usage.cacheWriteInputTokens)
    const isKnown = (block: Loose): boolean =>
      ['text', 'toolUse', 'reasoningContent'].some((name) => block[name] !== undefined) &&
      object(block.toolUse).type !== SERVER_TOOL
    return {
      text: blocks.map((block) => text(block.text)).join(''),
      calls,
      stop: stopOf(whole.stopReason, calls),
      input: usage.inputTokens === undefined ? null : count(usage.inputTokens) + cached,
      output: usage.outputTokens === undefined ? null : count(usage.outputTokens),
      others: blocks.filter((block) => !isKnown(block)).map((block) => Object.keys(block)[0] ?? '')
    }
  },
  cohereV2(whole) {
    const message = object(whole.message)
    const blocks = list(message.content)
    const calls = list(message.tool_calls).map(({ function: named }) => {
      const { name, arguments: args } = object(named)
      return call(name, args === 'null' ? '' : args)
    })
    const usage = object(object(whole.usage).billed_units)
    return {
      text: blocks.map((block) => text(block.text)).join('') + text(message.tool_plan),
      calls,
      stop: stopOf(whole.finish_reason, calls),
      input: usage.input_tokens === undefined ? null : count(usage.input_tokens),
      output: usage.output_tokens === undefined ? null : count(usage.output_tokens),
      others: list(message.citations).map(() => 'citation')
    }
  }
}
