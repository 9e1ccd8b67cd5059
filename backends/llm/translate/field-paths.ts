/** Where each client's format has what a conversation says: a writer tells its losses by these paths. */
import type { ClientFormat } from '#backends/llm/conversation.ts'

const OPENAI = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stop: 'stop',
  seed: 'seed',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  count: 'n',
  topLogprobs: 'top_logprobs',
  user: 'user',
  metadata: 'metadata',
  parallel: 'parallel_tool_calls',
  toolChoice: 'tool_choice',
  serviceTier: 'service_tier'
}

export type PathField = keyof typeof OPENAI | 'output' | 'thinking' | 'turns'

const PATHS: { readonly [format in ClientFormat]: { readonly [field in PathField]: string } } = {
  completions: {
    ...OPENAI,
    topLogprobs: 'logprobs',
    output: 'response_format',
    thinking: 'reasoning_effort',
    turns: 'messages'
  },
  responses: { ...OPENAI, output: 'text.format', thinking: 'reasoning', turns: 'input' },
  messages: {
    ...OPENAI,
    stop: 'stop_sequences',
    user: 'metadata.user_id',
    parallel: 'tool_choice.disable_parallel_tool_use',
    output: 'output_config.format',
    thinking: 'thinking',
    turns: 'messages'
  },
  gemini: {
    temperature: 'generationConfig.temperature',
    topP: 'generationConfig.topP',
    topK: 'generationConfig.topK',
    stop: 'generationConfig.stopSequences',
    seed: 'generationConfig.seed',
    frequencyPenalty: 'generationConfig.frequencyPenalty',
    presencePenalty: 'generationConfig.presencePenalty',
    count: 'generationConfig.candidateCount',
    topLogprobs: 'generationConfig.logprobs',
    output: 'generationConfig.responseMimeType',
    thinking: 'generationConfig.thinkingConfig',
    user: 'labels',
    metadata: 'labels',
    parallel: 'toolConfig.functionCallingConfig',
    toolChoice: 'toolConfig.functionCallingConfig',
    serviceTier: 'serviceTier',
    turns: 'contents'
  }
}

export const pathOf = (format: ClientFormat, field: PathField): string => PATHS[format][field]
