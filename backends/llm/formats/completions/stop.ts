/** Why an answer ended. */
import type { Part, StopReason } from '#backends/llm/conversation.ts'

/** OpenAI's words, and those of servers that add some: vLLM, SGLang, OpenRouter, DeepSeek, Mistral. */
const STOPS: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end'],
  ['length', 'length'],
  ['tool_calls', 'tools'],
  ['function_call', 'tools'],
  ['content_filter', 'filter'],
  ['model_length', 'contextWindow'],
  ['error', 'error'],
  ['abort', 'error'],
  ['insufficient_system_resource', 'error']
])

const WORDS: { readonly [stop in StopReason]: string } = {
  end: 'stop',
  length: 'length',
  stopSequence: 'stop',
  tools: 'tool_calls',
  filter: 'content_filter',
  // Without a refusal that could be read: the closest word.
  refusal: 'content_filter',
  // There is no word for "send it again": what has been said so far is an answer.
  pause: 'stop',
  contextWindow: 'length',
  // OpenRouter's word.
  error: 'error'
}

/** `hasRefused`: the message has a refusal. `sequence`: the stop sequence that was found, which vLLM tells. */
export function readStop(word: string, hasRefused: boolean, sequence: string | null): StopReason {
  if (word !== 'stop') return STOPS.get(word) ?? 'end'
  if (hasRefused) return 'refusal'
  return sequence === null ? 'end' : 'stopSequence'
}

export function writeStop(stop: StopReason, hasRefused: boolean, isLegacyCall: boolean): string {
  if (stop === 'refusal' && hasRefused) return 'stop'
  return stop === 'tools' && isLegacyCall ? 'function_call' : WORDS[stop]
}

export function hasRefusal(parts: readonly Part[]): boolean {
  return parts.some((part) => part.kind === 'refusal')
}
