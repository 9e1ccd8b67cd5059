/** The field by which a request asks to be followed (docs/explain.md): for the gateway alone, and never passed on. */
import { type HeaderBlock, sameName } from './headers.ts'

export const TRACE_HEADER = 'x-weir-trace'

/**
 * Its first value, which framing has dropped from what is forwarded; null: the request has none. The table of a block
 * keeps the offsets of what was dropped.
 */
export function traceTokenOf(block: HeaderBlock): string | null {
  const { at, text, count } = block
  for (let i = 0; i < count; i++) {
    if (!block.dropped(i)) continue
    const start = at[i * 4]!
    if (text[start + TRACE_HEADER.length] === ':' && sameName(text, start, TRACE_HEADER)) return block.value(i)
  }
  return null
}
