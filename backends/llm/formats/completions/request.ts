/** Requests: POST /v1/chat/completions (OpenAI API reference, "Create chat completion"). */
import type { Conversation, FormatName, Json, JsonObject, Sampling, Thinking } from '#backends/llm/conversation.ts'
import { Fields } from '#backends/llm/formats/fields.ts'
import { type ChatFormat, FormatError, type Losses } from '#backends/llm/formats/format.ts'
import { effortOf } from '#backends/llm/translate/effort.ts'
import { readMessages } from './content-read.ts'
import { writeMessages } from './content-write.ts'
import { type Draft, draft, giveBack, isString, type Notes, restOf, type Wording, wordingOf } from './rest.ts'
import { readOutput, readToolChoice, readTools, writeOutput, writeToolChoice, writeTools } from './tools.ts'

// --- reading ---

export const readRequest: ChatFormat['readRequest'] = (value, from) => {
  const notes: Notes = { rest: new Map(), wording: new Map() }
  const body = Fields.of(value, '')
  const named = body.optionalString('model')
  // Azure has the deployment in the path, and it is that one which answers.
  const model = from.model ?? named ?? body.string('model')
  const { system, turns } = readMessages(body, notes)
  const conversation: Omit<Conversation, 'origin'> = {
    model,
    isStreamed: readStream(body, notes) ?? from.isStreamed ?? false,
    system,
    turns,
    tools: readTools(body, notes),
    toolChoice: readToolChoice(body, notes),
    sampling: readSampling(body, notes),
    output: readOutput(body, notes),
    thinking: readEffort(body),
    serviceTier: body.optionalString('service_tier'),
    user: readUser(body, notes),
    metadata: readMetadata(body)
  }
  body.leaveUnknown(notes.rest)
  return { ...conversation, origin: restOf(notes) }
}

function readStream(body: Fields, notes: Notes): boolean | null {
  const isStreamed = body.optionalBoolean('stream')
  if (isStreamed === false) notes.wording.set('stream', false)
  const options = body.optionalObject('stream_options')
  if (options === null) return isStreamed
  // Usage at the end is for whoever writes the answer, and not for the provider alone: nothing that could be lost.
  notes.wording.set('stream_options', draft({ include_usage: options.optionalBoolean('include_usage') }))
  options.leaveUnknown(notes.rest)
  return isStreamed
}

function readSampling(body: Fields, notes: Notes): Sampling {
  return {
    maxTokens: readMaxTokens(body, notes),
    temperature: body.optionalNumber('temperature'),
    topP: body.optionalNumber('top_p'),
    topK: body.optionalNumber('top_k'),
    stop: readStop(body, notes),
    seed: body.optionalNumber('seed'),
    frequencyPenalty: body.optionalNumber('frequency_penalty'),
    presencePenalty: body.optionalNumber('presence_penalty'),
    count: body.optionalNumber('n'),
    topLogprobs: readLogprobs(body, notes)
  }
}

function readMaxTokens(body: Fields, notes: Notes): number | null {
  const newer = body.optionalNumber('max_completion_tokens')
  if (newer !== null) return newer
  const older = body.optionalNumber('max_tokens')
  if (older !== null) notes.wording.set('max_tokens', true)
  return older
}

function readStop(body: Fields, notes: Notes): readonly string[] {
  const stop = body.any('stop')
  if (stop === null) return []
  if (isString(stop)) {
    notes.wording.set('stop', 'string')
    return [stop]
  }
  const list = Array.isArray(stop) ? (stop as readonly Json[]) : []
  if (!Array.isArray(stop) || !list.every(isString)) {
    throw new FormatError('stop', 'must be a string or a list of strings')
  }
  if (list.length === 0) notes.wording.set('stop', 'list')
  return list
}

function readLogprobs(body: Fields, notes: Notes): number | null {
  const wanted = body.optionalBoolean('logprobs')
  if (wanted !== true) {
    if (wanted === false) notes.wording.set('logprobs', false)
    return null
  }
  const top = body.optionalNumber('top_logprobs')
  if (top === 0) notes.wording.set('top_logprobs', 0)
  return top ?? 0
}

function readEffort(body: Fields): Thinking | null {
  const effort = body.optionalString('reasoning_effort')
  if (effort === null) return null
  const isOff = effort === 'none'
  return { mode: isOff ? 'off' : 'on', effort: isOff ? null : effort, budgetTokens: null, isShown: null }
}

/** The newer of the two names; where both are given, the older one stays in rest. */
function readUser(body: Fields, notes: Notes): string | null {
  const newer = body.optionalString('safety_identifier')
  if (newer === null) return body.optionalString('user')
  notes.wording.set('safety_identifier', true)
  return newer
}

function readMetadata(body: Fields): Conversation['metadata'] {
  const metadata = body.optionalObject('metadata')
  if (metadata === null) return null
  for (const [name, value] of Object.entries(metadata.value)) {
    if (!isString(value)) throw new FormatError(metadata.at(name), 'must be a string')
  }
  return metadata.value as { readonly [key: string]: string }
}

// --- writing ---

export const writeRequest: ChatFormat['writeRequest'] = (conversation, losses) => {
  const { origin, sampling } = conversation
  const wording = wordingOf(origin)
  const isOwn = origin.format === 'completions'
  const body: Draft = { model: conversation.model, messages: writeMessages(conversation, losses) }
  writeTools(conversation.tools, body, wording, losses)
  writeToolChoice(conversation.toolChoice, body, wording)
  writeSampling(sampling, body, wording)
  // Not OpenAI's, who refuse it, but vLLM's, SGLang's and OpenRouter's.
  if (sampling.topK !== null && isOwn) body.top_k = sampling.topK
  else if (sampling.topK !== null) losses.add(TOP_K[origin.format] ?? 'top_k')
  Object.assign(
    body,
    draft({
      response_format: writeOutput(conversation.output, wording),
      reasoning_effort: writeEffort(conversation.thinking),
      service_tier: isOwn ? conversation.serviceTier : tierOf(conversation.serviceTier, losses),
      [wording.has('safety_identifier') ? 'safety_identifier' : 'user']: conversation.user,
      metadata: conversation.metadata,
      stream: conversation.isStreamed ? true : wording.get('stream'),
      stream_options: streamOptions(conversation, wording)
    })
  )
  giveBack(origin, body, losses)
  return body as JsonObject
}

/** Where each format has top_k. */
const TOP_K: { readonly [format in FormatName]?: string } = {
  gemini: 'generationConfig.topK',
  converse: 'additionalModelRequestFields.top_k'
}

function writeSampling(sampling: Sampling, body: Draft, wording: Wording): void {
  const { topLogprobs, stop } = sampling
  const isTopWritten = topLogprobs !== null && (topLogprobs > 0 || wording.has('top_logprobs'))
  Object.assign(
    body,
    draft({
      [wording.has('max_tokens') ? 'max_tokens' : 'max_completion_tokens']: sampling.maxTokens,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      stop: writeStop(stop, wording),
      seed: sampling.seed,
      frequency_penalty: sampling.frequencyPenalty,
      presence_penalty: sampling.presencePenalty,
      n: sampling.count,
      logprobs: topLogprobs === null ? wording.get('logprobs') : true,
      top_logprobs: isTopWritten ? topLogprobs : null
    })
  )
}

function writeStop(stop: readonly string[], wording: Wording): Json {
  const how = wording.get('stop')
  if (how === 'string' && stop.length === 1) return stop[0] ?? null
  return stop.length > 0 || how === 'list' ? [...stop] : null
}

function writeEffort(thinking: Thinking | null): string | null {
  if (thinking === null) return null
  if (thinking.mode === 'off') return 'none'
  return thinking.effort ?? (thinking.budgetTokens === null ? null : effortOf(thinking.budgetTokens))
}

const TIERS: readonly string[] = ['auto', 'default', 'flex', 'scale', 'priority']

/** Anthropic's standard_only and Google's standard are OpenAI's default. */
function tierOf(tier: string | null, losses: Losses): string | null {
  if (tier === null || TIERS.includes(tier)) return tier
  if (tier === 'standard_only' || tier === 'standard') return 'default'
  losses.add('service_tier')
  return null
}

/** Usage of streams is wanted from here always, unless the request came in this format and says what it wants. */
function streamOptions(conversation: Conversation, wording: Wording): Json {
  const own = wording.get('stream_options')
  if (own !== undefined) return { ...(own as JsonObject) }
  return conversation.isStreamed && conversation.origin.format !== 'completions' ? { include_usage: true } : null
}
