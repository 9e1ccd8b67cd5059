/** The targets of a backend, and the links of sessions to them. */

import { EraTarget, workerState } from '#backends/mcp/bridge/era-target.ts'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import { TRACE } from '#backends/mcp/session/forwarded-headers.ts'
import { Seal } from '#backends/mcp/session/seal.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { compileTarget } from './index.ts'
import type { Link, Target } from './target.ts'

/** Never told on, whatever is configured: the client's session is not the target's, and the rest is framing. */
const NEVER: ReadonlySet<string> = new Set([
  ...['cookie', 'host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding'],
  ...[
    'accept',
    'accept-encoding',
    'mcp-session-id',
    'mcp-protocol-version',
    'last-event-id',
    'te',
    'upgrade',
    'expect'
  ],
  ...['mcp-method', 'mcp-name']
])

const PARAMETER = /^mcp-param-/i

export class Peers {
  readonly all: readonly Target[]
  readonly #byName: ReadonlyMap<string, Target>
  readonly #forwarded: readonly string[]
  /** What a configuration in force holds; returns what lets it go. */
  readonly #hold: () => () => void

  constructor(backend: McpBackend, context: BackendContext) {
    const seal = new Seal(backend.session.key, context.secret, `state ${context.name}`)
    const shared = workerState(context.worker)
    const { name } = context
    const keeps = backend.targets.map((target) => shared.targets.of(name, target))
    const all = backend.targets.map((target, i) => {
      return new EraTarget(compileTarget(target, backend, context), seal, shared, { name, kept: keeps[i]! })
    })
    this.#hold = () => {
      for (const kept of keeps) kept.hold(backend.session.idleMs)
      const end = shared.errands.serve(name, new Map(all.map((target) => [target.name, target.carryOut])))
      return () => {
        end()
        for (const kept of keeps) kept.leave()
      }
    }
    this.all = all
    this.#byName = new Map(this.all.map((target) => [target.name, target]))
    this.#forwarded = [...TRACE, ...backend.forwardHeaders.filter((name) => !NEVER.has(name))]
  }

  /** The configuration is in force. Returns what ends that. */
  hold(): () => void {
    return this.#hold()
  }

  get(name: string): Target {
    return this.#byName.get(name)!
  }

  /** What targets are told of the client's fields. */
  headersOf({ request, mcp }: Exchange): HeaderBlock {
    const headers = new HeaderBlock()
    for (const name of this.#forwarded) {
      // Most are not there, and to find that out is cheap.
      if (request.has(name)) headers.append(name, request.getAll(name)!)
    }
    // Arguments that a server wants as fields, which are in the body too: who does not know them passes them on.
    if (request.get('mcp-protocol-version') === STATELESS) {
      request.forEach((name, value) => {
        if (PARAMETER.test(name)) headers.append(name, value)
      })
      // What it repeats of a method of an extension only its server knows: its names are not the gateway's either.
      const name = STATELESS_METHODS.has(mcp?.method ?? '') ? undefined : request.get('mcp-name')
      if (name !== undefined) headers.append('Mcp-Name', name)
    }
    return headers
  }

  /** The link of `session` to `target`; for one that has begun. What is kept has the fields of its first request. */
  link(session: Session, target: Target, headers: HeaderBlock): Link {
    const seat = session.seats.get(target.name)
    const options = {
      sessionKey: session.key,
      upstreamSession: seat?.upstream ?? null,
      version: seat?.version ?? null,
      headers,
      client: session.client,
      isAnonymous: session.isAnonymous,
      party: session.party
    }
    if (!isKept(target)) return target.open(options)
    const known = session.linkOf(target)
    if (known !== null) return known
    const link = target.open(options)
    session.keep(target, link)
    return link
  }
}

/** What holds something open from request to request: a child, a stream. Over HTTP each request brings its fields. */
export const isKept = ({ kind }: Target): boolean => kind === 'stdio' || kind === 'sse'
