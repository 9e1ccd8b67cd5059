/**
 * What models take beside Converse's own fields, in additionalModelRequestFields. Sources, by page of the Bedrock
 * user guide: "Anthropic Claude Messages API" and "Extended thinking" (thinking, top_k, tool_choice), "Amazon Nova"
 * (inferenceConfig.topK; Nova 2: reasoningConfig), "Mistral AI chat completion" (top_k), "Cohere Command R" (k, seed,
 * penalties), "AI21 Jamba" (penalties), "OpenAI models" (reasoning_effort of gpt-oss).
 */
import type { JsonObject, Sampling, Thinking, ToolChoice } from '#backends/llm/conversation.ts'
import { compact, isObject } from '#backends/llm/formats/fields.ts'
import { hasOnly } from './content-read.ts'

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

type Extra = 'topK' | 'seed' | 'frequencyPenalty' | 'presencePenalty'

/** Where a family takes what `inferenceConfig` has no field for. Nova's topK lies in an object of its own. */
const SAMPLING: { readonly [family in Family]: { readonly [name in Extra]?: string } } = {
  claude: { topK: 'top_k' },
  nova: {},
  mistral: { topK: 'top_k' },
  cohere: { topK: 'k', seed: 'seed', frequencyPenalty: 'frequency_penalty', presencePenalty: 'presence_penalty' },
  jamba: { frequencyPenalty: 'frequency_penalty', presencePenalty: 'presence_penalty' },
  gptOss: {},
  other: {}
}
export const EXTRAS: readonly Extra[] = ['topK', 'seed', 'frequencyPenalty', 'presencePenalty']

export type Extras = { readonly [name in Extra]: number | null }

export interface Additional {
  readonly extras: Extras
  /** Without what `outputConfig.effort` says. */
  readonly thinking: Thinking | null
  /** Claude's tool_choice, the only way to forbid parallel calls. */
  readonly toolChoice: ToolChoice | null
  /** Fields that say something else. */
  readonly others: JsonObject
}

/** Reads the fields that are written exactly as below; the others are left as they are. */
export function readAdditional(fields: JsonObject, family: Family): Additional {
  const taken = new Set<string>()
  const extras: { [name in Extra]: number | null } = {
    topK: null,
    seed: null,
    frequencyPenalty: null,
    presencePenalty: null
  }
  for (const extra of EXTRAS) {
    const name = SAMPLING[family][extra]
    const value = name === undefined ? null : fields[name]
    if (name === undefined || typeof value !== 'number') continue
    extras[extra] = value
    taken.add(name)
  }
  let thinking: Thinking | null = null
  let toolChoice: ToolChoice | null = null
  if (family === 'claude') {
    thinking = claudeThinking(fields)
    if (thinking !== null) taken.add('thinking')
    toolChoice = claudeToolChoice(fields)
    if (toolChoice !== null) taken.add('tool_choice')
  } else if (family === 'nova') {
    const config = fields.inferenceConfig
    if (isObject(config) && typeof config.topK === 'number' && hasOnly(config, ['topK'])) {
      extras.topK = config.topK
      taken.add('inferenceConfig')
    }
    thinking = novaThinking(fields)
    if (thinking !== null) taken.add('reasoningConfig')
  } else if (family === 'gptOss' && typeof fields.reasoning_effort === 'string') {
    thinking = { mode: 'on', effort: fields.reasoning_effort, budgetTokens: null, isShown: null }
    taken.add('reasoning_effort')
  }
  const others = Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && !taken.has(name))
  )
  return { extras, thinking, toolChoice, others }
}

function claudeThinking(fields: JsonObject): Thinking | null {
  const value = fields.thinking
  if (!isObject(value)) return null
  const { type, budget_tokens: budget, display } = value
  const isShown = display === undefined ? null : display === 'summarized'
  if (isShown === false && display !== 'omitted') return null
  const none = { effort: null, budgetTokens: null, isShown }
  if (type === 'enabled' && typeof budget === 'number' && hasOnly(value, ['type', 'budget_tokens', 'display'])) {
    return { ...none, mode: 'on', budgetTokens: budget }
  }
  if (type === 'adaptive' && hasOnly(value, ['type', 'display'])) return { ...none, mode: 'adaptive' }
  return type === 'disabled' && hasOnly(value, ['type']) ? { ...none, mode: 'off' } : null
}

function claudeToolChoice(fields: JsonObject): ToolChoice | null {
  const value = fields.tool_choice
  if (!isObject(value) || value.disable_parallel_tool_use !== true) return null
  const { type, name } = value
  if (type === 'tool' && typeof name === 'string' && hasOnly(value, ['type', 'name', 'disable_parallel_tool_use'])) {
    return { kind: 'tool', name, parallel: false }
  }
  const isPlain = (type === 'auto' || type === 'any') && hasOnly(value, ['type', 'disable_parallel_tool_use'])
  return isPlain ? { kind: type, name: null, parallel: false } : null
}

function novaThinking(fields: JsonObject): Thinking | null {
  const value = fields.reasoningConfig
  if (!isObject(value)) return null
  const { type, maxReasoningEffort: effort } = value
  const none = { budgetTokens: null, isShown: null }
  if (type === 'disabled' && hasOnly(value, ['type'])) return { ...none, mode: 'off', effort: null }
  if (type !== 'enabled' || typeof effort !== 'string' || !hasOnly(value, ['type', 'maxReasoningEffort'])) return null
  return { ...none, mode: 'on', effort }
}

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
