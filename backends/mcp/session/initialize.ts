/** A new session: every target is initialised, and what they say becomes one answer. */
import { performance } from 'node:perf_hooks'
import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import { type Begun, begin } from '#backends/mcp/calls/target-request.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { mergeFacts } from '#backends/mcp/lists/kinds.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, type JsonObject, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/read-message.ts'
import { REVISIONS } from '#backends/mcp/protocol/versions.ts'
import { type Core, failureText } from '#backends/mcp/services.ts'
import { gently } from '#backends/mcp/targets/circuit-breaker.ts'
import type { LinkFailure, ServerFacts, Target } from '#backends/mcp/targets/target.ts'
import { isKept } from '#backends/mcp/targets/target-set.ts'
import { VERSION } from '#engine/contract/version.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { callerOf, partyOf } from './caller.ts'
import { newSessionKey } from './session.ts'

/** Of the gateway, where it speaks for itself or for several servers. */
export const OWN_INFO: JsonObject = { name: 'weir', version: VERSION }

export function initialize(core: Core, reply: Reply, message: RpcRequest): void {
  const { params = {} } = message
  const { protocolVersion } = params
  if (typeof protocolVersion !== 'string') {
    reply.error(message.id, INVALID_PARAMS, 'initialize needs a protocolVersion')
    return
  }
  // One that only this client knows is answered with the newest that the gateway knows, as a server would.
  const known = REVISIONS.includes(protocolVersion)
  const asked = known ? params : { ...params, protocolVersion: REVISIONS.at(-1)! }
  new Beginning(core, reply, message, asked).start()
}

class Beginning {
  readonly #core: Core
  readonly #reply: Reply
  readonly #message: RpcRequest
  readonly #params: JsonObject
  readonly #key = newSessionKey()
  readonly #party: string
  readonly #begun = new Map<string, Begun>()
  readonly #failures: { readonly target: string; readonly failure: LinkFailure }[] = []
  #missing: number
  #isOver = false

  constructor(core: Core, reply: Reply, message: RpcRequest, params: JsonObject) {
    this.#core = core
    this.#reply = reply
    this.#message = message
    this.#params = params
    this.#missing = core.peers.all.length
    this.#party = partyOf(reply.ex)
  }

  start(): void {
    const { peers, backend } = this.#core
    const headers = peers.headersOf(this.#reply.ex)
    const stops = peers.all.map((target) =>
      this.#begin(target, headers, (begun, failure) => {
        if (begun !== null) this.#begun.set(target.name, begun)
        else this.#failures.push({ target: target.name, failure: failure! })
        if (--this.#missing === 0) this.#end()
        // Nobody waits for the others: the answer is known.
        else if (begun === null && backend.failureMode === 'failClosed') this.#end()
        else if (this.#isOver) begun?.link.close()
      })
    )
    this.#reply.onGone = () => {
      for (const stop of stops) stop()
      this.#giveUp()
    }
  }

  #begin(target: Target, headers: HeaderBlock, done: Parameters<typeof begin>[3]): () => void {
    const order = { target, headers, party: this.#party, beginMs: this.#core.backend.targetTimeoutMs }
    const rest = this.#core.restOf(target)
    if (rest === null) return begin(order, this.#key, this.#params, done)
    return gently(
      rest,
      (failure) => done(null, failure),
      (settled, isWaited) =>
        begin(order, this.#key, this.#params, (begun, failure) => {
          settled(failure)
          if (isWaited) done(begun, failure)
          else begun?.link.close()
        })
    )
  }

  #giveUp(): void {
    this.#isOver = true
    for (const { link } of this.#begun.values()) link.close()
  }

  #end(): void {
    if (this.#isOver) return
    const { backend, context } = this.#core
    const { id } = this.#message
    const [first] = this.#failures
    if (first !== undefined && (backend.failureMode === 'failClosed' || this.#begun.size === 0)) {
      this.#giveUp()
      if (passChallenge(this.#core, this.#reply, id, first.failure)) return
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

  /** In the order of the configuration, whoever was first to answer. */
  #ordered(): Map<string, ServerFacts> {
    const ordered = new Map<string, ServerFacts>()
    for (const { name } of this.#core.peers.all) {
      const begun = this.#begun.get(name)
      if (begun !== undefined) ordered.set(name, begun.facts)
    }
    return ordered
  }

  /** Makes the session. False: it cannot be. */
  #give(merged: ServerFacts, facts: ReadonlyMap<string, ServerFacts>): boolean {
    const { sessions, isStateless } = this.#core
    const servers = new Map([...facts].map(([name, own]) => [name, { upstream: this.#sessionOf(name), facts: own }]))
    const caller = callerOf(this.#reply.ex)
    const made = { key: this.#key, version: merged.protocolVersion, params: this.#params, caller, servers }
    const session = sessions.begin(made, !isStateless, performance.now())
    if (session === null) return false
    session.party = this.#party
    if (isStateless) {
      // The next request begins anew.
      for (const { link } of this.#begun.values()) link.close()
      return true
    }
    for (const [name, { link, facts: own }] of this.#begun) {
      session.learn(name, own.capabilities)
      const target = this.#core.peers.get(name)
      if (isKept(target)) session.keep(target, link)
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

  #sessionOf(name: string): string | null {
    return this.#begun.get(name)!.link.upstreamSession
  }

  #resultOf(merged: ServerFacts): JsonObject {
    const { names, isStateless } = this.#core
    const [only] = this.#begun.values()
    // One target speaks for itself, with whatever else it says.
    if (!names.isTagged && !isStateless) return only!.result
    const { protocolVersion, capabilities, serverInfo, instructions } = merged
    const own = names.isTagged ? serverInfo : (only!.result.serverInfo ?? OWN_INFO)
    return {
      protocolVersion,
      capabilities: isStateless ? withoutStreams(capabilities) : capabilities,
      serverInfo: own,
      ...(instructions === null ? {} : { instructions: names.isTagged ? instructions : only!.facts.instructions })
    }
  }
}

/** Without a session nothing can be told later: no subscriptions, no news of lists, no tasks. */
function withoutStreams(capabilities: JsonObject): JsonObject {
  const kept = Object.entries(capabilities).filter(([name]) => name !== 'tasks' && name !== 'logging')
  return Object.fromEntries(
    kept.map(([name, value]) => {
      if (!isObject(value)) return [name, value]
      const { listChanged: _news, subscribe: _subscriptions, ...rest } = value
      return [name, rest]
    })
  )
}
