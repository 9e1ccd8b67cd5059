/**
 * Metrics of exchanges with models, by the OpenTelemetry semantic conventions for generative AI (gen-ai-metrics), with
 * names as Prometheus writes them: dots become underscores, seconds are named.
 *
 * Clients choose names of models. A name becomes a label value once a provider has answered to it, and only so many of
 * them, per route and in all: other models are counted under "other".
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { firstTokenMs, type ModelUse, perTokenMs, unitsOf } from '#engine/contract/model-use.ts'
import { CostMetrics } from './cost-metrics.ts'
import type { Counter, Histogram, Metrics } from './metrics.ts'

/** Pairs of models with labels of their own: per worker, and per route. */
const MODELS_MAX = 256
const ROUTE_MODELS_MAX = 64
/** Error types of one pair; the rest share the conventions' word for it. */
const ERROR_TYPES_MAX = 24
const MODEL_CHARS_MAX = 128
const OTHER = 'other'
const OTHER_ERROR = '_OTHER'

interface Labels {
  readonly route: string
  readonly gen_ai_operation_name: string
  readonly gen_ai_provider_name: string
  readonly gen_ai_request_model: string
  readonly gen_ai_response_model: string
}

/** The series of one pair of models on one route. Each histogram is made with its first value. */
class ModelSeries {
  readonly #metrics: Metrics
  readonly #labels: Labels
  readonly #durations = new Map<string, Histogram>()
  #input: Histogram | null = null
  #output: Histogram | null = null
  #firstToken: Histogram | null = null
  #perToken: Histogram | null = null
  #cost: Counter | null = null
  #unpriced: Counter | null = null

  constructor(metrics: Metrics, labels: Labels) {
    this.#metrics = metrics
    this.#labels = labels
  }

  observe(llm: ModelUse, startedAt: number, durationMs: number, errorType: string): void {
    this.#duration(errorType).observe(durationMs / 1000)
    const { inputTokens, outputTokens } = llm
    if (inputTokens !== undefined) {
      this.#input ??= this.#tokens('input')
      this.#input.observe(inputTokens)
    }
    if (outputTokens !== undefined) {
      this.#output ??= this.#tokens('output')
      this.#output.observe(outputTokens)
    }
    this.count(llm)
    const first = firstTokenMs(llm, startedAt)
    if (first === undefined || errorType !== '') return
    this.#firstToken ??= this.#metrics.histogram('gen_ai_server_time_to_first_token_seconds', this.#labels)
    this.#firstToken.observe(first / 1000)
    const each = perTokenMs(llm)
    if (each === undefined) return
    this.#perToken ??= this.#metrics.histogram('gen_ai_server_time_per_output_token_seconds', this.#labels)
    this.#perToken.observe(each / 1000)
  }

  /** What an attempt has cost. */
  count(llm: ModelUse): void {
    const cost = unitsOf(llm.cost)
    if (cost !== undefined) {
      this.#cost ??= this.#metrics.counter('weir_llm_cost_total', this.#labels)
      this.#cost.add(cost)
    } else if (llm.costUnknown !== undefined) {
      this.#unpriced ??= this.#metrics.counter('weir_llm_cost_unknown_total', this.#labels)
      this.#unpriced.add(1)
    }
  }

  #tokens(type: 'input' | 'output'): Histogram {
    return this.#metrics.histogram('gen_ai_client_token_usage', { ...this.#labels, gen_ai_token_type: type })
  }

  #duration(errorType: string): Histogram {
    const known = this.#durations.get(errorType)
    if (known !== undefined) return known
    if (errorType !== OTHER_ERROR && this.#durations.size >= ERROR_TYPES_MAX) return this.#duration(OTHER_ERROR)
    const labels = { ...this.#labels, error_type: errorType }
    const made = this.#metrics.histogram('gen_ai_client_operation_duration_seconds', labels)
    this.#durations.set(errorType, made)
    return made
  }
}

interface Found {
  readonly route: string
  readonly operation: string
  readonly provider: string
  readonly requested: string
  readonly answered: string
  readonly series: ModelSeries
}

/** Of one worker. */
export class ModelMetrics {
  readonly #metrics: Metrics
  readonly #series = new Map<string, ModelSeries>()
  /** Pairs that have labels of their own, by route. */
  readonly #pairs = new Map<string, number>()
  /** Models that a provider has answered to: failures may be told by name. As many as there are pairs, at most. */
  readonly #answered = new Set<string>()
  readonly #costs: CostMetrics
  #total = 0
  /** Most requests are like the one before: finding it costs less than making its key. */
  #last: Found | null = null

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    this.#costs = new CostMetrics(metrics)
  }

  /** `status` of the exchange; ex.llm is there. */
  record(ex: Exchange, route: string, status: number, durationMs: number): void {
    const llm = ex.llm!
    this.#costs.record(ex)
    const errorType = llm.errorType ?? ex.error ?? (status >= 400 ? String(status) : '')
    this.#of(route, llm, errorType === '').observe(llm, ex.startedAt, durationMs, errorType)
    // Attempts before it were of other providers, as a rule.
    for (let one = llm.previous; one !== undefined; one = one.previous) this.#of(route, one, true).count(one)
  }

  #of(route: string, llm: ModelUse, isGood: boolean): ModelSeries {
    const { operation = '', provider = '' } = llm
    const requested = (llm.requestModel ?? '').slice(0, MODEL_CHARS_MAX)
    const answered = (llm.responseModel ?? '').slice(0, MODEL_CHARS_MAX)
    const last = this.#last
    const isLast = last !== null && last.route === route && last.operation === operation && last.provider === provider
    if (isLast && last.requested === requested && last.answered === answered) return last.series
    const series = this.#find(route, operation, provider, requested, answered, isGood)
    // A failure may be counted for another provider, and the next answer names its own.
    if (isGood) this.#last = { route, operation, provider, requested, answered, series }
    return series
  }

  #find(
    route: string,
    operation: string,
    provider: string,
    requested: string,
    answered: string,
    isGood: boolean
  ): ModelSeries {
    // No name of a model or route can be taken for two: JSON keeps them apart.
    const key = JSON.stringify([route, operation, provider, requested, answered])
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const ofRoute = this.#pairs.get(route) ?? 0
    const requestedKey = JSON.stringify([route, provider, requested])
    const isNamed = isGood || this.#answered.has(requestedKey)
    if (!isNamed || ofRoute >= ROUTE_MODELS_MAX || this.#total >= MODELS_MAX) {
      // Route, operation and provider are the configuration's, so that these are few.
      const rest = JSON.stringify([route, operation, provider])
      return this.#series.get(rest) ?? this.#make(rest, route, operation, provider, OTHER, OTHER)
    }
    this.#answered.add(requestedKey)
    this.#pairs.set(route, ofRoute + 1)
    this.#total++
    return this.#make(key, route, operation, provider, requested, answered)
  }

  #make(
    key: string,
    route: string,
    operation: string,
    provider: string,
    requested: string,
    answered: string
  ): ModelSeries {
    const series = new ModelSeries(this.#metrics, {
      route,
      gen_ai_operation_name: operation,
      gen_ai_provider_name: provider,
      gen_ai_request_model: requested,
      gen_ai_response_model: answered
    })
    this.#series.set(key, series)
    return series
  }
}
