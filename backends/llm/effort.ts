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

/** The smallest of low, medium, high that allows so many tokens: the words that every provider knows. */
export function effortOf(budgetTokens: number): 'low' | 'medium' | 'high' {
  if (budgetTokens <= 1024) return 'low'
  return budgetTokens <= 8192 ? 'medium' : 'high'
}
