/**
 * Tokens as Google counts them: thoughts beside the candidates, results of its own tools beside the prompt.
 * Source: ai.google.dev, "Generating content" reference, UsageMetadata.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { compact, type Fields } from '#backends/llm/fields.ts'
import { count, messages } from './wire.ts'

/** Audio that came from a cache is counted as that. */
export function readUsage(fields: Fields): Usage {
  const reasoning = count(fields, 'thoughtsTokenCount')
  const heard = audio(fields, 'promptTokensDetails') + audio(fields, 'toolUsePromptTokensDetails')
  count(fields, 'totalTokenCount')
  return {
    input: count(fields, 'promptTokenCount') + count(fields, 'toolUsePromptTokenCount'),
    cacheRead: count(fields, 'cachedContentTokenCount'),
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    inputAudio: heard === 0 ? 0 : Math.max(0, heard - audio(fields, 'cacheTokensDetails')),
    output: count(fields, 'candidatesTokenCount') + reasoning,
    reasoning,
    outputAudio: audio(fields, 'candidatesTokensDetails')
  }
}

const SPLITS = [
  'toolUsePromptTokenCount',
  'promptTokensDetails',
  'toolUsePromptTokensDetails',
  'cacheTokensDetails',
  'candidatesTokensDetails'
]

/** What `usage` does not tell: counts by modality other than audio's, and those of Google's own tools. */
export function leaveSplits(fields: Fields, usage: Usage, rest: Map<string, Json>): void {
  const told = writeUsage(usage, null, 0)
  for (const name of SPLITS) {
    const value = fields.any(name)
    if (value !== null && !isDeepStrictEqual(value, told[name])) rest.set(fields.at(name), value)
  }
  fields.leaveRest(rest)
}

function audio(fields: Fields, name: string): number {
  let sum = 0
  if (fields.any(name) === null) return 0
  for (const detail of messages(fields, name)) {
    if (detail.optionalString('modality') === 'AUDIO') sum += count(detail, 'tokenCount')
  }
  return sum
}

/** `toolUse`: the part of the input that tools of Google's own made, where it is known. */
export function writeUsage(usage: Usage, serviceTier: string | null, toolUse: number): JsonObject {
  return compact({
    promptTokenCount: usage.input - toolUse,
    cachedContentTokenCount: usage.cacheRead > 0 ? usage.cacheRead : null,
    candidatesTokenCount: usage.output - usage.reasoning,
    thoughtsTokenCount: usage.reasoning > 0 ? usage.reasoning : null,
    totalTokenCount: usage.input + usage.output,
    promptTokensDetails: byModality(usage.input, usage.inputAudio),
    candidatesTokensDetails: byModality(usage.output - usage.reasoning, usage.outputAudio),
    serviceTier
  })
}

/** Null when there is no audio: all else is text as far as is known. */
function byModality(all: number, audio: number): Json {
  if (audio === 0) return null
  const heard = { modality: 'AUDIO', tokenCount: audio }
  return all > audio ? [{ modality: 'TEXT', tokenCount: all - audio }, heard] : [heard]
}
