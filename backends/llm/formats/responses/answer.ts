/** The response object (API reference, "The response object") as an answer, and back. */

import type { Answer, Choice, Json, JsonObject, Part, StopReason } from '#backends/llm/conversation.ts'
import { Fields, isObject, isString, type Writable } from '#backends/llm/formats/fields.ts'
import type { AnswerContext, AnswerSummary, Losses } from '#backends/llm/formats/format.ts'
import { loseUnknown, newNotes, type ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { answerItem, isText, itemId, outputContent, outputMessage, sealAnswer } from './answer-items-write.ts'
import type { Item } from './content-read.ts'
import { opaque, readItem } from './content-read.ts'
import { head, outcome } from './response.ts'
import { readUsage, writeUsage } from './usage.ts'
import { keepOwn, originOf, Wording } from './wording.ts'

export function readAnswer(body: JsonObject): Answer {
  const fields = Fields.of(body, '')
  const notes = newNotes()
  const { parts, logprobs } = readOutput(fields, notes)
  const stop = readStop(fields, notes, completedStop(parts))
  const answer: Answer = {
    id: fields.label('id') ?? '',
    model: fields.label('model') ?? '',
    created: readCreated(fields),
    choices: [{ parts, stop, stopSequence: null, logprobs }],
    usage: readUsage(fields.optionalObject('usage'), body.output, notes),
    serviceTier: fields.optionalString('service_tier'),
    origin: originOf(notes)
  }
  fields.any('object')
  fields.any('output_text') // Added by the SDK: the texts once more.
  keepOwn(notes, fields, ECHOES)
  fields.leaveUnknown(notes.unknown)
  return answer
}

export function readSummary(body: JsonObject): AnswerSummary {
  const fields = Fields.of(body, '')
  const usage = readUsage(fields.optionalObject('usage'), body.output, null)
  const model = fields.optionalString('model') ?? ''
  const serviceTier = fields.text('service_tier')
  return { usage, model, id: fields.label('id') ?? '', serviceTier, stops: [stopIn(body)] }
}

/** As readStop has it. What is malformed is the client's to judge. */
function stopIn({ status, incomplete_details: details, output }: JsonObject): StopReason {
  if (status === 'incomplete') return isObject(details) && details.reason === 'content_filter' ? 'filter' : 'length'
  if (isString(status) && status !== 'completed') return stopOfStatus(status)
  const items = Array.isArray(output) ? (output as readonly Json[]).filter(isObject) : []
  if (items.some(({ type }) => type === 'function_call')) return 'tools'
  return items.some(({ content }) => Array.isArray(content) && (content as readonly Json[]).some(isRefusalContent))
    ? 'refusal'
    : 'end'
}

const isRefusalContent = (part: Json): boolean => isObject(part) && part.type === 'refusal'

/** Of an answer that is not complete. One that is under way in the background has to be asked for again. */
const stopOfStatus = (status: string): StopReason =>
  status === 'queued' || status === 'in_progress' ? 'pause' : 'error'

/** Seconds since 1970; 0: it does not say. */
export function readCreated(fields: Fields): number {
  return typeof fields.any('created_at') === 'number' ? fields.count('created_at') : 0
}

/** What an answer repeats of its request, and when it was done. */
const ECHOES = [
  'background',
  'completed_at',
  'conversation',
  'frequency_penalty',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'store',
  'temperature',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'truncation',
  'user'
]

function readOutput(fields: Fields, notes: ReadNotes): { parts: Part[]; logprobs: Json | null } {
  const parts: Part[] = []
  const logprobs: Json[] = []
  for (const field of fields.objects('output')) {
    const item = readOutputItem(field, notes)
    const last = parts.at(-1)
    if (item.kind === 'seal' && last?.kind === 'toolCall' && last.signature === null) {
      parts[parts.length - 1] = { ...last, signature: item.signature }
    } else if (item.kind === 'message') {
      for (const part of item.parts) parts.push(part)
      // Written as one message for each.
      if (item.parts.length !== 1) notes.wording.set(`${field.path}#parts`, item.parts.length)
      notes.wording.delete(`${field.path}#list`) // Content of answers is always a list.
      takeLogprobs(field, logprobs)
    } else {
      parts.push(item.part)
    }
  }
  return { parts, logprobs: logprobs.length === 0 ? null : logprobs }
}

/** Results in an answer are those of tools that the provider has run. */
export function readOutputItem(item: Fields, notes: ReadNotes): Item {
  if (item.value.type !== 'function_call_output') return readItem(item, notes)
  return { kind: 'part', role: 'assistant', part: opaque(item.value) }
}

function takeLogprobs(item: Fields, all: Json[]): void {
  if (!Array.isArray(item.value.content)) return
  for (const part of item.objects('content')) for (const entry of part.optionalList('logprobs') ?? []) all.push(entry)
}

/** `completed`: why it ended if it is complete. */
export function readStop(fields: Fields, notes: ReadNotes, completed: StopReason): StopReason {
  const status = fields.optionalString('status') ?? 'completed'
  const details = fields.optionalObject('incomplete_details')
  const error = fields.any('error')
  if (error !== null) notes.unknown.set('error', error)
  if (status === 'incomplete') {
    const reason = details?.optionalString('reason') ?? null
    if (details !== null) notes.wording.set('incomplete_details', details.value)
    return reason === 'content_filter' ? 'filter' : 'length'
  }
  if (status !== 'completed') {
    notes.wording.set('status', status)
    return stopOfStatus(status)
  }
  return completed
}

function isRefusal(part: Part): boolean {
  return part.kind === 'refusal'
}

function completedStop(parts: readonly Part[]): StopReason {
  if (parts.some((part) => part.kind === 'toolCall')) return 'tools'
  return parts.some(isRefusal) ? 'refusal' : 'end'
}

export function writeAnswer(answer: Answer, context: AnswerContext, losses: Losses): JsonObject {
  const wording = new Wording(answer.origin)
  const choice = answer.choices[0] ?? NOTHING
  for (let i = 1; i < answer.choices.length; i++) losses.add(`choices[${i}]`)
  if (!wording.isOwn) loseUnknown(answer.origin.unknownFields, losses)
  const { status, incomplete, error } = outcome(choice.stop, choice.parts.some(isRefusal))
  const body: Writable = {
    ...head(answer, context),
    status,
    incomplete_details: incomplete === null ? null : { reason: incomplete },
    error,
    output: writeOutput(choice, status === 'incomplete', context, wording, losses),
    service_tier: answer.serviceTier,
    usage: writeUsage(answer.usage)
  }
  wording.restore(body)
  return body
}

const NOTHING: Choice = { parts: [], stop: 'end', stopSequence: null, logprobs: null }

/** `isCut`: the last item is not complete. */
function writeOutput(
  choice: Choice,
  isCut: boolean,
  context: AnswerContext,
  wording: Wording,
  losses: Losses
): JsonObject[] {
  const items: JsonObject[] = []
  // Those of an answer of this format are in its `own`, each with its text.
  let logprobs = wording.hasWording ? null : choice.logprobs
  let i = 0
  while (true) {
    const path = `output[${items.length}]`
    const run = messageAt(choice.parts, i, wording.mark(path, 'parts'))
    const part = choice.parts[i]
    if (run === null && part === undefined) break
    const next = i + (run?.length ?? 1)
    const status = isCut && next === choice.parts.length ? 'incomplete' : 'completed'
    if (run === null) {
      writePart(part!, `parts[${i}]`, status, context, items, wording, losses)
    } else {
      const content = run.map((text, j) => outputContent(text, j === 0 ? logprobs : null))
      if (content[0]?.type === 'output_text') logprobs = null
      items.push(outputMessage(itemId(context, 'message', items.length), content, status))
    }
    i = next
  }
  if (logprobs !== null) losses.add('logprobs')
  return items
}

/** The texts of the message that begins at `i`, one unless the mark says how many; null: there is no message. */
function messageAt(parts: readonly Part[], i: number, mark: Json): readonly Part[] | null {
  const count = typeof mark === 'number' ? mark : 1
  const run = parts.slice(i, i + count)
  if (run.length === count && run.every(isText)) return run
  const part = parts[i]
  return part !== undefined && isText(part) ? [part] : null
}

function writePart(
  original: Part,
  at: string,
  status: string,
  context: AnswerContext,
  items: JsonObject[],
  wording: Wording,
  losses: Losses
): void {
  // Clients parse the arguments: no text is no JSON.
  const isBare = original.kind === 'toolCall' && original.arguments === '' && status === 'completed'
  const part: Part = isBare ? { ...original, arguments: '{}' } : original
  const item = answerItem(part, status, context, items.length, wording)
  if (item === null) {
    losses.add(at)
    return
  }
  items.push(item)
  const seal = sealAnswer(part, context, items.length)
  if (seal !== null) items.push(seal)
}
