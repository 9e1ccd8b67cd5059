/** Answers (OpenAI API reference, "The chat completion object"). */

import type {
  Choice,
  Json,
  JsonObject,
  OpaquePart,
  Part,
  StopReason,
  ThinkingPart,
  ToolCallPart
} from '#backends/llm/conversation.ts'
import { compact, Fields, isObject, isString, type Writable } from '#backends/llm/formats/fields.ts'
import type { AnswerContext, ChatFormat, Losses } from '#backends/llm/formats/format.ts'
import { newNotes, type ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { readContent, readPart, writePart } from './parts.ts'
import { hasCalls, hasRefusal, readStop, writeStop } from './stop.ts'
import { readThinking, writeThinking } from './thinking.ts'
import { isLegacy, isOpaqueCall, readCalls, writeCalls } from './tool-calls.ts'
import { readUsage, writeUsage } from './usage.ts'
import { originOf, restore, type Wording, wordingOf } from './wording.ts'

// --- reading ---

export const readAnswer: ChatFormat['readAnswer'] = (value) => {
  const notes = newNotes()
  const body = Fields.of(value, '')
  body.any('object')
  body.list('choices')
  const usage = isObject(body.any('usage')) ? body.object('usage') : null
  const answer = {
    id: body.label('id') ?? '',
    model: body.label('model') ?? '',
    created: typeof body.any('created') === 'number' ? body.count('created') : 0,
    choices: body.objects('choices').map((choice, i) => readChoice(choice, i, notes)),
    usage: usage === null ? null : readUsage(usage.value),
    serviceTier: body.text('service_tier')
  }
  if (usage !== null) leaveUsage(usage, notes)
  body.leaveUnknown(notes.unknown)
  return { ...answer, origin: originOf(notes) }
}

export const readSummary: ChatFormat['readSummary'] = (value) => {
  const body = Fields.of(value, '')
  const usage = isObject(body.value.usage) ? body.object('usage') : null
  const model = body.label('model')
  return {
    usage: usage === null ? null : readUsage(usage.value),
    model: model ?? '',
    id: body.label('id') ?? '',
    serviceTier: body.text('service_tier'),
    stops: stopsIn(body.value.choices)
  }
}

/** As readChoice has them. What is malformed is the client's to judge. */
function stopsIn(choices: Json | undefined): StopReason[] {
  const list = Array.isArray(choices) ? (choices as readonly Json[]) : []
  return list.filter(isObject).map(({ finish_reason: word, stop_reason: sequence, message }) => {
    const { tool_calls: calls, function_call: legacy, refusal } = isObject(message) ? message : NOTHING
    return readStop(isString(word) ? word : '', {
      hasRefused: isString(refusal) && refusal !== '',
      hasCalls: (Array.isArray(calls) && calls.length > 0) || isObject(legacy),
      sequence: isString(sequence) ? sequence : null
    })
  })
}

const NOTHING: JsonObject = {}

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens']

/** What usage says beside what readUsage knows. */
function leaveUsage(usage: Fields, notes: ReadNotes): void {
  for (const name of COUNTS) usage.any(name)
  const prompt = details(usage, 'prompt_tokens_details')
  for (const name of [
    'cached_tokens',
    'audio_tokens',
    'image_tokens',
    'cache_write_tokens',
    'cache_creation_token_details'
  ]) {
    prompt?.any(name)
  }
  prompt?.leaveUnknown(notes.unknown)
  const completion = details(usage, 'completion_tokens_details')
  for (const name of ['reasoning_tokens', 'audio_tokens', 'image_tokens']) completion?.any(name)
  completion?.leaveUnknown(notes.unknown)
  usage.leaveUnknown(notes.unknown)
}

const details = (usage: Fields, name: string): Fields | null =>
  isObject(usage.value[name]) ? usage.object(name) : null

function readChoice(choice: Fields, i: number, notes: ReadNotes): Choice {
  choice.any('index')
  const message = messageOf(choice)
  message.any('role')
  const thinking = readThinking(message, notes)
  // Nothing said is "" for some servers, and null for OpenAI.
  const content = readContent(message, notes).filter((part) => part.kind !== 'text' || part.text !== '')
  const refusal = message.text('refusal')
  const refusals: Part[] = refusal ? [{ kind: 'refusal', text: refusal }] : []
  const images = message.objects('images').map((image) => {
    image.any('index')
    return readPart(image, notes)
  })
  const calls = readCalls(message, String(i), notes)
  const parts = [...thinking, ...content, ...refusals, ...images, ...calls, ...fragments(message)]
  message.leaveUnknown(notes.unknown)
  const logprobs = readLogprobs(choice, notes)
  const sequence = isString(choice.value.stop_reason) ? choice.optionalString('stop_reason') : null
  const word = choice.text('finish_reason') ?? ''
  choice.leaveUnknown(notes.unknown)
  const stop = readStop(word, { hasRefused: hasRefusal(parts), hasCalls: hasCalls(parts), sequence })
  if (stop === 'tools' && word === 'stop') notes.wording.set(choice.at('finish_reason'), word)
  return { parts, stop, stopSequence: stop === 'stopSequence' ? sequence : null, logprobs }
}

function messageOf(choice: Fields): Fields {
  const { message, delta, finish_reason: reason } = choice.value
  // What a server says that was asked to stream and did not.
  if (isObject(delta) && !isObject(message)) return choice.object('delta')
  // Azure has none where its filter has taken all of it (recorded in traceloop/openllmetry).
  if (message === undefined && reason === 'content_filter') return new Fields({}, choice.at('message'))
  return choice.object('message')
}

/** Fields of the message that are parts only here: each is an opaque part with that field. */
export const FRAGMENTS = ['audio', 'annotations'] as const

function fragments(message: Fields): OpaquePart[] {
  const parts: OpaquePart[] = []
  for (const name of FRAGMENTS) {
    const value = message.any(name)
    if (value === null || (Array.isArray(value) && value.length === 0)) continue
    parts.push({ kind: 'opaque', format: 'completions', value: { [name]: value } })
  }
  return parts
}

function readLogprobs(choice: Fields, notes: ReadNotes): Json {
  const logprobs = choice.optionalObject('logprobs')
  if (logprobs === null) return null
  const content = logprobs.optionalList('content')
  // Of a refusal when there is no content; of both, one stays in rest.
  if (content === null) return logprobs.optionalList('refusal')
  logprobs.leaveUnknown(notes.unknown)
  return content
}

// --- writing ---

export const writeAnswer: ChatFormat['writeAnswer'] = (answer, context, losses) => {
  const wording = wordingOf(answer.origin)
  const body: Writable = {
    ...headOf(answer, context),
    object: 'chat.completion',
    choices: answer.choices.map((choice, i) => writeChoice(choice, i, wording, losses))
  }
  if (answer.usage !== null) body.usage = writeUsage(answer.usage)
  if (answer.serviceTier !== null) body.service_tier = answer.serviceTier
  restore(answer.origin, body, losses)
  return body as JsonObject
}

/** What every answer and every chunk begins with. */
export function headOf(
  answer: { readonly id: string; readonly created: number },
  context: AnswerContext
): { readonly id: string; readonly created: number; readonly model: string } {
  return {
    id: answer.id === '' ? `chatcmpl-${context.id}` : answer.id,
    created: answer.created === 0 ? Math.floor(context.at / 1000) : answer.created,
    model: context.model
  }
}

function writeChoice(choice: Choice, index: number, wording: Wording, losses: Losses): Writable {
  const path = `choices[${index}]`
  const thinking: ThinkingPart[] = []
  const calls: (ToolCallPart | OpaquePart)[] = []
  let content: string | null = null
  let refusal: string | null = null
  const others: Writable = {}
  for (const [i, part] of choice.parts.entries()) {
    if (part.kind === 'thinking') thinking.push(part)
    else if (part.kind === 'text') content = (content ?? '') + part.text
    else if (part.kind === 'refusal') refusal = (refusal ?? '') + part.text
    else if (part.kind === 'toolCall' || isOpaqueCall(part)) calls.push(part)
    else if (!addOther(part, others)) losses.add(`${path}.message.content[${i}]`)
  }
  const message: Writable = { role: 'assistant', content, refusal, ...others }
  writeThinking(thinking, message, `${path}.message`, wording)
  writeCalls(calls, message, `${path}.message`, wording)
  if (choice.stop === 'pause') losses.add(`${path}.finish_reason`)
  return compact({
    index,
    message,
    logprobs: writeLogprobs(choice.logprobs, content === null && refusal !== null),
    finish_reason:
      wording.get(`${path}.finish_reason`) ?? writeStop(choice.stop, refusal !== null, calls.some(isLegacyCall)),
    // vLLM's field: OpenAI does not tell which sequence it was.
    stop_reason: choice.stopSequence
  })
}

export function isLegacyCall(part: Part): boolean {
  return part.kind === 'toolCall' && isLegacy(part.id)
}

/** Images as LiteLLM and OpenRouter have them, and fields of this format. False when it is neither. */
export function addOther(part: Part, message: Writable): boolean {
  if (part.kind === 'image') {
    const image = writePart(part, '', new Map())
    if (image === null) return false
    if (Array.isArray(message.images)) message.images.push(image)
    else message.images = [image]
    return true
  }
  if (part.kind !== 'opaque' || part.format !== 'completions' || !isObject(part.value)) return false
  Object.assign(message, part.value)
  return true
}

export function writeLogprobs(logprobs: Json, isOfRefusal: boolean): Json {
  if (logprobs === null) return null
  return isOfRefusal ? { content: null, refusal: logprobs } : { content: logprobs, refusal: null }
}
