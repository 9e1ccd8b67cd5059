/** Tokens as Cohere counts them (API reference, `usage`: billed_units, tokens, cached_tokens). */
import { NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'

/**
 * Those that it charges for, `billed_units`: `tokens` has the instructions that Cohere puts ahead of each request (507
 * for a question of 12), and `cached_tokens` counts among these, at no price of its own. Servers of one's own charge
 * nothing, and then `tokens` is all there is.
 */
export function readUsage(usage: Fields): Usage | null {
  const billed = unitsIn(usage, 'billed_units')
  const counted = unitsIn(usage, 'tokens')
  usage.any('cached_tokens')
  const { input, output } = billed ?? counted ?? {}
  if (input === undefined && output === undefined) return null
  const { searches } = billed ?? {}
  return {
    ...NO_USAGE,
    input: input ?? 0,
    output: output ?? 0,
    ...(searches === undefined ? {} : { searches })
  }
}

interface Units {
  readonly input?: number | undefined
  readonly output?: number | undefined
  readonly searches?: number | undefined
}

function unitsIn(usage: Fields, name: string): Units | null {
  const value = usage.any(name)
  if (!isObject(value)) return null
  const units = new Fields(value, name, usage)
  const [input, output] = [whole(units, 'input_tokens'), whole(units, 'output_tokens')]
  return input === undefined && output === undefined
    ? null
    : { input, output, searches: whole(units, 'search_units') || undefined }
}

/** They are written as numbers with a fraction, of 0. */
function whole(units: Fields, name: string): number | undefined {
  const value = units.any(name)
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined
}
