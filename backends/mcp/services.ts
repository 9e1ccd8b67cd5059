/** What the parts of one MCP backend share, compiled once per configuration. */

import { addRules } from '#backends/mcp/config/add-rules.ts'
import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import type { JsonValue } from '#engine/contract/model-use.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { passesTokens } from './authorization/challenge.ts'
import { compileRules, type ItemGate } from './authorization/rules.ts'
import { workerState } from './bridge/era-target.ts'
import { type Asking, restore } from './calls/target-request.ts'
import { Pulse } from './downstream/pulse.ts'
import { News } from './lists/changes.ts'
import { Composed } from './lists/compose.ts'
import { Names } from './names/names.ts'
import type { RpcNotification, RpcRequest } from './protocol/json-rpc.ts'
import { STATEFUL_METHODS } from './protocol/stateful.ts'
import { STATELESS_METHODS } from './protocol/stateless.ts'
import type { Heal } from './session/restore-owner.ts'
import { Seal } from './session/seal.ts'
import { type Session, type Sessions, sessionsOf } from './session/session.ts'
import type { TargetRest } from './targets/circuit-breaker.ts'
import type { LinkFailure, Target } from './targets/target.ts'
import { Peers } from './targets/target-set.ts'
import type { Healing } from './workers/bus.ts'

/** Names that are said to collide: more of them say nothing new. */
const COLLISIONS_MAX = 256

export class Core {
  readonly backend: McpBackend
  readonly context: BackendContext
  readonly peers: Peers
  readonly names: Names
  readonly news: News
  readonly composed = new Composed()
  readonly sessions: Sessions
  readonly pulse = new Pulse()
  readonly isStateless: boolean
  /** Clients show the target tokens of their own. */
  readonly hasTokens: boolean
  /** By target: those that are silent are not waited for, where others can be listed without them. */
  readonly #rests: ReadonlyMap<string, TargetRest>
  readonly #collisions = new Set<string>()
  /** By target; null: everybody may everything of it. */
  readonly #gates: ReadonlyMap<string, ItemGate | null>

  constructor(backend: McpBackend, context: BackendContext) {
    this.backend = backend
    this.context = context
    this.peers = new Peers(backend, context)
    this.names = new Names(
      backend.targets.map(({ name }) => name),
      backend.prefixMode
    )
    this.news = new News(backend, context, workerState(context.worker).bus)
    this.isStateless = backend.sessionRouting === 'Stateless'
    this.hasTokens = passesTokens(backend)
    // A session belongs to one backend: its name is sealed with it, whatever else has the same key.
    const seal = new Seal(backend.session.key, context.secret, `session ${context.name}`)
    this.sessions = sessionsOf(context.upstream, context.name, seal, backend.session.idleMs, context.revocations)
    const isPatient = backend.failureMode === 'failClosed' || !this.names.isTagged
    this.#rests = new Map(isPatient ? [] : backend.targets.map((target) => [target.name, this.#restOf(target)]))
    this.#gates = new Map(
      backend.targets.map(({ name, authorization }) => {
        const rules = addRules(backend.authorization, authorization)
        return [name, rules === null ? null : compileRules(rules)]
      })
    )
  }

  /** The configuration is in force. Returns what ends that. */
  hold(): () => void {
    const { backend, context, sessions } = this
    // With a key of the configuration another replica may have it in use, and the servers keep it for that one.
    const isOurs = backend.session.key === null
    sessions.onIdle = (session) => (isOurs ? this.close(session, new HeaderBlock()) : sessions.end(session))
    const { healers } = workerState(context.worker)
    const ends = [this.peers.hold(), healers.serve(context.name, (...given) => this.#heal(...given))]
    return () => {
      for (const end of ends) end()
    }
  }

  #restOf(target: McpTarget): TargetRest {
    const { log, name, worker } = this.context
    return workerState(worker).rests.of(name, target, (level, text) =>
      log(level, `mcp ${name}: target ${target.name} ${text}`)
    )
  }

  /** Null: it is asked, however silent it has been. */
  restOf(target: Target): TargetRest | null {
    return this.#rests.get(target.name) ?? null
  }

  /** Whether something of `target` may be hidden from somebody. */
  hasRules(target: string): boolean {
    return this.#gates.get(target) !== null
  }

  /** Null: everybody may everything of `target`. */
  gateOf(target: string): ItemGate | null {
    return this.#gates.get(target) ?? null
  }

  /** A plain name that two targets have: nobody can call it, so that no list has it (prefixMode never). Said once. */
  collides(kind: McpItem['kind'], name: string, target: string): void {
    const what = `${kind} ${name}`
    if (this.#collisions.has(what) || this.#collisions.size >= COLLISIONS_MAX) return
    this.#collisions.add(what)
    const why = `more targets than one offer the ${kind} ${JSON.stringify(name.slice(0, 128))} (${target} is one)`
    this.context.log('warn', `mcp ${this.context.name}: ${why}: with prefixMode never it is neither listed nor called`)
  }

  mayUse(ex: Exchange, item: McpItem): boolean {
    const gate = this.#gates.get(item.target)
    return gate === null || gate?.(ex, item) === true
  }

  /**
   * Whether `target` may be told what names none of its tools, prompts, resources or tasks: a request or notification
   * with a method that no revision has, for which rules have `mcp.method`.
   */
  mayTell(ex: Exchange, target: string, { method, params = {} }: RpcRequest | RpcNotification): boolean {
    if (!this.hasRules(target)) return true
    // One that has an owner comes here without an id, or in the wrong era: rules about the owner are not asked.
    if (STATEFUL_METHODS.has(method) || STATELESS_METHODS.has(method)) return false
    return this.mayUse(ex, { kind: 'method', name: method, target, arguments: params as JsonValue })
  }

  asking(session: Session, target: Target, headers: HeaderBlock, timeoutMs: number): Asking {
    const { peers, sessions, news } = this
    const isOver = () => sessions.isOver(session)
    const rest = timeoutMs === 0 ? null : this.restOf(target)
    const { targetTimeoutMs: beginMs } = this.backend
    const { name: backend, worker } = this.context
    const { healers } = workerState(worker)
    const heal: Asking['heal'] = (used, done) => {
      const { id, key, caller } = session
      if (id === null || target.kind !== 'http') return false
      return healers.elsewhere(key, { backend, target: target.name, id, caller, used }, headers, done)
    }
    const { party } = session
    return { peers, session, target, headers, party, timeoutMs, beginMs, isOver, news, rest, heal }
  }

  /** For another worker: what this one has begun anew already, or begins now. */
  #heal({ target, id, caller, used }: Healing, headers: HeaderBlock, done: Parameters<Heal>[2]): void {
    const session = this.names.targets.has(target) ? this.sessions.find(id, caller, performance.now()) : null
    const seat = session?.seats.get(target)
    if (session === null) done({ kind: 'expired', status: null, message: 'the session is over' })
    else if (seat !== undefined && seat.upstream !== used) done(seat)
    else {
      restore(this.asking(session, this.peers.get(target), headers, 0), (failure) =>
        done(failure ?? session.seats.get(target)!)
      )
    }
  }

  /** Tells every target of the session that it is over. */
  close(session: Session, headers: HeaderBlock): void {
    for (const name of session.seats.keys()) {
      // A target that has left the configuration has no link any more.
      if (!this.names.targets.has(name)) continue
      this.peers.link(session, this.peers.get(name), headers).close()
    }
    session.forgetLinks()
    this.sessions.end(session)
  }
}

/** What a client is told of a target that did not answer: no secrets, nothing that the target wrote itself. */
export const failureText = (target: string, { message }: LinkFailure): string => `target ${target}: ${message}`
