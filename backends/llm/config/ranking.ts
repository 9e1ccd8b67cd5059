/** How one of several equal providers is chosen: schema, and its form in the Snapshot. */
import type { AiRanking } from '#backends/llm/config/snapshot.ts'
import { REQUEST_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { whole, z } from '#engine/schema/schema.ts'

/** Of the answers that measure the others: one in twenty finds a provider that has become fast within a minute. */
const EXPLORE_PERCENT_DEFAULT = 5
/** About 500 tokens: the instructions of most applications differ by then. */
const PREFIX_CHARS_DEFAULT = 2_048
const PREFIX_CHARS_MAX = 65_536

/** What each way may say about itself, beside the providers it chooses among. */
export const rankingFields = {
  cost: () => ({}),
  latency: () => ({
    explorePercent: whole(0, 100)
      .optional()
      .describe('Requests that go to any of them, so that each is measured. Default 5.')
  }),
  leastBusy: () => ({}),
  consistentHash: () => ({
    key: expression(REQUEST_HEAD_ROOTS)
      .optional()
      .describe('What requests of one provider have in common. Default: how their prompts begin.'),
    prefixChars: whole(1, PREFIX_CHARS_MAX).optional().describe('Of the prompt, without a key. Default 2048.')
  })
}

export type RankingName = keyof typeof rankingFields

export const RANKINGS = Object.keys(rankingFields) as RankingName[]

/** The choice among the providers of a group. */
export const ranking = () =>
  oneOf({
    cost: z.strictObject(rankingFields.cost()).optional().describe('The cheapest by its price.'),
    latency: z.strictObject(rankingFields.latency()).optional().describe('The first to begin its answers.'),
    leastBusy: z
      .strictObject(rankingFields.leastBusy())
      .optional()
      .describe('The one with the fewest calls under way.'),
    consistentHash: z.strictObject(rankingFields.consistentHash()).optional().describe('The same one for the same key.')
  }).describe('Which provider of a group is asked. Default: the better of two by latency and load.')

/** Of any way; absent: its default. */
export interface FileRankingFields {
  readonly explorePercent?: number | undefined
  readonly key?: string | undefined
  readonly prefixChars?: number | undefined
}

export type FileRanking = { readonly [name in RankingName]?: FileRankingFields | undefined }

/** Undefined: providers are compared by latency and load. */
export function rankingOf(file: FileRanking | undefined): AiRanking | undefined {
  const kind = file === undefined ? undefined : RANKINGS.find((name) => file[name] !== undefined)
  if (kind === undefined) return undefined
  const { explorePercent = EXPLORE_PERCENT_DEFAULT, key = null, prefixChars = PREFIX_CHARS_DEFAULT } = file![kind]!
  if (kind === 'latency') return { kind, explore: explorePercent / 100 }
  return kind === 'consistentHash' ? { kind, key, prefixChars } : { kind }
}
