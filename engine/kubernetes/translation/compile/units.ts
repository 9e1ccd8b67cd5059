/** Compiles rules of routes at their listeners, many in one configuration. One that is wrong is refused alone. */

import type { Backend, RouteSpec, TcpRouteSpec } from '#engine/ir/snapshot.ts'
import type { Fault, PartOrigin } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { type Compiler, faultOf, type PlacedFinding, warningText } from './compiler.ts'
import { type ComposedGateway, compose, type GatewayModel, type ListenerModel } from './gateway-model.ts'
import type { Records, RuleRecord } from './records.ts'

/** A rule of a route at a listener. */
export interface Unit {
  readonly rule: RuleRecord
  readonly listener: ListenerModel
  /** Empty: those of the listener. */
  readonly hostnames: readonly string[]
}

export interface UnitResult {
  /** Null: it is left out. */
  readonly spec: RouteSpec | TcpRouteSpec | null
  /** Those that the engine has made for it alone. */
  readonly backends: Readonly<Record<string, Backend>>
  /** Of its route (Accepted, UnsupportedValue), or of other objects, such as policies (Accepted, Invalid). */
  readonly faults: readonly Fault[]
  readonly warnings: readonly string[]
  /** Requests are refused, because something that should act on them cannot. */
  readonly isClosed: boolean
}

/** How a unit is compiled: as it is, without all but its matches, or not at all. */
type State = 'open' | 'closed' | 'dropped'

interface Job {
  readonly unit: Unit
  state: State
  readonly faults: Fault[]
}

/** Of one configuration. The rest costs less than what one that is wrong makes us do again. */
const BATCH = 256
/** Of one batch, before it is halved: one wrong value may hide another. */
const ROUNDS_MAX = 4

export interface UnitParts {
  readonly model: GatewayModel
  readonly records: Records
  readonly compiler: Compiler
  /** Name of the backend that answers for what is closed. */
  readonly closedBackend: string
}

/** In the order of `units`. */
export function compileUnits(units: readonly Unit[], parts: UnitParts): UnitResult[] {
  const jobs = units.map((unit): Job => {
    const isClosed = parts.model.isClosed || unit.listener.isClosed
    return { unit, state: isClosed ? 'closed' : 'open', faults: [] }
  })
  const results = new Map<Job, UnitResult>()
  for (let i = 0; i < jobs.length; i += BATCH) new Batches(parts, results).run(jobs.slice(i, i + BATCH))
  return jobs.map((job) => results.get(job)!)
}

class Batches {
  readonly #parts: UnitParts
  readonly #results: Map<Job, UnitResult>

  constructor(parts: UnitParts, results: Map<Job, UnitResult>) {
    this.#parts = parts
    this.#results = results
  }

  run(all: readonly Job[]): void {
    let findings: readonly PlacedFinding[] = []
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const jobs = all.filter(({ state }) => state !== 'dropped')
      if (jobs.length === 0) {
        this.#drop(all)
        return
      }
      const composed = this.#compose(jobs)
      const outcome = this.#parts.compiler.compile(composed.whole)
      if ('draft' in outcome) {
        this.#keep(all, composed, outcome.draft, outcome.warnings)
        return
      }
      findings = outcome.findings
      let hasChanged = false
      for (const finding of findings) hasChanged = this.#judge(finding, composed) || hasChanged
      if (!hasChanged) break
    }
    const rest = all.filter(({ state }) => state !== 'dropped')
    if (rest.length > 1) {
      // It does not show which of them it is.
      const half = Math.ceil(all.length / 2)
      this.run(all.slice(0, half))
      this.run(all.slice(half))
      return
    }
    for (const job of rest) this.#worsen(job, findings)
    this.run(all)
  }

  #compose(jobs: readonly Job[]): Composition {
    const { model, records, closedBackend } = this.#parts
    const listeners = [...Map.groupBy(jobs, ({ unit }) => unit.listener)].map(([listener, own]) => ({
      model: listener,
      jobs: own,
      routes: own.map((job) => ({ value: entryOf(job, closedBackend), origins: originsOf(job.unit) }))
    }))
    const needs = jobs.map(({ unit, state }) =>
      state === 'open' ? unit.rule : { backends: [closedBackend], secrets: [] }
    )
    return { whole: compose(model, { listeners, needs, isWhole: false }, records), listeners }
  }

  /** Whether it shows who is to blame. */
  #judge(finding: PlacedFinding, composition: Composition): boolean {
    const job = jobAt(finding.path, composition)
    if (job === undefined) return false
    this.#worsen(job, [finding])
    return true
  }

  /** What the route itself says wrong leaves it out; what others say about it closes it. */
  #worsen(job: Job, findings: readonly PlacedFinding[]): void {
    const { place } = job.unit.rule
    let isOwn = job.state === 'closed'
    for (const finding of findings) {
      const isOfRoute = finding.place === null || finding.place.key === place.key
      isOwn ||= isOfRoute
      job.faults.push(faultOf(finding, 'Accepted', isOfRoute ? 'UnsupportedValue' : 'Invalid', place))
    }
    job.state = isOwn ? 'dropped' : 'closed'
  }

  #drop(all: readonly Job[]): void {
    for (const job of all) {
      this.#results.set(job, { spec: null, backends: {}, faults: job.faults, warnings: [], isClosed: false })
    }
  }

  #keep(all: readonly Job[], composition: Composition, draft: SnapshotDraft, warnings: readonly PlacedFinding[]): void {
    const texts = Map.groupBy(warnings, ({ path }) => jobAt(path, composition))
    const made = new Map<Job, RouteSpec | TcpRouteSpec>()
    draft.binds.forEach((bind, b) => {
      bind.listeners.forEach(({ routes, tcpRoutes }, l) => {
        const own = composition.listeners[composition.whole.listenerAt(b, l)]?.jobs ?? []
        for (const [r, job] of own.entries()) made.set(job, (routes.length > 0 ? routes : tcpRoutes)[r]!)
      })
    })
    this.#drop(all.filter((job) => !made.has(job)))
    for (const [job, spec] of made) {
      this.#results.set(job, {
        spec,
        backends: ownBackends(spec, draft),
        faults: job.faults,
        warnings: (texts.get(job) ?? []).map(warningText),
        isClosed: job.state === 'closed'
      })
    }
  }
}

interface Composition {
  readonly whole: ComposedGateway
  readonly listeners: readonly { readonly jobs: readonly Job[] }[]
}

/** Whose entry `path` leads into. */
function jobAt(path: PlacedFinding['path'], { whole, listeners }: Composition): Job | undefined {
  const [binds, bind, , listener, list, route] = path
  if (binds !== 'binds' || (list !== 'routes' && list !== 'tcpRoutes')) return undefined
  return listeners[whole.listenerAt(Number(bind), Number(listener))]?.jobs[Number(route)]
}

/** What is closed takes the same requests as ever, and refuses them. */
function entryOf({ unit, state }: Job, closedBackend: string): Raw {
  const { rule, hostnames } = unit
  const { value } = rule.entry
  if (state === 'open') {
    const around = authenticationOf(unit)
    return around === null
      ? { ...value, hostnames }
      : { ...value, policies: { ...around.value, ...objectOf(value.policies) }, hostnames }
  }
  const { name, ruleName, matches } = value
  const own = { name, ...(ruleName === undefined ? {} : { ruleName }), ...(matches === undefined ? {} : { matches }) }
  return { ...own, hostnames, backends: [{ backend: closedBackend }] }
}

/** MCP authentication that its listener has for it. */
const authenticationOf = ({ rule, listener }: Unit) => (rule.isOpen ? listener.record.authentication : null)

function originsOf(unit: Unit): PartOrigin[] {
  const around = authenticationOf(unit)?.origins ?? []
  return [...unit.rule.entry.origins, ...around.map(([at, from]): PartOrigin => [['policies', ...at], from])]
}

/** Backends with a slash in their names are made for one route: names of resources have none. */
function ownBackends({ backends }: RouteSpec | TcpRouteSpec, draft: SnapshotDraft): Record<string, Backend> {
  const own = backends.filter(({ backend }) => backend.includes('/'))
  return Object.fromEntries(own.map(({ backend }) => [backend, draft.backends[backend]!]))
}
