/**
 * What some providers say that a call has cost, in dollars: OpenRouter ("Usage accounting": credits, which are dollars;
 * with a key of the client's own, what its provider asks stands beside them), Perplexity (usage.cost.total_cost), xAI
 * ("Cost Tracking": ticks, of which a dollar has 10^10). Believed of providers that are known to tell it (prices/).
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { PICO_PLACES, PICOS_MAX, type Picos, roundedUp } from '#engine/kit/money.ts'

const PICOS_PER_TICK = 100

/** The member `reportedCost` of a Usage, or nothing. */
export function reportedCost(usage: JsonObject): { readonly reportedCost?: Picos } {
  const cost = costIn(usage)
  return cost === null ? {} : { reportedCost: cost }
}

function costIn(usage: JsonObject): Picos | null {
  const { cost_in_usd_ticks: ticks, cost } = usage
  if (typeof ticks === 'number' && ticks >= 0) return Math.min(Math.ceil(ticks) * PICOS_PER_TICK, PICOS_MAX)
  if (isObject(cost)) return picosOf(cost.total_cost)
  const own = picosOf(cost)
  if (own === null || usage.is_byok !== true || !isObject(usage.cost_details)) return own
  return Math.min(own + (picosOf(usage.cost_details.upstream_inference_cost) ?? 0), PICOS_MAX)
}

const picosOf = (dollars: Json | undefined): Picos | null =>
  typeof dollars === 'number' ? roundedUp(dollars, PICO_PLACES) : null
