/** A conversation as a request of POST /v1/responses (API reference, "Create a model response"). */

import { createHash } from 'node:crypto'
import type { Conversation, Json, JsonObject, Part, RequestOrigin, Tool, Turn } from '#backends/llm/conversation.ts'
import { compact } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { fieldPath, partPath } from '#backends/llm/formats/paths.ts'
import { lossPath } from '#backends/llm/formats/unknown-fields.ts'
import { effortOf } from '#backends/llm/translate/effort.ts'
import { isOurs } from './content-read.ts'
import { callItem, isContent, messageItem, reasoningItem, resultItem, sealItem } from './content-write.ts'
import { LOGPROBS } from './request-read.ts'
import { Wording } from './wording.ts'

export function writeRequest(conversation: Conversation, losses: Losses): JsonObject {
  const wording = new Wording(conversation.origin)
  const { sampling } = conversation
  const body = compact({
    model: conversation.model === '' ? null : conversation.model,
    stream: conversation.isStreamed ? true : null,
    ...writeInput(conversation, wording, losses),
    tools: writeTools(conversation.tools, wording, losses),
    tool_choice: writeToolChoice(conversation, wording),
    parallel_tool_calls: conversation.toolChoice?.parallel ?? null,
    max_output_tokens: sampling.maxTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_logprobs: wording.mark('', 'top_logprobs') === null ? sampling.topLogprobs : null,
    text: writeText(conversation),
    reasoning: writeThinking(conversation),
    service_tier: writeTier(conversation, losses),
    metadata: conversation.metadata,
    ...writeUser(conversation, wording),
    ...writeForeign(conversation, wording, losses)
  })
  reportSampling(conversation, losses)
  wording.restore(body)
  return body
}

function nonEmpty(object: JsonObject): JsonObject | null {
  return Object.keys(object).length === 0 ? null : object
}

function writeInput(conversation: Conversation, wording: Wording, losses: Losses): JsonObject {
  const form = wording.mark('', 'input')
  const { instructions, items } = writeSystem(conversation, wording, losses)
  for (const [i, turn] of conversation.turns.entries()) {
    writeTurn(turn, i, conversation.origin, items, wording, losses)
  }
  const body: { [name: string]: Json } = instructions === null ? {} : { instructions }
  if (form === 'absent' && items.length === 0) return body
  const only = items[0]
  const isText = form === 'text' && items.length === 1 && only!.role === 'user' && typeof only!.content === 'string'
  return { ...body, input: isText ? only!.content! : items }
}

/** One text is `instructions`; where they come in blocks, or have marks of caching, they are a message ahead. */
function writeSystem(
  conversation: Conversation,
  wording: Wording,
  losses: Losses
): { instructions: string | null; items: JsonObject[] } {
  const { system } = conversation
  const items: JsonObject[] = []
  const add = (parts: readonly Part[]) =>
    items.push(messageItem(`input[${items.length}]`, 'system', parts, wording, losses, (i) => `system[${i}]`))
  const counts = wording.mark('', 'system')
  const lengths = Array.isArray(counts) ? (counts as readonly number[]) : []
  const ahead = system.length - lengths.reduce((sum, length) => sum + length, 0)
  const isOne = ahead === 1 && (system[0]!.cache === null || !wording.isOpenAi)
  if (ahead < 0 || (ahead > 0 && !isOne)) {
    if (system.length > 0) add(system)
    return { instructions: null, items }
  }
  let at = ahead
  for (const length of lengths) {
    add(system.slice(at, at + length))
    at += length
  }
  return { instructions: isOne ? system[0]!.text : null, items }
}

function writeTurn(
  turn: Turn,
  at: number,
  origin: RequestOrigin,
  items: JsonObject[],
  wording: Wording,
  losses: Losses
): void {
  let run: Part[] = []
  const add = (end: number) => {
    const start = end - run.length
    const place = (i: number) => partPath(origin, at, start + i)
    items.push(messageItem(`input[${items.length}]`, turn.role, run, wording, losses, place))
    run = []
  }
  for (const [i, part] of turn.parts.entries()) {
    if (isContent(part)) {
      run.push(part)
    } else {
      if (run.length > 0) add(i)
      writePart(part, partPath(origin, at, i), origin, items, wording, losses)
    }
  }
  if (run.length > 0 || turn.parts.length === 0) add(turn.parts.length)
}

function writePart(
  part: Part,
  at: string,
  origin: RequestOrigin,
  items: JsonObject[],
  wording: Wording,
  losses: Losses
): void {
  const path = `input[${items.length}]`
  if (part.kind === 'toolCall') {
    items.push(callItem(part, {}))
    if (part.signature === null) return
    if (isOurs(part.signature, origin.format)) items.push(sealItem('call', part, {}))
    else losses.add(`${at}.signature`)
  } else if (part.kind === 'toolResult') {
    items.push(resultItem(path, part, wording, losses, at))
  } else if (part.kind === 'thinking' && (wording.isOwn || isOurs(part.signature, origin.format))) {
    items.push(reasoningItem(path, part, wording, {}))
  } else if (part.kind === 'opaque' && part.format === 'responses') {
    items.push({ ...part.value })
  } else {
    // Among them the thoughts of others: this API takes back only what it has sealed itself.
    losses.add(at)
  }
}

function writeTools(tools: readonly Tool[], wording: Wording, losses: Losses): Json {
  const written: JsonObject[] = []
  for (const [i, tool] of tools.entries()) {
    const path = `tools[${written.length}]`
    if (tool.native !== null) {
      if (tool.native.format === 'responses') written.push({ ...tool.native.value })
      else losses.add(`tools[${i}]`)
      continue
    }
    written.push(
      compact({
        type: 'function',
        name: tool.name,
        description: tool.description,
        parameters: wording.mark(path, 'bare') === null ? tool.schema : null,
        // This API is strict by default, all others are not.
        strict: tool.strict ?? (wording.isOwn ? null : false)
      })
    )
  }
  return written.length === 0 ? null : written
}

const CHOICES = { auto: 'auto', none: 'none', any: 'required' } as const

function writeToolChoice({ toolChoice }: Conversation, wording: Wording): Json {
  if (toolChoice === null) return null
  if (toolChoice.kind === 'tool') return { type: 'function', name: toolChoice.name }
  if (toolChoice.kind === 'auto' && wording.mark('', 'tool_choice') !== null) return null
  return CHOICES[toolChoice.kind]
}

function writeText({ output, origin }: Conversation): Json {
  const verbosity = origin.format === 'completions' ? origin.unknownFields.get('verbosity') : null
  let format: Json = null
  if (output?.kind === 'json') format = { type: 'json_object' }
  if (output?.kind === 'schema') {
    const { description, schema, strict } = output
    const name = output.name ?? 'answer'
    format = compact({ type: 'json_schema', name, description, schema, strict })
  }
  return nonEmpty(compact({ format, verbosity }))
}

function writeThinking({ thinking }: Conversation): Json {
  const budget = thinking?.budgetTokens ?? null
  const effort = thinking?.effort ?? (budget === null ? null : effortOf(budget))
  return nonEmpty(
    compact({
      effort: thinking?.mode === 'off' ? 'none' : effort,
      summary: thinking?.isShown ? 'auto' : null
    })
  )
}

const TIERS = new Set(['auto', 'default', 'flex', 'scale', 'priority'])

function writeTier({ serviceTier, origin }: Conversation, losses: Losses): string | null {
  if (serviceTier === null || origin.format === 'responses' || TIERS.has(serviceTier)) return serviceTier
  // What Anthropic calls no more than the ordinary.
  if (serviceTier === 'standard_only' || serviceTier === 'standard') return 'default'
  losses.add(fieldPath(origin, 'serviceTier'))
  return null
}

/** Longer ones are refused; OpenAI asks for a hash of them anyway. */
const USER_LENGTH_MAX = 64

function writeUser({ user, origin }: Conversation, wording: Wording): JsonObject {
  if (user === null) return {}
  if (wording.mark('', 'user') === 'old') return { user }
  const isLong = user.length > USER_LENGTH_MAX && origin.format !== 'responses'
  return { safety_identifier: isLong ? createHash('sha256').update(user).digest('hex') : user }
}

/** Fields of Chat Completions that are the same here. */
const SHARED = ['store', 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options', 'moderation']

/** What a request of another format means that this one must say, and what it says that this one cannot. */
function writeForeign(conversation: Conversation, wording: Wording, losses: Losses): JsonObject {
  if (wording.isOwn) return {}
  const { origin, thinking, sampling } = conversation
  // No other API stores answers by default.
  const body: { [name: string]: Json } = { store: false }
  const include: string[] = []
  // Only so do thoughts that are not stored come back. Models that do not think refuse it.
  if (thinking !== null && thinking.mode !== 'off') include.push('reasoning.encrypted_content')
  if (sampling.topLogprobs !== null) include.push(LOGPROBS)
  if (include.length > 0) body.include = include
  for (const [path, value] of origin.unknownFields) {
    if (origin.format === 'completions' && SHARED.includes(path)) body[path] = value
    else if (origin.format !== 'completions' || path !== 'verbosity') losses.add(lossPath(path))
  }
  return body
}

/** This API has no field for these. */
function reportSampling({ sampling, origin }: Conversation, losses: Losses): void {
  if (sampling.stop.length > 0) losses.add(fieldPath(origin, 'stop'))
  if (sampling.count !== null && sampling.count !== 1) losses.add(fieldPath(origin, 'count'))
  for (const name of ['seed', 'topK', 'frequencyPenalty', 'presencePenalty'] as const) {
    if (sampling[name] !== null) losses.add(fieldPath(origin, name))
  }
}
