/** A new session: every target is initialized, and their results become one. */
import { performance } from 'node:perf_hooks'
import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { mergeFacts, type ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  type JsonObject,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { agreedVersion } from '#backends/mcp/protocol/revisions.ts'
import { failureText, type Services } from '#backends/mcp/services.ts'
import { throughBreaker } from '#backends/mcp/targets/circuit-breaker.ts'
import type { LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import { VERSION } from '#engine/contract/version.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { callerOf, partyOf } from './caller.ts'
import { type InitializedTarget, initializeTarget } from './restore.ts'
import { newSessionKey } from './store.ts'

/** serverInfo of the gateway, where it speaks for itself or for several servers. */
export const OWN_INFO: JsonObject = { name: 'weir', version: VERSION }

export function initialize(services: Services, reply: Reply, message: RpcRequest): void {
  const { params = {} } = message
  const { protocolVersion } = params
  if (typeof protocolVersion !== 'string') {
    reply.error(message.id, INVALID_PARAMS, 'initialize needs a protocolVersion')
    return
  }
  const agreed = agreedVersion(protocolVersion)
  const agreedParams = agreed === protocolVersion ? params : { ...params, protocolVersion: agreed }
  new Initialization(services, reply, message, agreedParams).start()
}

class Initialization {
  readonly #services: Services
  readonly #reply: Reply
  readonly #message: RpcRequest
  readonly #params: JsonObject
  readonly #key = newSessionKey()
  readonly #party: string
  readonly #initialized = new Map<string, InitializedTarget>()
  readonly #failures: { readonly target: string; readonly failure: LinkFailure }[] = []
  #missing: number
  #isOver = false

  constructor(services: Services, reply: Reply, message: RpcRequest, params: JsonObject) {
    this.#services = services
    this.#reply = reply
    this.#message = message
    this.#params = params
    this.#missing = services.targets.all.length
    this.#party = partyOf(reply.ex)
  }

  start(): void {
    const { targets, backend } = this.#services
    const headers = this.#services.forwardedHeaders(this.#reply.ex)
    const stops = targets.all.map((target) =>
      this.#initialize(target, targets.headersFor(target, headers), (initialized, why) => {
        if (initialized !== null) this.#initialized.set(target.name, initialized)
        else this.#failures.push({ target: target.name, failure: why! })
        if (--this.#missing === 0) this.#end()
        // The others cannot change the response.
        else if (initialized === null && backend.failureMode === 'failClosed') this.#end()
        else if (this.#isOver) initialized?.link.close()
      })
    )
    this.#reply.onGone = () => {
      for (const stop of stops) stop()
      this.#giveUp()
    }
  }

  #initialize(target: Target, headers: HeaderBlock, done: Parameters<typeof initializeTarget>[4]): () => void {
    const { backend } = this.#services
    const options = { sessionKey: this.#key, headers, party: this.#party }
    return throughBreaker(
      this.#services.breakerOf(target),
      (why) => done(null, why),
      (record, isWaited) =>
        initializeTarget(target, options, this.#params, backend.targetTimeoutMs, (initialized, why) => {
          record(why)
          if (isWaited) done(initialized, why)
          else initialized?.link.close()
        })
    )
  }

  #giveUp(): void {
    this.#isOver = true
    for (const { link } of this.#initialized.values()) link.close()
  }

  #end(): void {
    if (this.#isOver) return
    const { backend, context } = this.#services
    const { id } = this.#message
    const [first] = this.#failures
    if (first !== undefined && (backend.failureMode === 'failClosed' || this.#initialized.size === 0)) {
      this.#giveUp()
      if (passChallenge(this.#services, this.#reply, id, first.failure)) return
      this.#reply.error(id, INTERNAL_ERROR, failureText(first.target, first.failure))
      return
    }
    this.#isOver = true
    for (const { target, failure } of this.#failures)
      context.log('warn', `mcp ${context.name}: a session begins without ${failureText(target, failure)}`)
    const facts = this.#ordered()
    const merged = mergeFacts(facts, OWN_INFO)
    if (!this.#give(merged, facts)) {
      this.#giveUp()
      this.#reply.error(id, INVALID_PARAMS, 'clientInfo and capabilities are longer than a session can hold')
      return
    }
    const result = this.#resultOf(merged)
    this.#reply.respond({ jsonrpc: '2.0', id, result })
  }

  /** In the order of the configuration. */
  #ordered(): Map<string, ServerFacts> {
    const ordered = new Map<string, ServerFacts>()
    for (const { name } of this.#services.targets.all) {
      const begun = this.#initialized.get(name)
      if (begun !== undefined) ordered.set(name, begun.facts)
    }
    return ordered
  }

  /** False: the session does not fit its id. */
  #give(merged: ServerFacts, facts: ReadonlyMap<string, ServerFacts>): boolean {
    const { sessions, isStateless } = this.#services
    const servers = new Map(
      [...facts].map(([name, own]) => [
        name,
        { upstreamId: this.#initialized.get(name)!.link.upstreamSession, facts: own }
      ])
    )
    const caller = callerOf(this.#reply.ex)
    const made = { key: this.#key, version: merged.protocolVersion, params: this.#params, caller, servers }
    const session = sessions.create(made, !isStateless, performance.now())
    if (session === null) return false
    session.party = this.#party
    if (isStateless) {
      // The next request begins another session.
      for (const { link } of this.#initialized.values()) link.close()
      return true
    }
    for (const [name, { link, facts: own }] of this.#initialized) {
      session.learnCapabilities(name, own.capabilities)
      const target = this.#services.targets.get(name)
      if (target.traits.keepsLink) session.keepLink(target, link)
      else link.release()
    }
    this.#reply.sessionId = session.id
    const use = this.#reply.ex.mcp
    if (use !== null) {
      use.sessionId = session.key
      use.protocolVersion = session.version
    }
    return true
  }

  #resultOf(merged: ServerFacts): JsonObject {
    const { names, isStateless } = this.#services
    const [only] = this.#initialized.values()
    // The only target speaks for itself.
    if (!names.isMultiplexed && !isStateless) return only!.result
    const { protocolVersion, capabilities, serverInfo, instructions } = merged
    const own = names.isMultiplexed ? serverInfo : (only!.result.serverInfo ?? OWN_INFO)
    return {
      protocolVersion,
      capabilities: isStateless ? withoutStreams(capabilities) : capabilities,
      serverInfo: own,
      ...(instructions === null ? {} : { instructions: names.isMultiplexed ? instructions : only!.facts.instructions })
    }
  }
}

/** Without a session nothing can come later: no subscriptions, no changes of lists, no tasks. */
function withoutStreams(capabilities: JsonObject): JsonObject {
  const kept = Object.entries(capabilities).filter(([name]) => name !== 'tasks' && name !== 'logging')
  return Object.fromEntries(
    kept.map(([name, value]) => {
      if (!isObject(value)) return [name, value]
      const { listChanged: _listChanged, subscribe: _subscriptions, ...rest } = value
      return [name, rest]
    })
  )
}
