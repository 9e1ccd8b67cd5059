/** Why an answer ended. */
import type { Part, StopReason } from '#backends/llm/conversation.ts'
import { isOpaqueCall } from './tool-calls.ts'

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

interface StopContext {
  /** The message has a refusal. */
  readonly hasRefused: boolean
  /** The message has tool calls. */
  readonly hasCalls: boolean
  /** The stop sequence that was found, which vLLM tells; null: none. */
  readonly sequence: string | null
}

/** Many servers say "stop", or nothing, behind tool calls; so does OpenAI behind one that was asked for by name. */
export function readStop(word: string, { hasRefused, hasCalls, sequence }: StopContext): StopReason {
  if (word !== 'stop' && word !== '') return STOPS.get(word) ?? 'end'
  if (hasRefused) return 'refusal'
  if (sequence !== null) return 'stopSequence'
  return hasCalls ? 'tools' : 'end'
}

export function writeStop(stop: StopReason, hasRefused: boolean, isLegacyCall: boolean): string {
  if (stop === 'refusal' && hasRefused) return 'stop'
  return stop === 'tools' && isLegacyCall ? 'function_call' : WORDS[stop]
}

export function hasCalls(parts: readonly Part[]): boolean {
  return parts.some((part) => part.kind === 'toolCall' || isOpaqueCall(part))
}

export function hasRefusal(parts: readonly Part[]): boolean {
  return parts.some((part) => part.kind === 'refusal')
}
