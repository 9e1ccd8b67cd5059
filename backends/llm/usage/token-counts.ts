/** Usage as limits and metrics can take it: providers say it, and what they say may be anything. */
import { NO_USAGE, type Usage } from '#backends/llm/conversation.ts'

/** Tokens of one answer, of a kind: a thousand times as many as any model takes. Two of them fit into 31 bits. */
export const TOKENS_MAX = 1_000_000_000

const KINDS = Object.keys(NO_USAGE) as (keyof Tokens)[]
/** Those that are mostly absent. */
const CACHED_KINDS = ['cacheReadAudio', 'cacheReadImage'] as const
const ALL_KINDS = [...KINDS, ...CACHED_KINDS]

/** `usage` where all of it are counts; else what is nearest to it. */
export function boundedUsage(usage: Usage): Usage {
  return isCounted(usage) ? usage : { ...usage, ...mapUsage(usage, counted) }
}

/** Of every call, and of every chunk of some servers: it makes nothing. */
function isCounted(usage: Usage): boolean {
  for (const kind of ALL_KINDS) if (!isCount(usage[kind] ?? 0)) return false
  return true
}

type CachedKind = (typeof CACHED_KINDS)[number]
type Tokens = Omit<Usage, 'reportedCost' | 'searches' | CachedKind>

type AllTokens = Tokens & Pick<Usage, CachedKind>

export function mapUsage(usage: Usage, map: (tokens: number, kind: keyof AllTokens) => number): AllTokens {
  const mapped: { -readonly [kind in keyof AllTokens]: AllTokens[kind] } = { ...NO_USAGE }
  for (const kind of KINDS) mapped[kind] = map(usage[kind], kind)
  for (const kind of CACHED_KINDS) {
    const tokens = map(usage[kind] ?? 0, kind)
    if (tokens > 0) mapped[kind] = tokens
  }
  return mapped
}

const isCount = (tokens: number): boolean => Number.isInteger(tokens) && tokens >= 0 && tokens <= TOKENS_MAX

/** NaN, which is what two infinities may leave, is owed as much as they. */
function counted(tokens: number): number {
  return Number.isNaN(tokens) ? TOKENS_MAX : Math.min(Math.max(Math.ceil(tokens), 0), TOKENS_MAX)
}
