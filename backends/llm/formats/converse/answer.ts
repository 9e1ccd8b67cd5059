/** Answers of Converse (API reference: Converse, response syntax; TokenUsage; CacheDetail). */
import type { Answer, Json, JsonObject, Part, StopReason } from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { AnswerSummary } from '#backends/llm/formats/format.ts'
import { readContent } from './content-read.ts'
import { fromWireToolName } from './names.ts'
import { readUsage } from './usage.ts'

/** The first of a meaning says all that the conversation keeps of it. */
const STOPS: readonly (readonly [word: string, stop: StopReason])[] = [
  ['end_turn', 'end'],
  ['max_tokens', 'length'],
  ['stop_sequence', 'stopSequence'],
  ['tool_use', 'tools'],
  ['content_filtered', 'filter'],
  ['guardrail_intervened', 'filter'],
  ['model_context_window_exceeded', 'contextWindow'],
  ['malformed_model_output', 'error'],
  ['malformed_tool_use', 'error']
]
const STOP_BY_WORD: ReadonlyMap<string, StopReason> = new Map(STOPS)
const WORD_BY_STOP: ReadonlyMap<StopReason, string> = new Map([...STOPS].reverse().map(([word, stop]) => [stop, word]))

/** A word that is not known ends an answer all the same. */
export function stopOf(word: string): StopReason {
  return STOP_BY_WORD.get(word) ?? 'end'
}

export function readAnswer(body: JsonObject): Answer {
  const unknown = new Map<string, Json>()
  const fields = new Fields(body, '')
  const output = fields.object('output')
  const message = output.object('message')
  message.any('role')
  const blocks = message.optionalList('content') ?? []
  const parts = readContent(blocks, message.at('content'), unknown).map(withOwnName)
  const word = fields.optionalString('stopReason') ?? ''
  const stop = stopOf(word)
  if (word !== '' && word !== WORD_BY_STOP.get(stop)) unknown.set('stopReason', word)
  const additional = fields.any('additionalModelResponseFields')
  const stopSequence = stopSequenceOf(additional)
  const { stop_sequence: _, ...others } = isObject(additional) && stopSequence !== null ? additional : {}
  if (stopSequence === null && additional !== null) unknown.set('additionalModelResponseFields', additional)
  else if (Object.keys(others).length > 0) unknown.set('additionalModelResponseFields', others)
  const usage = fields.optionalObject('usage')
  const tier = fields.optionalObject('serviceTier')
  const answer: Answer = {
    id: '',
    model: '',
    created: 0,
    choices: [{ parts, stop, stopSequence, logprobs: null }],
    usage: usage === null ? null : readUsage(usage),
    serviceTier: tier?.optionalString('type') ?? null,
    origin: { format: 'converse', unknownFields: unknown }
  }
  for (const part of [message, output, usage, tier, fields]) part?.leaveUnknown(unknown)
  return answer
}

/** The model is in the request's path, and not repeated; answers have no id. */
export function readSummary(body: JsonObject): AnswerSummary {
  const fields = Fields.of(body, '')
  const usage = fields.optionalObject('usage')
  const stops = [stopOf(fields.text('stopReason') ?? '')]
  const { serviceTier: tier } = body
  const serviceTier = isObject(tier) && typeof tier.type === 'string' ? tier.type : null
  return { usage: usage === null ? null : readUsage(usage), model: '', id: '', serviceTier, stops }
}

/** Tools of other formats under the names that the request had for them. */
export function withOwnName(part: Part): Part {
  return part.kind === 'toolCall' ? { ...part, name: fromWireToolName(part.name) } : part
}

/** Claude's, when the request asked for "/stop_sequence". */
export function stopSequenceOf(additional: Json): string | null {
  const value = isObject(additional) ? additional.stop_sequence : null
  return typeof value === 'string' ? value : null
}
