/**
 * Tokens as Google counts them: thoughts beside the candidates, results of its own tools beside the prompt.
 * Source: ai.google.dev, "Generating content" reference, UsageMetadata.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { compact, type Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { allAudio, allImage, inputKinds } from '#backends/llm/usage/input-kinds.ts'
import { camel, count, messages } from './wire.ts'

/** Audio and images that came from a cache are counted as that. */
export function readUsage(fields: Fields): Usage {
  const cacheRead = count(fields, 'cachedContentTokenCount')
  const reasoning = count(fields, 'thoughtsTokenCount')
  count(fields, 'totalTokenCount')
  return {
    input: count(fields, 'promptTokenCount') + count(fields, 'toolUsePromptTokenCount'),
    cacheRead,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    ...kindsOf(fields, cacheRead),
    output: count(fields, 'candidatesTokenCount') + reasoning,
    reasoning,
    outputAudio: ofModality(fields, 'candidatesTokensDetails', 'AUDIO'),
    outputImage: ofModality(fields, 'candidatesTokensDetails', 'IMAGE')
  }
}

/** They are asked money for each prompt that was grounded, and not for each search. */
const BY_PROMPT = /^(?:models\/)?gemini-[12]\b/

/**
 * What is asked money for of "Grounding with Google Search" (its pricing): the searches of an answer, or, of models
 * before Gemini 3, an answer with any. Usage does not tell of it. `answer`: whole, or an event of a stream.
 */
export function searchesIn({ candidates, modelVersion }: JsonObject): number {
  if (!Array.isArray(candidates)) return 0
  let searches = 0
  for (const candidate of candidates as readonly Json[]) {
    const found = isObject(candidate) ? (candidate.groundingMetadata ?? candidate.grounding_metadata) : null
    const queries = isObject(found) ? camel(found).webSearchQueries : null
    if (Array.isArray(queries)) searches += queries.filter((query) => query !== '').length
  }
  return searches > 0 && typeof modelVersion === 'string' && BY_PROMPT.test(modelVersion) ? 1 : searches
}

/** `usage` with as many of them. */
export const withSearches = (usage: Usage, searches: number): Usage => (searches === 0 ? usage : { ...usage, searches })

const SPLITS = [
  'toolUsePromptTokenCount',
  'promptTokensDetails',
  'toolUsePromptTokensDetails',
  'cacheTokensDetails',
  'candidatesTokensDetails'
]

/** What `usage` does not tell: counts of video and documents, and those of Google's own tools. */
export function leaveSplits(fields: Fields, usage: Usage, unknown: UnknownFields): void {
  const written = writeUsage(usage, null, 0)
  for (const name of SPLITS) {
    const value = fields.any(name)
    if (value !== null && !isDeepStrictEqual(value, written[name])) unknown.set(fields.at(name), value)
  }
  fields.leaveUnknown(unknown)
}

type Modality = 'AUDIO' | 'IMAGE'

/** Of the input. Cached images and sound are among those of the prompt, where that is split. */
function kindsOf(fields: Fields, cacheRead: number) {
  const sent = (modality: Modality) =>
    ofModality(fields, 'promptTokensDetails', modality) + ofModality(fields, 'toolUsePromptTokensDetails', modality)
  const cached = (modality: Modality) => ofModality(fields, 'cacheTokensDetails', modality)
  return inputKinds({
    ...{ input: 0, cacheRead, written: 0 },
    ...{ audio: sent('AUDIO'), image: sent('IMAGE'), cachedAudio: cached('AUDIO'), cachedImage: cached('IMAGE') }
  })
}

function ofModality(fields: Fields, name: string, modality: Modality): number {
  let sum = 0
  if (fields.any(name) === null) return 0
  for (const detail of messages(fields, name)) {
    if (detail.optionalString('modality') === modality) sum += count(detail, 'tokenCount')
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
    promptTokensDetails: byModality(usage.input, allAudio(usage), allImage(usage)),
    cacheTokensDetails: byModality(usage.cacheRead, usage.cacheReadAudio ?? 0, usage.cacheReadImage ?? 0),
    candidatesTokensDetails: byModality(usage.output - usage.reasoning, usage.outputAudio, usage.outputImage),
    serviceTier
  })
}

/** Null when there is neither audio nor an image: all else is text as far as is known. */
function byModality(all: number, audio: number, image: number): Json {
  if (audio === 0 && image === 0) return null
  const text = all - audio - image
  return [
    ...(text > 0 ? [{ modality: 'TEXT', tokenCount: text }] : []),
    ...(image > 0 ? [{ modality: 'IMAGE', tokenCount: image }] : []),
    ...(audio > 0 ? [{ modality: 'AUDIO', tokenCount: audio }] : [])
  ]
}
