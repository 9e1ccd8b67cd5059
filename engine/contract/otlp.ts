/** Export of telemetry by OTLP: what policies compile to, and the engine's exporters carry out. */

/** What became of one Export request (OTLP specification, "Failures"). */
export type ExportOutcome =
  /** `rejected`: items that the collector did not take, with its reason; 0 and '': it took all. */
  | { readonly kind: 'taken'; readonly rejected: number; readonly message: string }
  /** It may be sent again, not before `afterMs`; null: the collector says no time. */
  | { readonly kind: 'again'; readonly afterMs: number | null; readonly message: string }
  /** It may not be sent again. */
  | { readonly kind: 'refused'; readonly message: string }

/** Carries Export requests of one signal to a collector. */
export interface OtlpTransport {
  /** For logs. */
  readonly name: string
  /** `message`: the Export*ServiceRequest, not changed until `done`, which is called once and not before the return. */
  send(message: Buffer, timeoutMs: number, done: (outcome: ExportOutcome) => void): { cancel(): void }
}

/** How items are gathered before they leave. */
export interface BatchSettings {
  /** How long the first of them waits for others. */
  readonly delayMs: number
  /** For one attempt. */
  readonly exportTimeoutMs: number
  /** Of one Export request. */
  readonly batchBytesMax: number
  /** That wait while the collector is slow or away, in this worker. */
  readonly queueBytesMax: number
}

/** Attributes with values that are known. */
export type ResourceAttributes = readonly (readonly [name: string, value: string | number | boolean])[]

/** Where the items of one signal go. */
export interface OtlpPlan {
  readonly transport: OtlpTransport
  readonly batch: BatchSettings
  readonly resource: ResourceAttributes
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
}

/** What the policy `metrics` compiles to. */
export interface MetricsPlan extends OtlpPlan {
  readonly intervalMs: number
}
