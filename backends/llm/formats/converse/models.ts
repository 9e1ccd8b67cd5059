/**
 * What models take beside Converse's own fields, in additionalModelRequestFields. Sources, by page of the Bedrock
 * user guide: "Anthropic Claude Messages API" and "Extended thinking" (thinking, top_k, tool_choice), "Amazon Nova"
 * (inferenceConfig.topK; Nova 2: reasoningConfig), "Mistral AI chat completion" (top_k), "Cohere Command R" (k, seed,
 * penalties), "AI21 Jamba" (penalties), "OpenAI models" (reasoning_effort of gpt-oss).
 */
import type { JsonObject, Sampling, Thinking } from '#backends/llm/conversation.ts'
import { compact } from '#backends/llm/formats/fields.ts'

export type Family = 'claude' | 'nova' | 'mistral' | 'cohere' | 'jamba' | 'gptOss' | 'other'

const FAMILIES: readonly (readonly [part: string, family: Family])[] = [
  ['claude', 'claude'],
  ['amazon.nova', 'nova'],
  ['mistral.', 'mistral'],
  ['cohere.command-r', 'cohere'],
  ['ai21.jamba', 'jamba'],
  ['openai.gpt-oss', 'gptOss']
]

/** By a model's id, the id of an inference profile, or an ARN with either in it. */
export function familyOf(model: string): Family {
  return FAMILIES.find(([part]) => model.includes(part))?.[1] ?? 'other'
}

/** "anthropic.claude-opus-4-6-v1", "us.anthropic.claude-3-7-sonnet-20250219-v1:0". */
const CLAUDE_VERSION = /claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2})(?!\d))?/

/** 4.6 as 406. A name without a version is taken for the newest. */
export function claudeVersion(model: string): number {
  const match = CLAUDE_VERSION.exec(model)
  return match === null ? Number.POSITIVE_INFINITY : Number(match[1]) * 100 + Number(match[2] ?? 0)
}

export type Extra = 'topK' | 'seed' | 'frequencyPenalty' | 'presencePenalty'

/** Where a family takes what `inferenceConfig` has no field for. Nova's topK lies in an object of its own. */
export const SAMPLING: { readonly [family in Family]: { readonly [name in Extra]?: string } } = {
  claude: { topK: 'top_k' },
  nova: {},
  mistral: { topK: 'top_k' },
  cohere: { topK: 'k', seed: 'seed', frequencyPenalty: 'frequency_penalty', presencePenalty: 'presence_penalty' },
  jamba: { frequencyPenalty: 'frequency_penalty', presencePenalty: 'presence_penalty' },
  gptOss: {},
  other: {}
}
export const EXTRAS: readonly Extra[] = ['topK', 'seed', 'frequencyPenalty', 'presencePenalty']

/** The fields for what `inferenceConfig` has no place for; names of those that the family has none for go to `lost`. */
export function writeExtras(sampling: Sampling, family: Family, lost: (extra: Extra) => void): JsonObject {
  const fields: { [name: string]: JsonObject | number } = {}
  for (const extra of EXTRAS) {
    const value = sampling[extra]
    const name = SAMPLING[family][extra]
    if (value === null) continue
    if (name !== undefined) fields[name] = value
    else if (family === 'nova' && extra === 'topK') fields.inferenceConfig = { topK: value }
    else lost(extra)
  }
  return fields
}

export function claudeThinkingField(thinking: Thinking, type: 'enabled' | 'adaptive' | 'disabled'): JsonObject {
  if (type === 'disabled') return { type }
  const display = thinking.isShown === null ? null : thinking.isShown ? 'summarized' : 'omitted'
  return compact({ type, budget_tokens: type === 'enabled' ? thinking.budgetTokens : null, display })
}
