/** Token counts: `input_tokens` of the API leaves out what caches took or gave ("Prompt caching", Tracking cache). */
import {
  type FormatName,
  type Json,
  type JsonObject,
  NO_USAGE,
  type StopReason,
  type Usage
} from '#backends/llm/conversation.ts'
import { compact, type Fields, isObject, type Writable } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'

/**
 * The counts of `usage`, over those `before` (message_delta repeats totals, those that there are). What was
 * written to caches is that of 5 minutes where the API does not divide it.
 */
export function readUsage(usage: Fields, before: Usage = NO_USAGE): Usage {
  const plain = before.input - before.cacheRead - before.cacheWrite5m - before.cacheWrite1h
  const cacheRead = usage.optionalNumber('cache_read_input_tokens') ?? before.cacheRead
  const written = usage.optionalNumber('cache_creation_input_tokens')
  const parts = usage.optionalObject('cache_creation')
  const cacheWrite1h = parts?.optionalNumber('ephemeral_1h_input_tokens') ?? before.cacheWrite1h
  const cacheWrite5m =
    written === null
      ? (parts?.optionalNumber('ephemeral_5m_input_tokens') ?? before.cacheWrite5m)
      : Math.max(written - cacheWrite1h, 0)
  parts?.any('ephemeral_5m_input_tokens')
  const thoughts = usage.optionalObject('output_tokens_details')
  return {
    ...NO_USAGE,
    input: (usage.optionalNumber('input_tokens') ?? plain) + cacheRead + cacheWrite5m + cacheWrite1h,
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    output: usage.optionalNumber('output_tokens') ?? before.output,
    reasoning: thoughts?.optionalNumber('thinking_tokens') ?? before.reasoning,
    ...searchesIn(usage.value.server_tool_use, before)
  }
}

/** Of the web search tool ("Web search tool", usage and pricing). Its field is not read here: it goes on as it came. */
function searchesIn(tools: Json | undefined, { searches }: Usage): Pick<Usage, 'searches'> {
  const count = isObject(tools) ? tools.web_search_requests : undefined
  if (typeof count === 'number' && count > 0) return { searches: count }
  return searches === undefined ? {} : { searches }
}

/** The API always has usage: zeros when the provider gave none. Tokens of audio are counted, but not separately. */
export function writeUsage(usage: Usage | null, serviceTier: string | null): Writable {
  const { input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning } = usage ?? NO_USAGE
  const written = cacheWrite5m + cacheWrite1h
  const parts: JsonObject = {
    ephemeral_5m_input_tokens: cacheWrite5m,
    ephemeral_1h_input_tokens: cacheWrite1h
  }
  return compact({
    input_tokens: Math.max(input - cacheRead - written, 0),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cacheRead,
    cache_creation: parts,
    output_tokens: output,
    output_tokens_details: reasoning > 0 ? { thinking_tokens: reasoning } : null,
    service_tier: writeAnswerTier(serviceTier)
  })
}

const DETAILS: { readonly [format in FormatName]?: readonly [input: string, output: string] } = {
  completions: ['usage.prompt_tokens_details', 'usage.completion_tokens_details'],
  responses: ['usage.input_tokens_details', 'usage.output_tokens_details']
}
const BY_MODALITY = ['usageMetadata.promptTokensDetails', 'usageMetadata.candidatesTokensDetails'] as const

/** This format has no counts of audio and images. `from`: null where it is not known, in streams. */
export function loseMedia(usage: Usage | null, from: FormatName | null, losses: Losses): void {
  if (usage === null) return
  const details = from === null ? undefined : DETAILS[from]
  const lose = (tokens: number, side: 'input' | 'output', name: string) => {
    const at = side === 'input' ? 0 : 1
    if (tokens === 0) return
    if (from === 'gemini') losses.add(BY_MODALITY[at])
    else losses.add(details === undefined ? `usage.${side}_${name}` : `${details[at]}.${name}`)
  }
  lose(usage.inputAudio, 'input', 'audio_tokens')
  lose(usage.inputImage, 'input', 'image_tokens')
  lose(usage.outputAudio, 'output', 'audio_tokens')
  lose(usage.outputImage, 'output', 'image_tokens')
}

/** `standard` by the word that the other formats have for it. */
export function readAnswerTier(tier: string | null): string | null {
  return tier === 'standard' ? 'default' : tier
}

/** Null for tiers that the API does not have. */
export function writeAnswerTier(tier: string | null): string | null {
  if (tier === 'default') return 'standard'
  return tier === 'priority' || tier === 'batch' ? tier : null
}

const STOPS: { readonly [reason: string]: StopReason } = {
  end_turn: 'end',
  max_tokens: 'length',
  stop_sequence: 'stopSequence',
  tool_use: 'tools',
  pause_turn: 'pause',
  // Beta: the conversation was compacted, and is to be sent again.
  compaction: 'pause',
  refusal: 'refusal',
  model_context_window_exceeded: 'contextWindow'
}

/** `error` has no word in the API. */
const REASONS: { readonly [stop in StopReason]: string } = {
  end: 'end_turn',
  length: 'max_tokens',
  stopSequence: 'stop_sequence',
  tools: 'tool_use',
  filter: 'refusal',
  refusal: 'refusal',
  pause: 'pause_turn',
  contextWindow: 'model_context_window_exceeded',
  error: 'end_turn'
}

/** Words that are not known end the answer like any other. */
export function readStop(reason: string | null): StopReason {
  return reason !== null && Object.hasOwn(STOPS, reason) ? STOPS[reason]! : 'end'
}

/** An answer that refuses in words (OpenAI's refusal) has no other stop reason for it. */
export function writeStop(stop: StopReason, hasRefusal: boolean): string {
  return hasRefusal && stop === 'end' ? 'refusal' : REASONS[stop]
}
