/** What the parts of one MCP backend share, compiled once per configuration. */

import { addRules } from '#backends/mcp/config/add-rules.ts'
import type { McpBackend, McpRules } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import type { JsonValue } from '#engine/contract/model-use.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { denialOf } from './authorization/denial.ts'
import { compileRules, type ItemGate } from './authorization/rules.ts'
import { Keepalive } from './downstream/keepalive.ts'
import { ListChanges } from './lists/changes.ts'
import { ComposedLists } from './lists/composed-lists.ts'
import { Names } from './names/names.ts'
import type { RpcNotification, RpcRequest } from './protocol/json-rpc.ts'
import { STATEFUL_METHODS } from './protocol/stateful.ts'
import { STATELESS_METHODS } from './protocol/stateless.ts'
import { compileForwardedHeaders } from './session/forwarded-headers.ts'
import { Seal } from './session/seal.ts'
import type { Session } from './session/session.ts'
import { type SessionStore, sessionStoreOf } from './session/store.ts'
import type { TargetBreaker } from './targets/circuit-breaker.ts'
import type { LinkFailure, Target } from './targets/target.ts'
import { isShownClient, TargetSet } from './targets/target-set.ts'
import { type WorkerState, workerState } from './workers/state.ts'

/** Colliding names that are logged: more of them say nothing new. */
const COLLISIONS_MAX = 256

export class Services {
  readonly backend: McpBackend
  readonly context: BackendContext
  readonly worker: WorkerState
  readonly targets: TargetSet
  /** What targets get of a client's header fields. */
  readonly forwardedHeaders: (ex: Exchange) => HeaderBlock
  /** Some targets are shown the client's own credential. */
  readonly passesCredentials: boolean
  readonly names: Names
  readonly listChanges: ListChanges
  readonly composedLists = new ComposedLists()
  readonly sessions: SessionStore
  readonly keepalive = new Keepalive()
  readonly isStateless: boolean
  /** The only target authenticates the clients themselves, with the tokens that they send. */
  readonly passesChallenges: boolean
  /** By target. Empty where a response needs every target, so that all are waited for. */
  readonly #breakers: ReadonlyMap<string, TargetBreaker>
  readonly #collisions = new Set<string>()
  /** By target; null: it has no rules. */
  readonly #gates: ReadonlyMap<string, ItemGate | null>
  /** By target; null: it has none. */
  readonly #rules: ReadonlyMap<string, McpRules | null>

  constructor(backend: McpBackend, context: BackendContext) {
    this.backend = backend
    this.context = context
    this.worker = workerState(context.worker)
    this.targets = new TargetSet(backend, context)
    this.passesCredentials = backend.targets.some(isShownClient)
    this.forwardedHeaders = compileForwardedHeaders(backend.forwardHeaders, this.passesCredentials)
    this.names = new Names(
      backend.targets.map(({ name }) => name),
      backend.prefixMode
    )
    this.listChanges = new ListChanges(backend, context, this.worker.bus)
    this.isStateless = backend.sessionRouting === 'Stateless'
    const forwardsTokens = this.passesCredentials || backend.forwardHeaders.includes('authorization')
    this.passesChallenges =
      forwardsTokens && !this.names.isMultiplexed && this.targets.all[0]?.passesChallenges === true
    // The seal names the backend: a session of another one with the same key is none of this one.
    const seal = new Seal(backend.session.key, context.secret, `session ${context.name}`)
    this.sessions = sessionStoreOf(context.upstream, context.name, seal, backend.session.idleMs, context.revocations)
    const needsAll = backend.failureMode === 'failClosed' || !this.names.isMultiplexed
    this.#breakers = new Map(needsAll ? [] : backend.targets.map((target) => [target.name, this.#newBreaker(target)]))
    this.#rules = new Map(
      backend.targets.map(({ name, authorization }) => [name, addRules(backend.authorization, authorization)])
    )
    this.#gates = new Map([...this.#rules].map(([name, rules]) => [name, rules === null ? null : compileRules(rules)]))
  }

  /** The configuration is active. Returns what ends that. */
  activate(): () => void {
    // With a configured key another replica may use the session, and the servers keep it for that one.
    const isOurs = this.backend.session.key === null
    this.sessions.onIdle = (session) => {
      if (isOurs) this.closeSession(session, new HeaderBlock())
      else this.sessions.end(session)
    }
    return this.targets.activate()
  }

  #newBreaker(target: McpBackend['targets'][number]): TargetBreaker {
    const { log, name } = this.context
    return this.worker.breakers.of(name, target, (level, text) =>
      log(level, `mcp ${name}: target ${target.name} ${text}`)
    )
  }

  /** Null: the target is asked however often it has timed out. */
  breakerOf(target: Target): TargetBreaker | null {
    return this.#breakers.get(target.name) ?? null
  }

  /** Whether rules may hide something of `target`. */
  hasRules(target: string): boolean {
    return this.#gates.get(target) !== null
  }

  /** Null: `target` has no rules. */
  gateOf(target: string): ItemGate | null {
    return this.#gates.get(target) ?? null
  }

  /** Logs, once, a plain name that two targets have (prefixMode never): it is neither listed nor called. */
  reportCollision(kind: McpItem['kind'], name: string, target: string): void {
    const key = `${kind} ${name}`
    if (this.#collisions.has(key) || this.#collisions.size >= COLLISIONS_MAX) return
    this.#collisions.add(key)
    const why = `more targets than one offer the ${kind} ${JSON.stringify(name.slice(0, 128))} (${target} is one)`
    this.context.log('warn', `mcp ${this.context.name}: ${why}: with prefixMode never it is neither listed nor called`)
  }

  /** Notes for the log why `mayUse` has denied `item`: the client learns nothing of it. */
  noteDenial(ex: Exchange, item: McpItem): void {
    const rules = this.#rules.get(item.target)
    const why = () => (rules == null ? 'its target has no rules for it' : denialOf(rules, ex, item))
    ex.errorDetail ??= () => `mcpAuthorization: ${item.kind} of target ${item.target}: ${why()}`
  }

  mayUse(ex: Exchange, item: McpItem): boolean {
    const gate = this.#gates.get(item.target)
    return gate === null || gate?.(ex, item) === true
  }

  /**
   * Whether `target` may receive a message that names no tool, prompt, resource or task of it: one with a method that
   * no revision has, for which rules have `mcp.method`.
   */
  mayReceive(ex: Exchange, target: string, { method, params = {} }: RpcRequest | RpcNotification): boolean {
    if (!this.hasRules(target)) return true
    // A known method comes here without an id, or in the wrong era: then the rules of its item were not evaluated.
    if (STATEFUL_METHODS.has(method) || STATELESS_METHODS.has(method)) return false
    return this.mayUse(ex, { kind: 'method', name: method, target, arguments: params as JsonValue })
  }

  /** Ends the session at every target, too. */
  closeSession(session: Session, headers: HeaderBlock): void {
    for (const name of session.targetSessions.keys()) {
      // The target may have left the configuration.
      if (!this.names.targets.has(name)) continue
      this.targets.link(session, this.targets.get(name), headers).close()
    }
    session.forgetLinks()
    this.sessions.end(session)
  }
}

/** The message for the client about a target that did not respond: no secrets, nothing that the target wrote itself. */
export const failureText = (target: string, { message }: LinkFailure): string => `target ${target}: ${message}`
