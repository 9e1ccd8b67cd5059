/** Usage as limits and metrics can take it: providers say it, and what they say may be anything. */
import type { Usage } from '#backends/llm/conversation.ts'

/** Tokens of one answer, of a kind: a thousand times as many as any model takes. Two of them fit into 31 bits. */
export const TOKENS_MAX = 1_000_000_000

/** `usage` where all of it are counts; else what is nearest to it. */
export function boundedUsage(usage: Usage): Usage {
  if (isCount(usage.input) && isCount(usage.output) && Object.values(usage).every(isCount)) return usage
  return {
    input: counted(usage.input),
    cacheRead: counted(usage.cacheRead),
    cacheWrite5m: counted(usage.cacheWrite5m),
    cacheWrite1h: counted(usage.cacheWrite1h),
    inputAudio: counted(usage.inputAudio),
    inputImage: counted(usage.inputImage),
    output: counted(usage.output),
    reasoning: counted(usage.reasoning),
    outputAudio: counted(usage.outputAudio),
    outputImage: counted(usage.outputImage)
  }
}

const isCount = (tokens: number): boolean => Number.isInteger(tokens) && tokens >= 0 && tokens <= TOKENS_MAX

/** NaN, which is what two infinities may leave, is owed as much as they. */
function counted(tokens: number): number {
  return Number.isNaN(tokens) ? TOKENS_MAX : Math.min(Math.max(Math.ceil(tokens), 0), TOKENS_MAX)
}
