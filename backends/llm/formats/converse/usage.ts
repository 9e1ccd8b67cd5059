/** Tokens as Bedrock counts them (API reference: TokenUsage, CacheDetail). */
import { NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import type { Fields } from '#backends/llm/formats/fields.ts'

/**
 * `inputTokens` counts only what was neither read from the cache nor written to it ("Prompt caching" of the user
 * guide: total input = inputTokens + cacheReadInputTokens + cacheWriteInputTokens).
 */
export function readUsage(usage: Fields): Usage {
  const cacheRead = usage.count('cacheReadInputTokens')
  const cacheWrite = usage.count('cacheWriteInputTokens')
  const output = usage.count('outputTokens')
  const uncached = usage.count('inputTokens')
  usage.any('totalTokens')
  let cacheWrite1h = 0
  for (const detail of usage.objects('cacheDetails')) {
    if (detail.optionalString('ttl') === '1h') cacheWrite1h += detail.count('inputTokens')
  }
  cacheWrite1h = Math.min(cacheWrite1h, cacheWrite)
  return {
    ...NO_USAGE,
    input: uncached + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite5m: cacheWrite - cacheWrite1h,
    cacheWrite1h,
    output
  }
}
