/** Where each format has the fields that Converse may have to lose, for what the caller is told. */
import type { FormatName } from '#backends/llm/conversation.ts'

type Field =
  | 'topK'
  | 'seed'
  | 'frequencyPenalty'
  | 'presencePenalty'
  | 'count'
  | 'topLogprobs'
  | 'user'
  | 'metadata'
  | 'parallel'
  | 'toolChoice'
  | 'output'
  | 'thinking'
  | 'serviceTier'
  | 'turns'

type Paths = { readonly [field in Field]: string }

const OPENAI = {
  topK: 'top_k',
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

const PATHS: { readonly [format in FormatName]: Paths } = {
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
    user: 'metadata.user_id',
    parallel: 'tool_choice.disable_parallel_tool_use',
    output: 'output_config.format',
    thinking: 'thinking',
    turns: 'messages'
  },
  gemini: {
    topK: 'generationConfig.topK',
    seed: 'generationConfig.seed',
    frequencyPenalty: 'generationConfig.frequencyPenalty',
    presencePenalty: 'generationConfig.presencePenalty',
    count: 'generationConfig.candidateCount',
    topLogprobs: 'generationConfig.logprobs',
    user: 'labels',
    metadata: 'labels',
    parallel: 'toolConfig.functionCallingConfig',
    toolChoice: 'toolConfig.functionCallingConfig',
    output: 'generationConfig.responseSchema',
    thinking: 'generationConfig.thinkingConfig',
    serviceTier: 'serviceTier',
    turns: 'contents'
  },
  converse: {
    ...OPENAI,
    topK: 'additionalModelRequestFields.top_k',
    metadata: 'requestMetadata',
    toolChoice: 'toolConfig.toolChoice',
    output: 'outputConfig.textFormat',
    thinking: 'additionalModelRequestFields.thinking',
    serviceTier: 'serviceTier.type',
    turns: 'messages'
  }
}

export function pathsOf(format: FormatName): Paths {
  return PATHS[format]
}
