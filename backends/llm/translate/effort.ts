/**
 * Words for how much to think, and budgets in tokens. Providers take one or the other. The budgets are those
 * that Google documents for its OpenAI-compatible endpoint; minimal and what lies above high are Weir's own.
 */

const BUDGETS: readonly (readonly [effort: string, tokens: number])[] = [
  ['minimal', 512],
  ['low', 1024],
  ['medium', 8192],
  ['high', 24_576],
  ['xhigh', 32_768],
  ['max', 65_536]
]

/** Tokens for a word; those of medium for a word that is not known. */
export function budgetOf(effort: string): number {
  return BUDGETS.find(([word]) => word === effort)?.[1] ?? 8192
}

/** Claude's smallest budget ("Extended thinking": at least 1,024, and less than max_tokens). */
const BUDGET_MIN = 1024

/**
 * How much of max_tokens, which thoughts and answer share, may be thoughts: the rest is the answer's. The shares are
 * those that OpenRouter documents ("Reasoning Tokens", effort levels).
 */
const SHARES: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95
}

/**
 * A budget of Claude that leaves room for the answer; a number of tokens that fits is taken as it is. Null: `maxTokens`
 * has no room for the smallest.
 */
export function budgetWithin(
  { effort, budgetTokens }: { readonly effort: string | null; readonly budgetTokens: number | null },
  maxTokens: number
): number | null {
  if (maxTokens <= BUDGET_MIN) return null
  const budget = Math.max(budgetTokens ?? budgetOf(effort ?? 'medium'), BUDGET_MIN)
  if (budgetTokens !== null && budget < maxTokens) return budget
  const share = SHARES[budgetTokens === null ? (effort ?? 'medium') : 'high'] ?? SHARES.medium!
  return Math.max(Math.min(budget, Math.floor(maxTokens * share)), BUDGET_MIN)
}

/** The smallest of low, medium, high that allows so many tokens: the words that every provider knows. */
export function effortOf(budgetTokens: number): 'low' | 'medium' | 'high' {
  if (budgetTokens <= 1024) return 'low'
  return budgetTokens <= 8192 ? 'medium' : 'high'
}
