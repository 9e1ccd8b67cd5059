/** Anthropic: a cache is written for 1.25 times the price of input, for an hour for twice, and read for a tenth. */
import type { Dollars, Line, PriceList } from '#backends/llm/prices/list.ts'

function priced(input: number, output: number): Dollars {
  const exact = (price: number) => Number(price.toFixed(6))
  return {
    input,
    cacheRead: exact(input / 10),
    cacheWrite5m: exact(input * 1.25),
    cacheWrite1h: input * 2,
    output,
    batch: 50
  }
}

/** What is called with the prices of one cloud in all regions. */
export const CLAUDE_GLOBAL = (): readonly Line[] => [
  ['claude-fable-5', priced(10, 50)],
  ['claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5', priced(5, 25)],
  ['claude-sonnet-5 claude-sonnet-4-6', priced(3, 15)],
  ['claude-sonnet-4-5', { ...priced(3, 15), long: { above: 200_000, ...rest(priced(6, 22.5)) } }],
  ['claude-haiku-4-5', priced(1, 5)]
]

/** Older ones, whose prices are the same everywhere. */
export const CLAUDE_OLDER = (): readonly Line[] => [
  ['claude-opus-4-1 claude-opus-4-0 claude-opus-4 claude-4-opus claude-3-opus', priced(15, 75)],
  ['claude-sonnet-4-0 claude-sonnet-4 claude-4-sonnet', priced(3, 15)],
  ['claude-3-7-sonnet claude-3-5-sonnet claude-3-sonnet', priced(3, 15)],
  ['claude-3-5-sonnet-v2', priced(3, 15)],
  ['claude-3-5-haiku', priced(0.8, 4)],
  ['claude-3-haiku', { input: 0.25, cacheRead: 0.03, cacheWrite5m: 0.3, cacheWrite1h: 0.5, output: 1.25, batch: 50 }]
]

/** Of the web search tool, at Anthropic's own API: 10 for a thousand. */
const SEARCH = 0.01

/** Prices without those of tiers. */
function rest({ batch: _, ...rates }: Dollars): Omit<Dollars, 'batch'> {
  return rates
}

export const anthropicList = (): PriceList => ({
  provider: 'anthropic',
  source: 'https://platform.claude.com/docs/en/about-claude/pricing',
  date: '2026-08-21',
  lines: [...CLAUDE_GLOBAL(), ...CLAUDE_OLDER()].map(([models, dollars]) => [models, { ...dollars, search: SEARCH }])
})
