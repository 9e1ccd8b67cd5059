/** A prediction that has succeeded (HTTP API, predictions.get, response). */
import type { Answer, JsonObject, StopReason } from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { type AnswerSummary, FormatError } from '#backends/llm/formats/format.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { partsOf, textOfOutput } from './content-read.ts'
import { LIMITS } from './models.ts'
import { readUsage } from './usage.ts'

export function readAnswer(body: JsonObject): Answer {
  const unknown: UnknownFields = new Map()
  const fields = new Fields(body, '')
  const text = textOfOutput(fields.any('output'))
  if (text === null) throw new FormatError('output', 'must be text, or a list of texts')
  const { usage, stops, ...names } = summaryOf(fields)
  const answer: Answer = {
    ...names,
    created: secondsOf(fields.text('created_at')),
    choices: [{ parts: partsOf(text), stop: stops[0]!, stopSequence: null, logprobs: null }],
    usage,
    origin: { format: 'predictions', unknownFields: unknown }
  }
  fields.leaveUnknown(unknown)
  return answer
}

export const readSummary = (body: JsonObject): AnswerSummary => summaryOf(Fields.of(body, ''))

export function summaryOf(fields: Fields) {
  for (const name of ['status', 'version', 'error']) fields.any(name)
  return {
    id: fields.label('id') ?? '',
    model: fields.label('model') ?? '',
    usage: readUsage(fields),
    serviceTier: null,
    stops: [stopOf(fields)]
  }
}

/** It does not say why it has ended; one that has as many tokens as it was allowed was cut off. */
function stopOf(fields: Fields): StopReason {
  const output = readUsage(fields)?.output
  const input = fields.any('input')
  if (output === undefined || !isObject(input)) return 'end'
  const isCut = LIMITS.some((name) => typeof input[name] === 'number' && output >= input[name])
  return isCut ? 'length' : 'end'
}

/** RFC 3339, as text. 0: it is none. */
export function secondsOf(time: string | null): number {
  const ms = Date.parse(time ?? '')
  return Number.isFinite(ms) ? Math.floor(ms / 1000) : 0
}
