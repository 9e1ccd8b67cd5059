/**
 * Compiles what is above the routes of a Gateway: listeners with their certificates, policies, settings of connections.
 * What is wrong is taken out and reported, and the rest is compiled.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import { Sections } from '#engine/kubernetes/translation/sections.ts'
import { entriesOf, objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import { type Compiler, faultOf, type PlacedFinding, warningText } from './compiler.ts'
import { type ComposedGateway, compose, type GatewayModel, type ListenerModel, modelOf } from './gateway-model.ts'
import type { JudgedRecords } from './judged-records.ts'
import type { GatewayRecord, ListenerRecord } from './records.ts'

export interface AboveRoutes {
  /** Without routes; without listeners where nothing can be served. */
  readonly draft: SnapshotDraft
  readonly model: GatewayModel
  /** By listeners' names: of conditions Accepted, Programmed and ResolvedRefs. */
  readonly listenerFaults: ReadonlyMap<string, readonly Fault[]>
  /** Of the Gateway, its policies, its parameters. */
  readonly faults: readonly Fault[]
  readonly warnings: readonly string[]
}

/** One object after the other may show that it is wrong. Then nothing is served, rather than tried without end. */
const ROUNDS_MAX = 32

/** Listeners of ListenerSets, which others write than the Gateway, cannot keep its own from being served. */
export function compileAboveRoutes(record: GatewayRecord, records: JudgedRecords, compiler: Compiler): AboveRoutes {
  const attempt = new Attempt(record, records, compiler)
  const whole = attempt.run()
  if ('draft' in whole) return whole
  const sets = attempt.takeSets()
  const alone = sets.length === 0 ? whole : attempt.run()
  if ('findings' in alone) return attempt.fail(alone.findings)
  attempt.giveBack(sets)
  const rest = attempt.run()
  return 'draft' in rest ? rest : attempt.fail(rest.findings)
}

type Ran = AboveRoutes | { readonly findings: readonly PlacedFinding[] }

/** Said of each listener. */
const FINDINGS_MAX = 8
/** Said of GatewayParameters, which one finding refuses, and which may have 50,000. */
const PARAMETERS_FAULTS_MAX = 64

const isOfSet = ({ place }: ListenerRecord): boolean => place.key.startsWith('ListenerSet/')

class Attempt {
  readonly model: GatewayModel
  readonly #records: JudgedRecords
  readonly #compiler: Compiler
  readonly #faults: Fault[] = []
  readonly #listenerFaults = new Map<string, Fault[]>()
  /** How much was taken out. */
  #removed = 0
  /** How many findings GatewayParameters have. */
  readonly #ofParameters = new Map<string, number>()

  constructor(record: GatewayRecord, records: JudgedRecords, compiler: Compiler) {
    this.model = modelOf(record)
    this.#records = records
    this.#compiler = compiler
  }

  /** `findings`: it does not show who is to blame for them. */
  run(): Ran {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const listeners = this.model.listeners.filter(({ isServed }) => isServed)
      const contents = { listeners: listeners.map((one) => ({ model: one, routes: [] })), needs: [], isWhole: true }
      const composed = compose(this.model, contents, this.#records)
      const outcome = this.#compiler.compile(composed)
      if ('draft' in outcome)
        return this.#result(
          outcome.draft,
          outcome.warnings.map((one) => warningText(this.#placed(one)))
        )
      const before = this.#removed
      for (const finding of outcome.findings) this.#remove(finding, listeners, composed)
      if (this.#removed === before) return { findings: outcome.findings }
    }
    return { findings: [{ path: [], message: 'too much of it is wrong', place: null }] }
  }

  /** The listeners of each ListenerSet, which are served no longer. */
  takeSets(): ListenerModel[][] {
    const own = this.model.listeners.filter(({ isServed, record }) => isServed && isOfSet(record))
    for (const one of own) one.isServed = false
    return [...Map.groupBy(own, ({ record }) => record.place.key).values()]
  }

  /** Those of `sets` that can be served beside what is; the halves bound how often it is tried. */
  giveBack(sets: readonly (readonly ListenerModel[])[]): void {
    const listeners = sets.flat()
    for (const one of listeners) one.isServed = true
    const ran = this.run()
    if ('draft' in ran) return
    for (const one of listeners) one.isServed = false
    if (sets.length > 1) {
      const half = Math.ceil(sets.length / 2)
      this.giveBack(sets.slice(0, half))
      this.giveBack(sets.slice(half))
      return
    }
    for (const one of listeners) {
      for (const finding of ran.findings.slice(0, FINDINGS_MAX)) {
        for (const type of ['Accepted', 'Programmed'])
          this.#listenerFault(one, { ...faultOf(finding, type, 'Invalid', one.record.place), place: one.record.place })
      }
    }
  }

  /** What is about no field is about what the Gateway listens on. */
  #placed(warning: PlacedFinding): PlacedFinding {
    if (warning.place !== null || warning.path.length > 0) return warning
    return { ...warning, place: { key: this.model.record.place.key, path: ['spec', 'listeners'] } }
  }

  #result(draft: SnapshotDraft, warnings: readonly string[]): AboveRoutes {
    const { model } = this
    return { draft, model, listenerFaults: this.#listenerFaults, faults: this.#faults, warnings }
  }

  /** Nothing of the Gateway can be served. */
  fail(findings: readonly PlacedFinding[]): AboveRoutes {
    const { model } = this
    const { place } = model.record
    const faults = findings.map((finding) => faultOf(finding, 'Programmed', 'Invalid', place))
    const all = [...this.#faults, ...faults]
    for (const listener of model.listeners) listener.isServed = false
    const nothing = this.#compiler.compile({ value: {}, sections: new Sections() })
    // An empty configuration is in order, but for the environment of the process.
    if ('findings' in nothing) throw new Error(nothing.findings.map(({ message }) => message).join('; '))
    return { draft: nothing.draft, model, listenerFaults: this.#listenerFaults, faults: all, warnings: [] }
  }

  #remove(finding: PlacedFinding, listeners: readonly ListenerModel[], composed: ComposedGateway): void {
    const { path, place } = finding
    if (place?.key.startsWith('GatewayParameters/')) this.#removeParameters(finding)
    else if (path[0] === 'frontendPolicies' && path.length > 1) this.#removeFrontend(finding)
    else if (path[0] === 'policies' && path.length > 2) this.#removePolicy(this.model, path.slice(1), finding)
    else if (this.#records.refuse(finding, composed)) this.#removed++
    else if (path[0] === 'binds') {
      const [, bind, , index, ...inside] = path
      const own =
        index === undefined || inside.length === 0 ? undefined : composed.listenerAt(Number(bind), Number(index))
      if (own !== undefined && own !== -1) this.#removeOfListener(listeners[own]!, inside, finding)
      else this.#removePort(Number(bind), listeners, composed, finding)
    }
  }

  #removeParameters(finding: PlacedFinding): void {
    const { key } = finding.place!
    const rest = this.model.rawConfigs.filter(({ origins }) => origins[0]?.[1].key !== key)
    const count = this.#ofParameters.get(key) ?? 0
    this.#ofParameters.set(key, count + 1)
    if (count < PARAMETERS_FAULTS_MAX)
      this.#faults.push(faultOf(finding, 'Accepted', 'InvalidParameters', this.model.record.place))
    if (rest.length === this.model.rawConfigs.length) return
    this.model.rawConfigs = rest
    this.#removed++
  }

  #removeFrontend(finding: PlacedFinding): void {
    const key = String(finding.path[1])
    this.#faults.push(this.#policyFault(finding))
    if (!Object.hasOwn(this.model.frontend, key)) return
    const { [key]: _, ...rest } = this.model.frontend
    this.model.frontend = rest
    this.#removed++
  }

  /** `path`: from the list of sets on. */
  #removePolicy(holder: { sets: readonly Raw[]; isClosed: boolean }, path: Path, finding: PlacedFinding): void {
    const [index, name] = path
    this.#faults.push(this.#policyFault(finding))
    const set = objectOf(holder.sets[Number(index)])
    if (!Object.hasOwn(set, String(name))) return
    const { [String(name)]: wrong, ...rest } = set
    const closed = this.#compiler.closedForm(String(name), wrong)
    // What is closed and wrong all the same would leave open what it guards.
    const isWrongClosed = closed !== undefined && isDeepStrictEqual(wrong, closed)
    const made = closed === undefined || isWrongClosed ? rest : { ...rest, [String(name)]: closed }
    holder.sets = holder.sets.with(Number(index), made)
    holder.isClosed ||= isWrongClosed
    this.#removed++
  }

  #policyFault(finding: PlacedFinding): Fault {
    return faultOf(finding, 'Accepted', 'Invalid', this.model.record.place)
  }

  #removeOfListener(listener: ListenerModel, inside: Path, finding: PlacedFinding): void {
    const { place } = listener.record
    if (inside[0] === 'policies' && inside.length > 2) {
      this.#removePolicy(listener, inside.slice(1), finding)
      return
    }
    const isAuthority = inside[1] === 'root'
    if (inside[0] === 'tls') {
      const reason = isAuthority ? 'InvalidCACertificateRef' : 'InvalidCertificateRef'
      this.#listenerFault(listener, faultOf(finding, 'ResolvedRefs', reason, place))
      if (isAuthority) this.#listenerFault(listener, faultOf(finding, 'Accepted', 'NoValidCACertificate', place))
    } else this.#listenerFault(listener, faultOf(finding, 'Accepted', 'UnsupportedValue', place))
    this.#listenerFault(listener, faultOf(finding, 'Programmed', 'Invalid', place))
    this.#unserve(listener)
  }

  #removePort(
    bind: number,
    listeners: readonly ListenerModel[],
    { value, listenerAt }: ComposedGateway,
    finding: PlacedFinding
  ): void {
    const { binds } = objectOf(value)
    const entries = entriesOf(entriesOf(binds, [])[bind]?.raw.listeners, [])
    const all = entries.flatMap((_, l) => listeners[listenerAt(bind, l)] ?? [])
    const ofSets = all.filter(({ record }) => isOfSet(record))
    // Without those of ListenerSets the port of the Gateway may be in order.
    for (const listener of ofSets.length > 0 ? ofSets : all) {
      for (const type of ['Accepted', 'Programmed']) {
        const fault = faultOf(finding, type, 'PortUnavailable', listener.record.place)
        this.#listenerFault(listener, { ...fault, place: listener.record.place })
      }
      this.#unserve(listener)
    }
  }

  #unserve(listener: ListenerModel): void {
    if (listener.isServed) this.#removed++
    listener.isServed = false
  }

  #listenerFault({ record }: ListenerModel, fault: Fault): void {
    this.#listenerFaults.set(record.name, [...(this.#listenerFaults.get(record.name) ?? []), fault])
  }
}
