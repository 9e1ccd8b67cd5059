/** Rows as workers send them, for tests. */
import { COLUMN_NAMES, type Column, type Row } from './record.ts'

export type Fields = { readonly [name in Column]?: string | number | null }

export const NOON = Date.parse('2026-05-31T12:00:00Z')

const USUAL: Fields = {
  id: 'req_1',
  time: NOON,
  key: 'alice',
  team: 'search',
  requestModel: 'gpt-5-mini',
  model: 'gpt-5-mini-2025-08-07',
  provider: 'openai',
  route: 'llm',
  status: 200,
  streamed: 0,
  retries: 0,
  uncachedInputTokens: 10,
  outputTokens: 5,
  costNanos: 12_500,
  currency: 'USD',
  durationMs: 800
}

/** What is not said is as usual. */
export function row(fields: Fields = {}): Row {
  const all: Fields = { ...USUAL, ...fields }
  return COLUMN_NAMES.map((name) => all[name] ?? null)
}
