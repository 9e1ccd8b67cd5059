/** Metrics of calls of models beside those that clients have asked for. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { unitsOf } from '#engine/contract/model-use.ts'
import { SIDE_PURPOSE } from '#engine/contract/side-call.ts'
import type { Metrics } from './metrics.ts'

/** Models are the configuration's, or, where it names none, the client's. */
const MODELS_MAX = 256
const MODEL_CHARS_MAX = 128
const OTHER = 'other'

/** Of one worker. */
export class SideCallMetrics {
  readonly #metrics: Metrics
  readonly #models = new Set<string>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** `ex` is over and has asked a model. They are few, so no series is kept at hand. */
  record(ex: Exchange, route: string, status: number, durationMs: number): void {
    const llm = ex.llm!
    const purpose = SIDE_PURPOSE.get(ex) ?? ''
    const provider = llm.provider ?? ''
    const labels = { route, purpose, gen_ai_provider_name: provider, gen_ai_request_model: this.#nameOf(llm) }
    const errorType = llm.errorType ?? ex.error ?? (status >= 400 ? String(status) : '')
    const seconds = { ...labels, error_type: errorType }
    this.#metrics.histogram('weir_llm_side_call_duration_seconds', seconds).observe(durationMs / 1000)
    for (const [type, tokens] of [
      ['input', llm.inputTokens],
      ['output', llm.outputTokens]
    ] as const) {
      const of = { ...labels, gen_ai_token_type: type }
      if (tokens !== undefined) this.#metrics.counter('weir_llm_side_call_tokens_total', of).add(tokens)
    }
    const cost = unitsOf(llm.cost)
    if (cost !== undefined) this.#metrics.counter('weir_llm_side_call_cost_total', labels).add(cost)
  }

  dropped(route: string, purpose: string): void {
    this.#metrics.counter('weir_llm_side_calls_dropped_total', { route, purpose }).add(1)
  }

  #nameOf({ requestModel = '' }: NonNullable<Exchange['llm']>): string {
    const name = requestModel.slice(0, MODEL_CHARS_MAX)
    if (!this.#models.has(name) && this.#models.size >= MODELS_MAX) return OTHER
    this.#models.add(name)
    return name
  }
}
