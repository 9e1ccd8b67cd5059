/** The exporters of a worker: one for each signal of a configuration that is in force, or has been. */
import { hostname } from 'node:os'
import type { OtlpPlan, ResourceAttributes } from '#engine/contract/otlp.ts'
import type { Time } from '#engine/contract/time.ts'
import { VERSION } from '#engine/contract/version.ts'
import type { Metrics } from '#engine/telemetry/metrics.ts'
import { adjustClock } from './clock.ts'
import { Envelope } from './envelope.ts'
import { Exporter, type ExportObserver } from './exporter.ts'

const SCOPE = 'weir'
/** How often the clock of the system is looked at. */
const CLOCK_MS = 10_000

export type Signal = 'traces' | 'metrics' | 'logs'

export class Exporters {
  readonly #metrics: Metrics
  readonly #instance: string
  readonly #defaults: ResourceAttributes
  readonly #time: Time
  readonly #known = new WeakMap<OtlpPlan, Exporter>()
  /** Those of configurations that are gone may still have something to send. */
  readonly #active = new Set<Exporter>()
  #stopClock: (() => void) | null = null

  /** `instance`: names this process among others of its kind. `defaults`: of the resource. */
  constructor(metrics: Metrics, instance: string, defaults: ResourceAttributes, time: Time) {
    this.#metrics = metrics
    this.#instance = instance
    this.#defaults = defaults
    this.#time = time
  }

  /** The exporter of `plan`: the same one as long as a configuration is unchanged. */
  exporterFor(plan: OtlpPlan, signal: Signal): Exporter {
    const known = this.#known.get(plan) ?? this.#make(plan, signal)
    this.#known.set(plan, known)
    return known
  }

  /** Resolves when everything is sent, or has been dropped because that would take too long. */
  async close(): Promise<void> {
    this.#stopClock?.()
    await Promise.all([...this.#active].map((exporter) => exporter.close()))
  }

  #make({ transport, batch, log, resource }: OtlpPlan, signal: Signal): Exporter {
    if (this.#stopClock === null) this.#watchClock()
    const envelope = new Envelope(resourceOf(this.#instance, [...this.#defaults, ...resource]), SCOPE, VERSION)
    const observer = observerOf(this.#metrics, signal)
    return new Exporter({ envelope, transport, batch, time: this.#time, observer, log, active: this.#active })
  }

  #watchClock(): void {
    adjustClock()
    this.#stopClock = this.#time.after(CLOCK_MS, () => this.#watchClock())
  }
}

function observerOf(metrics: Metrics, signal: Signal): ExportObserver {
  const exported = metrics.counter('weir_otlp_exported_total', { signal })
  const retries = metrics.counter('weir_otlp_retries_total', { signal })
  return {
    exported: (items) => exported.add(items),
    dropped: (items, reason) => metrics.counter('weir_otlp_dropped_total', { signal, reason }).add(items),
    retried: () => retries.add(1)
  }
}

/** What the conventions ask of every service, unless `named` says otherwise; the later of one name holds. */
function resourceOf(instance: string, named: ResourceAttributes): ResourceAttributes {
  const all = new Map<string, ResourceAttributes[number][1]>([
    ['service.name', 'weir'],
    ['service.version', VERSION],
    ['service.instance.id', instance],
    ['host.name', hostname()],
    ['process.pid', process.pid],
    ['telemetry.sdk.name', 'weir'],
    ['telemetry.sdk.language', 'nodejs'],
    ['telemetry.sdk.version', VERSION]
  ])
  for (const [name, value] of named) all.set(name, value)
  return [...all]
}
