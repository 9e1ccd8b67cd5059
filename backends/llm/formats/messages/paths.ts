/** What the fields that the Messages API lacks are called where they came from: losses are told in those words. */
import type { FormatName } from '#backends/llm/conversation.ts'

type Field =
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'seed'
  | 'frequencyPenalty'
  | 'presencePenalty'
  | 'count'
  | 'topLogprobs'
  | 'thinking'
  | 'output'
  | 'serviceTier'

const SAMPLING = { temperature: 'temperature', topP: 'top_p', topK: 'top_k', seed: 'seed', topLogprobs: 'top_logprobs' }
const PENALTIES = { frequencyPenalty: 'frequency_penalty', presencePenalty: 'presence_penalty' }
const OPENAI = { ...SAMPLING, ...PENALTIES, count: 'n', serviceTier: 'service_tier' }
const CONFIG = 'generationConfig'

const PATHS: { readonly [format in FormatName]: { readonly [field in Field]: string } } = {
  messages: { ...OPENAI, thinking: 'thinking', output: 'output_config.format' },
  completions: { ...OPENAI, topLogprobs: 'logprobs', thinking: 'reasoning_effort', output: 'response_format' },
  responses: { ...OPENAI, thinking: 'reasoning', output: 'text.format' },
  gemini: {
    temperature: `${CONFIG}.temperature`,
    topP: `${CONFIG}.topP`,
    topK: `${CONFIG}.topK`,
    seed: `${CONFIG}.seed`,
    frequencyPenalty: `${CONFIG}.frequencyPenalty`,
    presencePenalty: `${CONFIG}.presencePenalty`,
    count: `${CONFIG}.candidateCount`,
    topLogprobs: `${CONFIG}.logprobs`,
    thinking: `${CONFIG}.thinkingConfig`,
    output: `${CONFIG}.responseMimeType`,
    serviceTier: 'serviceTier'
  },
  converse: {
    ...OPENAI,
    temperature: 'inferenceConfig.temperature',
    topP: 'inferenceConfig.topP',
    thinking: 'additionalModelRequestFields',
    output: 'outputConfig',
    serviceTier: 'serviceTier'
  }
}

export function pathOf(format: FormatName, field: Field): string {
  return PATHS[format][field]
}

export { partPath, turnPath } from '#backends/llm/translate/client-paths.ts'

/** Of answer `i`. */
export function choicePath(format: FormatName, i: number): string {
  return `${format === 'gemini' ? 'candidates' : 'choices'}[${i}]`
}
