/** `server/discover`: what all targets together are (2026-07-28, server/discover). */
import { factsOf } from '#backends/mcp/bridge/stateful-client.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { mergeFacts } from '#backends/mcp/lists/kinds.ts'
import { INTERNAL_ERROR, type JsonObject, type RpcRequest, type RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { HANDSHAKE_VERSIONS, SUPPORTED_VERSIONS } from '#backends/mcp/protocol/revisions.ts'
import { type Core, failureText } from '#backends/mcp/services.ts'
import { OWN_INFO } from '#backends/mcp/session/initialize.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import { gently } from '#backends/mcp/targets/circuit-breaker.ts'
import type { LinkFailure, ServerFacts, Target } from '#backends/mcp/targets/target.ts'
import { forward } from './forward.ts'
import { complete } from './stateless-result.ts'

export function discover(core: Core, reply: Reply, session: Session, message: RpcRequest): void {
  const [only] = core.peers.all
  const timeoutMs = core.backend.targetTimeoutMs
  if (core.names.isTagged) new Discovery(core, reply, session, message).start()
  else {
    // One target speaks for itself; only the revisions are the gateway's.
    const edit = (result: JsonObject): JsonObject => ({ ...result, supportedVersions: offered(core, session, [only!]) })
    forward({ core, reply, session, target: only!, message, edit, timeoutMs })
  }
}

/**
 * Nothing in a request of 2026-07-28 says whose the next one is, unless its caller has shown who he is. Before servers
 * that keep sessions a client that nobody knows is therefore offered what begins with a handshake, and has a session of
 * its own by that: the official clients of Python, TypeScript and Go take it, where they may choose.
 */
function offered({ backend, isStateless }: Core, session: Session, targets: readonly Target[]): readonly string[] {
  const isKept = !isStateless && backend.session.anonymous !== 'PerRequest'
  const mustBegin = session.isAnonymous && isKept && targets.some(({ remembers }) => remembers === true)
  return mustBegin ? HANDSHAKE_VERSIONS : SUPPORTED_VERSIONS
}

class Discovery {
  readonly #core: Core
  readonly #reply: Reply
  readonly #session: Session
  readonly #message: RpcRequest
  readonly #facts = new Map<string, ServerFacts>()
  readonly #failures: { readonly target: string; readonly failure: LinkFailure }[] = []

  constructor(core: Core, reply: Reply, session: Session, message: RpcRequest) {
    this.#core = core
    this.#reply = reply
    this.#session = session
    this.#message = message
  }

  start(): void {
    const { peers, backend } = this.#core
    const headers = peers.headersOf(this.#reply.ex)
    const stops = peers.all.map((target) => {
      const rest = this.#core.restOf(target)
      const ask = (settled: (failure: LinkFailure | null) => void, isWaited: boolean) =>
        peers.link(this.#session, target, headers).request(
          this.#message,
          {
            message() {},
            failed: (failure) => {
              settled(failure)
              if (isWaited) this.#failed(target, failure)
            },
            answered: (response) => {
              settled(null)
              if (isWaited) this.#answered(target, response)
            }
          },
          backend.targetTimeoutMs
        )
      if (rest === null) return ask(() => undefined, true)
      return gently(rest, (failure) => this.#failed(target, failure), ask)
    })
    this.#reply.onGone = () => {
      for (const stop of stops) stop()
    }
  }

  #answered({ name }: Target, response: RpcResponse): void {
    const facts = 'result' in response ? factsOf(response.result, name) : null
    if (facts === null) {
      const message = 'does not say what it is'
      this.#failures.push({ target: name, failure: { kind: 'refused', status: null, message } })
    } else this.#facts.set(name, facts)
    this.#heard()
  }

  #failed({ name }: Target, failure: LinkFailure): void {
    this.#failures.push({ target: name, failure })
    this.#heard()
  }

  #heard(): void {
    const { peers, backend } = this.#core
    if (this.#facts.size + this.#failures.length < peers.all.length) return
    const { id } = this.#message
    const [first] = this.#failures
    if (first !== undefined && (backend.failureMode === 'failClosed' || this.#facts.size === 0)) {
      this.#reply.error(id, INTERNAL_ERROR, failureText(first.target, first.failure))
      return
    }
    const ordered = peers.all.flatMap(({ name }): [string, ServerFacts][] => {
      const facts = this.#facts.get(name)
      return facts === undefined ? [] : [[name, facts]]
    })
    const { capabilities, instructions } = mergeFacts(new Map(ordered), OWN_INFO)
    const answered = peers.all.filter(({ name }) => this.#facts.has(name))
    const said = { supportedVersions: offered(this.#core, this.#session, answered), capabilities }
    const result = complete(instructions === null ? said : { ...said, instructions })
    this.#reply.respond({ jsonrpc: '2.0', id, result })
  }
}
