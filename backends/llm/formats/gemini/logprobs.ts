/**
 * Log probabilities: Google's two lists, of chosen and of top tokens, and OpenAI's one entry per token. Google gives
 * no bytes; its token ids are carried as `token_id`, which OpenAI's clients pass over.
 * Source: ai.google.dev, "Generating content" reference, LogprobsResult.
 */

import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { compact, type Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { count, messages, optionalMessage, optionalNumber } from './wire.ts'

/** OpenAI's entries; null when there is no result. */
export function readLogprobs(candidate: Fields, unknown: UnknownFields): Json[] | null {
  const result = optionalMessage(candidate, 'logprobsResult')
  if (result === null) return null
  const tops = messages(result, 'topCandidates')
  const entries = messages(result, 'chosenCandidates').map((chosen, i): Json => {
    const top = tops[i]
    return { ...entry(chosen), top_logprobs: top === undefined ? [] : messages(top, 'candidates').map(entry) }
  })
  result.leaveUnknown(unknown)
  return entries
}

function entry(candidate: Fields): JsonObject {
  const id = optionalNumber(candidate, 'tokenId')
  const base = {
    token: candidate.optionalString('token') ?? '',
    logprob: count(candidate, 'logProbability'),
    bytes: null
  }
  return id === null ? base : { ...base, token_id: id }
}

/** Null when `logprobs` are not OpenAI's entries. */
export function writeLogprobs(logprobs: Json): JsonObject | null {
  if (!Array.isArray(logprobs)) return null
  const entries = (logprobs as readonly Json[]).filter(isObject)
  const tops = entries.map((item) => item.top_logprobs)
  const hasTops = tops.some((top) => Array.isArray(top) && top.length > 0)
  const topCandidates = tops.map((top) => ({
    candidates: Array.isArray(top) ? (top as readonly Json[]).filter(isObject).map(candidate) : []
  }))
  return compact({ topCandidates: hasTops ? topCandidates : null, chosenCandidates: entries.map(candidate) })
}

/** Servers that send other types than OpenAI documents are no reason to send them on. */
function candidate({ token, token_id: id, logprob }: JsonObject): JsonObject {
  return compact({
    token: typeof token === 'string' ? token : null,
    tokenId: typeof id === 'number' && Number.isInteger(id) ? id : null,
    logProbability: typeof logprob === 'number' ? logprob : null
  })
}
