/** What the policy accessLog compiles to, and telemetry carries out when an exchange is over. */
import type { Exchange } from './exchange.ts'
import type { OtlpPlan } from './otlp.ts'

/** Where fields of a log line, or attributes of a log record or a span, go. */
export interface FieldSink {
  /**
   * `name` is printable ASCII without space, quote, "=" and backslash; `value` may be anything. False when there is no
   * room left for the field.
   */
  add(name: string, value: string | number | boolean | null): boolean
}

/** Which exchanges are logged, and with which fields. */
export interface LogFields {
  /** Whether the exchange is logged; null when the filter has failed. No filter: all are. */
  readonly filter: ((ex: Exchange) => boolean | null) | null
  /** Default fields that are left out. */
  readonly skip: ReadonlySet<string>
  /** Adds the configured fields and returns how many of them failed. Null when there are none. */
  readonly attributes: ((ex: Exchange, into: FieldSink) => number) | null
  /**
   * What filter and attributes would give, from another thread, in which they look into a large prompt or answer.
   * Null: they can do so here. It never rejects. No function: none of them looks into any.
   */
  readonly elsewhere: ((ex: Exchange) => Promise<Pick<LogFields, 'filter' | 'attributes'>> | null) | null
}

/** Log records for a collector. */
export interface LogRecordsPlan extends LogFields, OtlpPlan {}

/** The fields are those of the line. */
export interface AccessLogPlan extends LogFields {
  /** Null: no collector gets any. */
  readonly records: LogRecordsPlan | null
  /** It reads what models answered: llm.completion or llm.toolCalls. */
  readonly readsAnswers: boolean
  /** It reads what models were asked: llmRequest, llm.prompt or llm.params. */
  readonly readsRequests: boolean
  /** It reads ex.servedAt or ex.respondedAt. */
  readonly readsTimes: boolean
  /** It reads why a target of a model was drawn: llm.routing. */
  readonly readsRouting: boolean
}
