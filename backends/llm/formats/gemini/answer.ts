/** Google's GenerateContentResponse, whole. Source: ai.google.dev, "Generating content" reference. */

import type { Answer, Choice, Json, JsonObject, Part, StopReason } from '#backends/llm/conversation.ts'
import type { Writable } from '#backends/llm/formats/fields.ts'
import { compact, type Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { AnswerContext, AnswerSummary, Losses } from '#backends/llm/formats/format.ts'
import { restoreUnknown, type UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { Calls, isNothing, readPart } from './content-read.ts'
import { type PartsWriter, writePart } from './content-write.ts'
import { readLogprobs, writeLogprobs } from './logprobs.ts'
import { leaveSplits, readUsage, searchesIn, withSearches, writeUsage } from './usage.ts'
import { camel, idTag, message, messages, optionalMessage, optionalNumber } from './wire.ts'

/** All that is documented; what is not, is `error`. */
const REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['STOP', 'end'],
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'filter'],
  ['RECITATION', 'filter'],
  ['LANGUAGE', 'error'],
  ['OTHER', 'error'],
  ['BLOCKLIST', 'filter'],
  ['PROHIBITED_CONTENT', 'filter'],
  ['SPII', 'filter'],
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['IMAGE_SAFETY', 'filter'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['IMAGE_PROHIBITED_CONTENT', 'filter'],
  ['NO_IMAGE', 'error'],
  ['IMAGE_RECITATION', 'filter'],
  ['IMAGE_OTHER', 'error'],
  ['CONTINUATION', 'pause'],
  // Vertex AI only ("GenerateContentResponse", FinishReason).
  ['MODEL_ARMOR', 'filter'],
  ['FINISH_REASON_UNSPECIFIED', 'error']
])

/** Whether that reason for the end says that a filter has taken the answer out. */
export const isFilterReason = (reason: string): boolean => REASONS.get(reason) === 'filter'

const WORDS: { readonly [stop in StopReason]: string } = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  stopSequence: 'STOP',
  tools: 'STOP',
  filter: 'SAFETY',
  refusal: 'SAFETY',
  pause: 'CONTINUATION',
  contextWindow: 'MAX_TOKENS',
  error: 'OTHER'
}

export function stopOf(reason: string | null, hasCalls: boolean): StopReason {
  // Gemini 3 says so of calls of tools that are declared, too: clients that run them get an answer.
  if (reason === 'UNEXPECTED_TOOL_CALL' && hasCalls) return 'tools'
  const stop = reason === null ? 'end' : (REASONS.get(reason) ?? 'error')
  return stop === 'end' && hasCalls ? 'tools' : stop
}

/** `isBroken`: a call could not be written, which is how Google says so. */
export function reasonOf(stop: StopReason, isBroken: boolean): string {
  return isBroken && stop === 'tools' ? 'MALFORMED_FUNCTION_CALL' : WORDS[stop]
}

export function readAnswer(body: JsonObject): Answer {
  const unknown = new Map<string, Json>()
  const fields = message(body, '')
  const id = fields.optionalString('responseId') ?? ''
  const model = fields.optionalString('modelVersion') ?? ''
  const calls = new Calls(idTag(id))
  const choices: Choice[] = []
  for (const candidate of messages(fields, 'candidates')) choices.push(readCandidate(candidate, calls, unknown))
  const usage = optionalMessage(fields, 'usageMetadata')
  const created = readTime(fields)
  const serviceTier = usage?.optionalString('serviceTier') ?? null
  const counted = usage === null ? null : withSearches(readUsage(usage), searchesIn(fields.value))
  if (usage !== null && counted !== null) leaveSplits(usage, counted, unknown)
  if (choices.length === 0 && isBlocked(fields)) {
    choices.push({ parts: [], stop: 'filter', stopSequence: null, logprobs: null })
  }
  fields.leaveUnknown(unknown)
  return {
    id,
    model,
    created,
    choices,
    usage: counted,
    serviceTier,
    origin: { format: 'gemini', unknownFields: unknown }
  }
}

export function readSummary(body: JsonObject): AnswerSummary {
  const fields = message(body, '')
  const usage = optionalMessage(fields, 'usageMetadata')
  return {
    usage: usage === null ? null : withSearches(readUsage(usage), searchesIn(fields.value)),
    model: fields.optionalString('modelVersion') ?? '',
    id: fields.text('responseId') ?? '',
    serviceTier: usage?.text('serviceTier') ?? null,
    stops: stopsIn(fields)
  }
}

/** As readAnswer has them. What is malformed is the client's to judge. */
function stopsIn({ value }: Fields): StopReason[] {
  const candidates = Array.isArray(value.candidates) ? (value.candidates as readonly Json[]) : []
  const stops = candidates.filter(isObject).map((candidate) => {
    const { finishReason: word, content } = camel(candidate)
    const parts = isObject(content) && Array.isArray(content.parts) ? (content.parts as readonly Json[]) : []
    const hasCalls = parts.some((part) => isObject(part) && isObject(part.functionCall ?? part.function_call))
    return stopOf(typeof word === 'string' ? word : null, hasCalls)
  })
  const feedback = value.promptFeedback
  if (stops.length === 0 && isObject(feedback) && (camel(feedback).blockReason ?? null) !== null) return ['filter']
  return stops
}

/** The prompt was refused: there are no candidates, and never will be. The feedback itself stays in unknown. */
export function isBlocked(fields: Fields): boolean {
  const feedback = fields.value.promptFeedback
  return feedback !== undefined && feedback !== null && message(feedback, 'promptFeedback').any('blockReason') !== null
}

/** Seconds since 1970; 0 when the answer does not say, as the Gemini API's does not. */
export function readTime(fields: Fields): number {
  const time = Date.parse(fields.optionalString('createTime') ?? '')
  return Number.isNaN(time) ? 0 : Math.floor(time / 1000)
}

function readCandidate(candidate: Fields, calls: Calls, unknown: UnknownFields): Choice {
  optionalNumber(candidate, 'index')
  const parts: Part[] = []
  const content = optionalMessage(candidate, 'content')
  if (content !== null) {
    content.optionalString('role')
    for (const part of messages(content, 'parts')) {
      if (!isNothing(part)) addPart(parts, readPart(part, calls, unknown))
    }
    content.leaveUnknown(unknown)
  }
  const reason = candidate.optionalString('finishReason')
  const hasCalls = parts.some((part) => part.kind === 'toolCall')
  const stop = stopOf(reason, hasCalls)
  if (reason !== null && reason !== reasonOf(stop, false)) unknown.set(candidate.at('finishReason'), reason)
  const logprobs = readLogprobs(candidate, unknown)
  candidate.leaveUnknown(unknown)
  return { parts, stop, stopSequence: null, logprobs }
}

/** Empty text says nothing, and a seal on it belongs to the part before, as streams send it. */
function addPart(parts: Part[], read: readonly Part[]): void {
  for (const part of read) {
    const last = parts[parts.length - 1]
    if (part.kind === 'text' && part.text === '') continue
    const isSeal = part.kind === 'thinking' && part.text === '' && last !== undefined
    parts.push(isSeal && isSealable(last) ? { ...part, isRedacted: true } : part)
  }
}

/** Text and media take the seal that follows them. */
export function isSealable(part: Part): boolean {
  return part.kind !== 'thinking' && part.kind !== 'toolCall' && part.kind !== 'opaque' && part.kind !== 'toolResult'
}

export function writeAnswer(answer: Answer, context: AnswerContext, losses: Losses): JsonObject {
  const isGemini = answer.origin.format === 'gemini'
  const isBlocked =
    isGemini && answer.origin.unknownFields.has('promptFeedback') && answer.choices.every(isBlockedChoice)
  const toolUse = isGemini ? answer.origin.unknownFields.get('usageMetadata.toolUsePromptTokenCount') : 0
  const { usage } = answer
  if (usage !== null && usage.cacheWrite5m > 0) losses.add('usage.cacheWrite5m')
  if (usage !== null && usage.cacheWrite1h > 0) losses.add('usage.cacheWrite1h')
  if (usage === null && answer.serviceTier !== null) losses.add('serviceTier')
  const body = compact({
    candidates: isBlocked ? null : answer.choices.map((choice, i) => writeCandidate(choice, i, isGemini, losses)),
    usageMetadata: usage === null ? null : writeUsage(usage, answer.serviceTier, Number(toolUse ?? 0)),
    modelVersion: context.model,
    createTime: writeTime(answer.created),
    responseId: answer.id === '' ? context.id : answer.id
  })
  restoreUnknown(body, answer.origin, 'gemini', losses)
  return body
}

const isBlockedChoice = (choice: Choice) => choice.parts.length === 0 && choice.stop === 'filter'

/** RFC 3339; null when the time is not known. */
export function writeTime(created: number): string | null {
  const time = new Date(created * 1000)
  return created > 0 && !Number.isNaN(time.getTime()) ? time.toISOString() : null
}

function writeCandidate(choice: Choice, index: number, isGemini: boolean, losses: Losses): JsonObject {
  const writer: PartsWriter = { isForProvider: false, isGemini, losses, names: new Map() }
  const parts: Writable[] = []
  const path = `choices[${index}]`
  let isBroken = false
  for (const [i, part] of choice.parts.entries()) {
    const before = parts.length
    writePart(part, `${path}.parts[${i}]`, parts, writer)
    if (part.kind === 'toolCall' && parts.length === before) isBroken = true
  }
  if (choice.stopSequence !== null) losses.add(`${path}.stopSequence`)
  const logprobsResult = choice.logprobs === null ? null : writeLogprobs(choice.logprobs)
  if (choice.logprobs !== null && logprobsResult === null) losses.add(`${path}.logprobs`)
  const content = { role: 'model', parts }
  return compact({ content, finishReason: reasonOf(choice.stop, isBroken), index, logprobsResult })
}
