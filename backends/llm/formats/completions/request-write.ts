/** A conversation as a request of POST /v1/chat/completions (OpenAI API reference, "Create chat completion"). */

import type { Conversation, Json, JsonObject, Sampling, Thinking } from '#backends/llm/conversation.ts'
import { compact, type Writable } from '#backends/llm/formats/fields.ts'
import type { ChatFormat, Losses } from '#backends/llm/formats/format.ts'
import { fieldPath } from '#backends/llm/formats/paths.ts'
import { effortOf } from '#backends/llm/translate/effort.ts'
import { writeMessages } from './content-write.ts'
import { writeOutput, writeToolChoice, writeTools } from './tools.ts'
import { restore, type Wording, wordingOf } from './wording.ts'

export const writeRequest: ChatFormat['writeRequest'] = (conversation, losses) => {
  const { origin, sampling } = conversation
  const wording = wordingOf(origin)
  const isOwn = origin.format === 'completions'
  const body: Writable = { model: conversation.model, messages: writeMessages(conversation, losses) }
  writeTools(conversation.tools, body, wording, losses)
  writeToolChoice(conversation.toolChoice, body, wording)
  writeSampling(sampling, body, wording)
  // Not OpenAI's, who refuse it, but vLLM's, SGLang's and OpenRouter's.
  if (sampling.topK !== null && isOwn) body.top_k = sampling.topK
  else if (sampling.topK !== null) losses.add(fieldPath(origin, 'topK'))
  Object.assign(
    body,
    compact({
      response_format: writeOutput(conversation.output, wording),
      reasoning_effort: writeEffort(conversation.thinking),
      service_tier: isOwn ? conversation.serviceTier : tierOf(conversation.serviceTier, losses),
      [wording.has('safety_identifier') ? 'safety_identifier' : 'user']: conversation.user,
      metadata: conversation.metadata,
      stream: conversation.isStreamed ? true : wording.get('stream'),
      stream_options: streamOptions(conversation, wording)
    })
  )
  restore(origin, body, losses)
  return body as JsonObject
}

function writeSampling(sampling: Sampling, body: Writable, wording: Wording): void {
  const { topLogprobs, stop } = sampling
  const isTopWritten = topLogprobs !== null && (topLogprobs > 0 || wording.has('top_logprobs'))
  Object.assign(
    body,
    compact({
      [wording.has('max_tokens') ? 'max_tokens' : 'max_completion_tokens']: sampling.maxTokens,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      stop: writeStop(stop, wording),
      seed: sampling.seed,
      frequency_penalty: sampling.frequencyPenalty,
      presence_penalty: sampling.presencePenalty,
      n: sampling.count,
      logprobs: topLogprobs === null ? wording.get('logprobs') : true,
      top_logprobs: isTopWritten ? topLogprobs : null
    })
  )
}

function writeStop(stop: readonly string[], wording: Wording): Json {
  const how = wording.get('stop')
  if (how === 'string' && stop.length === 1) return stop[0] ?? null
  return stop.length > 0 || how === 'list' ? [...stop] : null
}

function writeEffort(thinking: Thinking | null): string | null {
  if (thinking === null) return null
  if (thinking.mode === 'off') return 'none'
  return thinking.effort ?? (thinking.budgetTokens === null ? null : effortOf(thinking.budgetTokens))
}

const TIERS: readonly string[] = ['auto', 'default', 'flex', 'scale', 'priority']

/** Anthropic's standard_only and Google's standard are OpenAI's default. */
function tierOf(tier: string | null, losses: Losses): string | null {
  if (tier === null || TIERS.includes(tier)) return tier
  if (tier === 'standard_only' || tier === 'standard') return 'default'
  losses.add('service_tier')
  return null
}

/** Usage of streams is wanted from here always, unless the request came in this format and says what it wants. */
function streamOptions(conversation: Conversation, wording: Wording): Json {
  const own = wording.get('stream_options')
  if (own !== undefined) return { ...(own as JsonObject) }
  return conversation.isStreamed && conversation.origin.format !== 'completions' ? { include_usage: true } : null
}
