/** How much to think, as each family of models takes it. */
import type { Conversation, JsonObject, Thinking } from '#backends/llm/conversation.ts'
import { maxTokensOf } from '#backends/llm/formats/messages/model.ts'
import { budgetWithin, effortOf } from '#backends/llm/translate/effort.ts'
import { claudeThinkingField, claudeVersion, type Family } from './models.ts'

export interface ThinkingFields {
  /** Of additionalModelRequestFields. */
  readonly additional: JsonObject
  /** Of outputConfig: low, medium, high, xhigh, max. */
  readonly effort: string | null
  readonly isLost: boolean
}

const NOTHING: ThinkingFields = { additional: {}, effort: null, isLost: false }
const LOST: ThinkingFields = { ...NOTHING, isLost: true }
/** From Claude 4.6 the model decides by itself how much; from 4.7 it takes no budget ("Adaptive thinking"). */
const ADAPTIVE_FROM = 406
const NO_BUDGET_FROM = 407

/** The fields of `thinking` for a model of `family`. */
export function thinkingFields(thinking: Thinking, family: Family, conversation: Conversation): ThinkingFields {
  const { mode, effort, budgetTokens } = thinking
  if (family === 'claude') return claude(thinking, conversation)
  const hasWord = effort !== null || budgetTokens !== null
  const word = clamped(effort ?? effortOf(budgetTokens ?? 0), ['low', 'medium', 'high'])
  if (family === 'nova') {
    if (!conversation.model.includes('nova-2')) return mode === 'off' ? NOTHING : LOST
    const enabled = { type: 'enabled', maxReasoningEffort: hasWord ? word : 'medium' }
    return { ...NOTHING, additional: { reasoningConfig: mode === 'off' ? { type: 'disabled' } : enabled } }
  }
  // These have no setting for no thinking, nor for adaptive thinking.
  if (mode === 'off' || !hasWord) return mode === 'adaptive' ? NOTHING : LOST
  if (family === 'gptOss') return { ...NOTHING, additional: { reasoning_effort: word } }
  return { ...NOTHING, effort: effort === null ? word : outputEffort(effort) }
}

function claude(thinking: Thinking, { model, sampling }: Conversation): ThinkingFields {
  const { mode, effort, budgetTokens } = thinking
  if (mode === 'off') return { ...NOTHING, additional: { thinking: { type: 'disabled' } } }
  const version = claudeVersion(model)
  const wantsBudget = mode === 'on' && (budgetTokens !== null || version < ADAPTIVE_FROM)
  const word = effort === null ? null : outputEffort(effort)
  if (mode === 'adaptive' && version >= ADAPTIVE_FROM) {
    return { ...NOTHING, additional: { thinking: claudeThinkingField(thinking, 'adaptive') }, effort: word }
  }
  if (version >= NO_BUDGET_FROM || !(wantsBudget || mode === 'adaptive')) {
    const level = word ?? (budgetTokens === null ? null : effortOf(budgetTokens))
    return { ...NOTHING, additional: { thinking: claudeThinkingField(thinking, 'adaptive') }, effort: level }
  }
  // The budget is part of maxTokens, which is the model's own when it is not given.
  const budget = budgetWithin(thinking, sampling.maxTokens ?? maxTokensOf(model))
  if (budget === null) return LOST
  const field = claudeThinkingField({ ...thinking, budgetTokens: budget }, 'enabled')
  return { ...NOTHING, additional: { thinking: field } }
}

function outputEffort(effort: string): string {
  return clamped(effort, ['low', 'medium', 'high', 'xhigh', 'max'])
}

/** `effort`, or the nearest of `words` (in rising order). */
function clamped(effort: string, words: readonly string[]): string {
  if (words.includes(effort)) return effort
  if (effort === 'minimal') return words[0]!
  return effort === 'xhigh' || effort === 'max' ? words.at(-1)! : 'medium'
}
