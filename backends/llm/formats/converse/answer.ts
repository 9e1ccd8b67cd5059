/** Answers of Converse (API reference: Converse, response syntax; TokenUsage; CacheDetail). */
import type { Answer, Json, JsonObject, Part, StopReason } from '#backends/llm/conversation.ts'
import { compact, Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { AnswerContext, Losses } from '#backends/llm/formats/format.ts'
import { restoreUnknown } from '#backends/llm/formats/unknown-fields.ts'
import { readContent } from './content-read.ts'
import { writePart } from './content-write.ts'
import { DocumentNames, fromWireToolName } from './names.ts'
import { readUsage, writeUsage } from './usage.ts'

/** The first of a meaning is the one that is written. */
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
/** What Converse does not say in its own words. */
const WORD_BY_STOP: ReadonlyMap<StopReason, string> = new Map<StopReason, string>([
  ['refusal', 'content_filtered'],
  ['pause', 'end_turn'],
  ...[...STOPS].reverse().map(([word, stop]): [StopReason, string] => [stop, word])
])

/** A word that is not known ends an answer all the same. */
export function stopOf(word: string): StopReason {
  return STOP_BY_WORD.get(word) ?? 'end'
}

export function stopWordOf(stop: StopReason): string {
  return WORD_BY_STOP.get(stop) ?? 'end_turn'
}

export function readAnswer(body: JsonObject): Answer {
  const unknown = new Map<string, Json>()
  const fields = new Fields(body, '')
  const output = fields.object('output')
  const message = output.object('message')
  message.any('role')
  const blocks = message.optionalList('content') ?? []
  const parts = readContent(blocks, message.at('content'), unknown, true).map(withOwnName)
  const word = fields.optionalString('stopReason') ?? ''
  const stop = stopOf(word)
  if (word !== '' && word !== stopWordOf(stop)) unknown.set('stopReason', word)
  const additional = fields.any('additionalModelResponseFields')
  const stopSequence = stopSequenceOf(additional)
  const others = isObject(additional) && stopSequence !== null ? without(additional, 'stop_sequence') : additional
  if (others !== null && !(stopSequence !== null && isObject(others) && Object.keys(others).length === 0)) {
    unknown.set('additionalModelResponseFields', others)
  }
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

/** The model is in the request's path, and not told again. */
export function readCost(body: JsonObject): Pick<Answer, 'usage' | 'model'> {
  const usage = Fields.of(body, '').optionalObject('usage')
  return { usage: usage === null ? null : readUsage(usage), model: '' }
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

function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([other]) => other !== name))
}

/** Milliseconds from the request until now: the field is required. */
export function metricsOf(asked: AnswerContext): JsonObject {
  return { latencyMs: Math.max(0, Date.now() - asked.at) }
}

export function writeAnswer(answer: Answer, asked: AnswerContext, losses: Losses): JsonObject {
  const [choice] = answer.choices
  const isSame = answer.origin.format === 'converse'
  const writer = { to: 'client', isSame, isClaude: false, names: new DocumentNames(), losses } as const
  const content = choice?.parts.flatMap((part, i) => writePart(part, `content[${i}]`, writer)) ?? []
  for (let i = 1; i < answer.choices.length; i++) losses.add(`choices[${i}]`)
  if ((choice?.logprobs ?? null) !== null) losses.add('choices[0].logprobs')
  if (choice?.stop === 'pause' || choice?.stop === 'refusal') losses.add('stop_reason')
  const { usage, serviceTier } = answer
  if (usage !== null) {
    for (const name of ['inputAudio', 'inputImage', 'reasoning', 'outputAudio', 'outputImage'] as const)
      if (usage[name] > 0) losses.add(`usage.${name}`)
  }
  const stopSequence = choice?.stopSequence ?? null
  const body = compact({
    output: { message: { role: 'assistant', content } },
    stopReason: stopWordOf(choice?.stop ?? 'end'),
    usage: usage === null ? null : writeUsage(usage),
    metrics: metricsOf(asked),
    additionalModelResponseFields: stopSequence === null ? null : { stop_sequence: stopSequence },
    serviceTier: serviceTier === null ? null : { type: serviceTier }
  })
  restoreUnknown(body, answer.origin, 'converse', losses)
  return body
}
