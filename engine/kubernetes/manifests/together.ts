/**
 * Several Gateways in one process, as on a laptop. In a cluster each has a data plane of its own, so here those share
 * one Snapshot that can: with other ports, and the same settings of what a process has once.
 */
import { isDeepStrictEqual } from 'node:util'
import { mergePolicies } from '#engine/ir/merge.ts'
import type { Backend, Bind, Listener, PolicyPhases, RouteSpec, WeightedBackend } from '#engine/ir/snapshot.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { GatewayOutput, SnapshotPlace } from '#engine/kubernetes/translation/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'

export interface LeftOut {
  readonly gateway: KubernetesObject
  /** Why it is not served. */
  readonly reason: string
}

export interface Together {
  /** Null: there is no Gateway. */
  readonly draft: SnapshotDraft | null
  readonly places: () => readonly SnapshotPlace[]
  /** "namespace/name" of Services. */
  readonly services: ReadonlySet<string>
  readonly leftOut: readonly LeftOut[]
}

/** `accumulating`: names of policies of which those of several levels hold together. The first Gateways win. */
export function servedTogether(gateways: readonly GatewayOutput[], accumulating: ReadonlySet<string>): Together {
  const [first, ...others] = gateways
  if (first === undefined) return { draft: null, places: () => [], services: new Set(), leftOut: [] }
  const served = new Served(first, accumulating)
  for (const other of others) served.add(other)
  return served
}

const nameOf = ({ gateway: { metadata } }: GatewayOutput): string => `${metadata.namespace}/${metadata.name}`

/** A path in the Snapshot of one Gateway -> in that of all. */
type Move = (path: string) => string

class Served implements Together {
  readonly leftOut: LeftOut[] = []
  readonly #first: GatewayOutput
  readonly #accumulating: ReadonlySet<string>
  readonly #members: { readonly output: GatewayOutput; readonly move: Move }[]
  readonly #binds: Bind[]
  readonly #backends: Record<string, Backend>
  /** Gateway of each port. */
  readonly #ports: Map<number, string>
  /** Of the whole process; null once members differ in them: then listeners have them. */
  #phases: PolicyPhases | null

  constructor(first: GatewayOutput, accumulating: ReadonlySet<string>) {
    const { draft } = first
    this.#first = first
    this.#accumulating = accumulating
    this.#members = [{ output: first, move: (path) => path }]
    this.#binds = [...draft.binds]
    this.#backends = { ...draft.backends }
    this.#ports = new Map(draft.binds.map(({ port }) => [port, nameOf(first)]))
    this.#phases = phasesOf(draft)
  }

  get draft(): SnapshotDraft {
    const { draft } = this.#first
    if (this.#members.length === 1) return draft
    const gateway = { ...(this.#phases ?? NO_PHASES), frontend: draft.gateway.frontend }
    return { ...draft, gateway, binds: this.#binds, backends: this.#backends }
  }

  get services(): ReadonlySet<string> {
    return new Set(this.#members.flatMap(({ output }) => [...output.services]))
  }

  readonly places = (): readonly SnapshotPlace[] =>
    this.#members.flatMap(({ output, move }) => output.places().map(([at, place]): SnapshotPlace => [move(at), place]))

  add(output: GatewayOutput): void {
    const reason = this.#clash(output)
    if (reason !== null) {
      this.leftOut.push({ gateway: output.gateway, reason })
      return
    }
    const { draft } = output
    if (this.#phases !== null && !isDeepStrictEqual(this.#phases, phasesOf(draft))) this.#spread()
    const renamed = this.#addBackends(output)
    const before = this.#binds.length
    for (const bind of draft.binds) {
      this.#ports.set(bind.port, nameOf(output))
      this.#binds.push(withBackends(this.#phases === null ? withPhases(bind, draft) : bind, renamed))
    }
    this.#members.push({ output, move: (path) => moved(path, before, renamed) })
  }

  /** Why it cannot be served beside the others; null: it can. */
  #clash(output: GatewayOutput): string | null {
    const { draft } = output
    const { draft: known } = this.#first
    const taken = draft.binds.find(({ port }) => this.#ports.has(port))
    if (taken !== undefined) return `port ${taken.port} is that of Gateway ${this.#ports.get(taken.port)}`
    if (!isDeepStrictEqual(settingsOf(draft), settingsOf(known))) {
      return `it says something else of connections and logs than Gateway ${nameOf(this.#first)}`
    }
    const other = Object.entries(draft.backends).find(
      ([name, backend]) => !isInline(name) && !isDeepStrictEqual(this.#backends[name] ?? backend, backend)
    )
    if (other !== undefined) return `its policies for backend ${other[0]} differ from those of another Gateway`
    const isSame = isDeepStrictEqual(phasesOf(draft), phasesOf(known))
    const unspreadable = isSame ? undefined : [draft, known].find((one) => !canSpread(one, this.#accumulating))
    return unspreadable === undefined
      ? null
      : 'rules of a Gateway and of its listeners add up, and others have not both'
  }

  /** Policies of the whole process become those of each listener. */
  #spread(): void {
    const { draft } = this.#first
    const spread = this.#binds.map((bind) => withPhases(bind, draft))
    this.#binds.splice(0, this.#binds.length, ...spread)
    this.#phases = null
  }

  /** Those of one route alone get another name where theirs is taken. */
  #addBackends(output: GatewayOutput): ReadonlyMap<string, string> {
    const renamed = new Map<string, string>()
    for (const [name, backend] of Object.entries(output.draft.backends)) {
      const known = this.#backends[name]
      if (known !== undefined && isDeepStrictEqual(known, backend)) continue
      const own = known === undefined ? name : `${nameOf(output)}/${name}`
      if (own !== name) renamed.set(name, own)
      this.#backends[own] = backend
    }
    return renamed
  }
}

const NO_PHASES: PolicyPhases = { policies: {}, preRouting: {} }

const phasesOf = ({ gateway: { policies, preRouting } }: SnapshotDraft): PolicyPhases => ({ policies, preRouting })

/** What a process has once. */
const settingsOf = ({ gateway, frontend, process }: SnapshotDraft) => [gateway.frontend, frontend, process]

/** Names that people give have no slash (engine/source/translate.ts). */
const isInline = (name: string): boolean => name.includes('/')

/** Whether no policy that adds up stands on both levels. */
function canSpread({ gateway, binds }: SnapshotDraft, accumulating: ReadonlySet<string>): boolean {
  const both = (outer: object, inner: object) =>
    [...accumulating].some((name) => Object.hasOwn(outer, name) && Object.hasOwn(inner, name))
  const listeners = binds.flatMap((bind) => bind.listeners)
  return !listeners.some((one) => both(gateway.policies, one.policies) || both(gateway.preRouting, one.preRouting))
}

function withPhases(bind: Bind, { gateway }: SnapshotDraft): Bind {
  const listeners = bind.listeners.map(
    (listener): Listener => ({
      ...listener,
      policies: mergePolicies([gateway.policies, listener.policies]),
      preRouting: mergePolicies([gateway.preRouting, listener.preRouting])
    })
  )
  return { ...bind, listeners }
}

function withBackends(bind: Bind, renamed: ReadonlyMap<string, string>): Bind {
  if (renamed.size === 0) return bind
  const references = (all: readonly WeightedBackend[]): WeightedBackend[] =>
    all.map((one) => ({ ...one, backend: renamed.get(one.backend) ?? one.backend }))
  const listeners = bind.listeners.map(
    (listener): Listener => ({
      ...listener,
      routes: listener.routes.map((route): RouteSpec => ({ ...route, backends: references(route.backends) })),
      tcpRoutes: listener.tcpRoutes.map((route) => ({ ...route, backends: references(route.backends) }))
    })
  )
  return { ...bind, listeners }
}

const BIND = /^binds\[(\d+)\]/

/** `binds`: how many are ahead. */
function moved(path: string, binds: number, renamed: ReadonlyMap<string, string>): string {
  const [start, index] = BIND.exec(path) ?? []
  if (start !== undefined) return `binds[${binds + Number(index)}]${path.slice(start.length)}`
  for (const [name, own] of renamed) {
    const at = `backends.${name}`
    if (path === at || path.startsWith(`${at}.`)) return `backends.${own}${path.slice(at.length)}`
  }
  return path
}
