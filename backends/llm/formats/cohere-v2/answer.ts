/** Answers of `POST /v2/chat` (API reference of Cohere, "Chat", version 2, response). */
import type { Answer, Json, JsonObject, StopReason } from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { AnswerSummary } from '#backends/llm/formats/format.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { readMessage } from './content-read.ts'
import { readUsage } from './usage.ts'

/** The first of a meaning says all that the conversation keeps of it; the last two are of the first version. */
const STOPS: readonly (readonly [word: string, stop: StopReason])[] = [
  ['COMPLETE', 'end'],
  ['MAX_TOKENS', 'length'],
  ['STOP_SEQUENCE', 'stopSequence'],
  ['TOOL_CALL', 'tools'],
  ['ERROR', 'error'],
  ['TIMEOUT', 'error'],
  ['ERROR_TOXIC', 'filter'],
  ['ERROR_LIMIT', 'contextWindow']
]
const STOP_BY_WORD: ReadonlyMap<string, StopReason> = new Map(STOPS)
const WORD_BY_STOP: ReadonlyMap<StopReason, string> = new Map([...STOPS].reverse().map(([word, stop]) => [stop, word]))

/** A word that is not known ends an answer all the same. */
export function stopOf(word: string): StopReason {
  return STOP_BY_WORD.get(word) ?? 'end'
}

export function readAnswer(body: JsonObject): Answer {
  const unknown: UnknownFields = new Map()
  const fields = new Fields(body, '')
  const message = fields.object('message')
  message.any('role')
  const parts = readMessage(message, unknown)
  const word = fields.text('finish_reason') ?? ''
  const stop = stopOf(word)
  if (word !== '' && word !== WORD_BY_STOP.get(stop)) unknown.set('finish_reason', word)
  const usage = usageIn(fields)
  const logprobs = readLogprobs(fields.any('logprobs'))
  const answer: Answer = {
    id: fields.label('id') ?? '',
    model: '',
    created: 0,
    choices: [{ parts, stop, stopSequence: null, logprobs }],
    usage: usage === null ? null : readUsage(usage),
    serviceTier: null,
    origin: { format: 'cohereV2', unknownFields: unknown }
  }
  for (const part of [message, usage, fields]) part?.leaveUnknown(unknown)
  return answer
}

/** Answers do not repeat the model. */
export function readSummary(body: JsonObject): AnswerSummary {
  const fields = Fields.of(body, '')
  const usage = usageIn(fields)
  return {
    id: fields.label('id') ?? '',
    model: '',
    usage: usage === null ? null : readUsage(usage),
    serviceTier: null,
    stops: [stopOf(fields.text('finish_reason') ?? '')]
  }
}

function usageIn(fields: Fields): Fields | null {
  return isObject(fields.any('usage')) ? fields.object('usage') : null
}

/**
 * As OpenAI has them: one entry for each piece of text. A piece is mostly one token; the probability of several is the
 * product of theirs.
 */
export function readLogprobs(value: Json): Json | null {
  const items = Array.isArray(value) ? (value as readonly Json[]) : [value]
  const entries = items.filter(isObject).map(({ text, logprobs }): JsonObject => {
    const numbers = Array.isArray(logprobs) ? (logprobs as readonly Json[]).map(Number) : []
    const logprob = numbers.reduce((sum, one) => sum + (Number.isFinite(one) ? one : 0), 0)
    return { token: typeof text === 'string' ? text : '', logprob, bytes: null, top_logprobs: [] }
  })
  return entries.length > 0 ? entries : null
}
