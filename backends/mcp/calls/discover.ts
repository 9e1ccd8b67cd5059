/** `server/discover`: what all targets together are (2026-07-28, server/discover). */

import { readDiscoverResult } from '#backends/mcp/bridge/stateful-client.ts'
import { mergeFacts, type ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import { INTERNAL_ERROR, type JsonObject, type RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { HANDSHAKE_VERSIONS, SUPPORTED_VERSIONS } from '#backends/mcp/protocol/revisions.ts'
import { failureText } from '#backends/mcp/services.ts'
import { OWN_INFO } from '#backends/mcp/session/initialize.ts'
import { throughBreaker } from '#backends/mcp/targets/circuit-breaker.ts'
import { failure, type LinkFailure, type Target } from '#backends/mcp/targets/target.ts'
import type { Call } from './call.ts'
import { forward } from './forward.ts'
import { completeResult } from './stateless-result.ts'
export function discover(call: Call): void {
  const { services } = call
  if (services.names.isMultiplexed) {
    new Discovery(call).start()
    return
  }
  // The only target speaks for itself, but for the revisions, which are the gateway's.
  const target = services.targets.all[0]!
  const edit = (result: JsonObject): JsonObject => ({ ...result, supportedVersions: offeredVersions(call, [target]) })
  forward(call, { target, message: call.message, edit, timeoutMs: services.backend.targetTimeoutMs })
}

/**
 * Without credentials nothing tells which caller the next stateless request comes from. Such a client of servers with
 * sessions is therefore offered only revisions that begin with a handshake, which give it a session of its own: the
 * official clients of Python, TypeScript and Go take one of them if they may choose.
 */
function offeredVersions({ services, session }: Call, targets: readonly Target[]): readonly string[] {
  const mayKeep = !services.isStateless && services.backend.session.anonymous !== 'PerRequest'
  const needsSession = session.isAnonymous && mayKeep && targets.some(({ hasSessions }) => hasSessions === true)
  return needsSession ? HANDSHAKE_VERSIONS : SUPPORTED_VERSIONS
}

class Discovery {
  readonly #call: Call
  readonly #facts = new Map<string, ServerFacts>()
  readonly #failures: { readonly target: string; readonly failure: LinkFailure }[] = []

  constructor(call: Call) {
    this.#call = call
  }

  start(): void {
    const { services, reply, session, message } = this.#call
    const { targets, backend } = services
    const headers = services.forwardedHeaders(reply.ex)
    const stops = targets.all.map((target) =>
      throughBreaker(
        services.breakerOf(target),
        (why) => this.#failed(target, why),
        (record, isWaited) =>
          targets.link(session, target, headers).request(
            message,
            {
              message() {},
              failed: (why) => {
                record(why)
                if (isWaited) this.#failed(target, why)
              },
              answered: (response) => {
                record(null)
                if (isWaited) this.#answered(target, response)
              }
            },
            backend.targetTimeoutMs
          )
      )
    )
    reply.onGone = () => {
      for (const stop of stops) stop()
    }
  }

  #answered(target: Target, response: RpcResponse): void {
    const facts = 'result' in response ? readDiscoverResult(response.result, target.name) : null
    if (facts === null) {
      this.#failed(target, failure('refused', 'does not say what it is'))
      return
    }
    this.#facts.set(target.name, facts)
    this.#endIfComplete()
  }

  #failed({ name }: Target, why: LinkFailure): void {
    this.#failures.push({ target: name, failure: why })
    this.#endIfComplete()
  }

  #endIfComplete(): void {
    const { services, reply, message } = this.#call
    const { all } = services.targets
    if (this.#facts.size + this.#failures.length < all.length) return
    const [first] = this.#failures
    if (first !== undefined && (services.backend.failureMode === 'failClosed' || this.#facts.size === 0)) {
      reply.error(message.id, INTERNAL_ERROR, failureText(first.target, first.failure))
      return
    }
    const answered = all.filter(({ name }) => this.#facts.has(name))
    const facts = new Map(answered.map(({ name }) => [name, this.#facts.get(name)!]))
    const { capabilities, instructions } = mergeFacts(facts, OWN_INFO)
    const merged = { supportedVersions: offeredVersions(this.#call, answered), capabilities }
    const result = completeResult(instructions === null ? merged : { ...merged, instructions })
    reply.respond({ jsonrpc: '2.0', id: message.id, result })
  }
}
