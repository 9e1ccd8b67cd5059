/**
 * What members the `input` of a model has. Each model has a schema of its own; the rows are from the pages "API" of
 * models on replicate.com, by the beginning of their names. Others are taken for models of the last row: most of those
 * that replicate.com packages itself have its names.
 */
import type { Sampling } from '#backends/llm/conversation.ts'

export type Setting = Exclude<keyof Sampling, 'maxTokens' | 'count' | 'topLogprobs'>

export interface Inputs {
  /** For instructions; null: they stand at the beginning of the prompt. */
  readonly system: string | null
  readonly maxTokens: string
  /** It takes turns with their roles, which go before the prompt. */
  readonly hasMessages?: true
  readonly images?: { readonly name: string; readonly max: number }
  readonly effort?: string
  /** Those that it has, with their names. */
  readonly settings: { readonly [setting in Setting]?: string }
}

const HEAT = { temperature: 'temperature', topP: 'top_p' } as const
const PENALTIES = { presencePenalty: 'presence_penalty', frequencyPenalty: 'frequency_penalty' } as const
const ENDS = { topK: 'top_k', seed: 'seed', stop: 'stop_sequences' } as const

const PROMPT_ONLY: Inputs = { system: null, maxTokens: 'max_tokens', settings: { ...HEAT, ...PENALTIES } }

/** The first that fits. */
const ROWS: readonly (readonly [models: RegExp, inputs: Inputs])[] = [
  [/^openai\/gpt-oss/, PROMPT_ONLY],
  [
    /^openai\//,
    {
      ...{ system: 'system_prompt', maxTokens: 'max_completion_tokens', hasMessages: true, effort: 'reasoning_effort' },
      images: { name: 'image_input', max: 16 },
      settings: { ...HEAT, ...PENALTIES }
    }
  ],
  // Some of its models have thinking by other members of their own.
  [
    /^anthropic\//,
    { system: 'system_prompt', maxTokens: 'max_tokens', images: { name: 'image', max: 1 }, settings: {} }
  ],
  [
    /^google\/gemini/,
    {
      ...{ system: 'system_instruction', maxTokens: 'max_output_tokens', images: { name: 'images', max: 10 } },
      settings: HEAT
    }
  ],
  [/^deepseek-ai\//, PROMPT_ONLY],
  [/^meta\/llama-2-/, { system: 'system_prompt', maxTokens: 'max_new_tokens', settings: { ...HEAT, ...ENDS } }],
  [
    /^mistralai\/mi[sx]tral-(?:7b|8x7b)/,
    { system: null, maxTokens: 'max_new_tokens', settings: { ...HEAT, ...PENALTIES, topK: 'top_k' } }
  ],
  [
    /vicuna|flan/,
    { system: null, maxTokens: 'max_length', settings: { ...HEAT, seed: 'seed', stop: 'stop_sequences' } }
  ],
  [/^/, { system: 'system_prompt', maxTokens: 'max_tokens', settings: { ...HEAT, ...PENALTIES, ...ENDS } }]
]

/** `model`: "owner/name", whatever follows it. */
export const inputsOf = (model: string): Inputs => ROWS.find(([models]) => models.test(model))![1]

/** All names of a limit: an answer of that many tokens was cut off. */
export const LIMITS: readonly string[] = [...new Set(ROWS.map(([, { maxTokens }]) => maxTokens))]
