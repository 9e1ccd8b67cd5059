/** A request of POST /v1/chat/completions as a conversation (OpenAI API reference, "Create chat completion"). */

import type { Conversation, Json, Sampling, Thinking } from '#backends/llm/conversation.ts'
import { compact, Fields, isString } from '#backends/llm/formats/fields.ts'
import { type ChatFormat, FormatError } from '#backends/llm/formats/format.ts'
import { newNotes, type ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { readMessages } from './content-read.ts'
import { paths } from './paths.ts'
import { readOutput, readToolChoice, readTools } from './tools.ts'
import { originOf } from './wording.ts'

export const readRequest: ChatFormat['readRequest'] = (value, from) => {
  const notes = newNotes()
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
    metadata: body.optionalStrings('metadata')
  }
  body.leaveUnknown(notes.unknown)
  return { ...conversation, origin: { ...originOf(notes), paths } }
}

function readStream(body: Fields, notes: ReadNotes): boolean | null {
  const isStreamed = body.optionalBoolean('stream')
  if (isStreamed === false) notes.wording.set('stream', false)
  const options = body.optionalObject('stream_options')
  if (options === null) return isStreamed
  // The writer of the answer adds usage at the end, whatever the provider does: no loss.
  notes.wording.set('stream_options', compact({ include_usage: options.optionalBoolean('include_usage') }))
  options.leaveUnknown(notes.unknown)
  return isStreamed
}

function readSampling(body: Fields, notes: ReadNotes): Sampling {
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

function readMaxTokens(body: Fields, notes: ReadNotes): number | null {
  const newer = body.optionalNumber('max_completion_tokens')
  if (newer !== null) return newer
  const older = body.optionalNumber('max_tokens')
  if (older !== null) notes.wording.set('max_tokens', true)
  return older
}

function readStop(body: Fields, notes: ReadNotes): readonly string[] {
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

function readLogprobs(body: Fields, notes: ReadNotes): number | null {
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
function readUser(body: Fields, notes: ReadNotes): string | null {
  const newer = body.optionalString('safety_identifier')
  if (newer === null) return body.optionalString('user')
  notes.wording.set('safety_identifier', true)
  return newer
}
