/** The targets of a backend, and the links of sessions to them. */

import { EraTarget } from '#backends/mcp/bridge/era-target.ts'
import type { TargetState } from '#backends/mcp/bridge/target-state.ts'
import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import { compileShownFields } from '#backends/mcp/session/forwarded-headers.ts'
import { Seal } from '#backends/mcp/session/seal.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import { workerState } from '#backends/mcp/workers/state.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { compileTarget } from './index.ts'
import type { Link, Target } from './target.ts'

/** Null: no policy says what the target is shown, or it is a program. */
const authOf = (target: McpTarget): BackendAuth | null =>
  'auth' in target ? (target as { readonly auth: BackendAuth | null }).auth : null

/** Whether the target is shown the client's own credential. */
export const isShownClient = (target: McpTarget): boolean => authOf(target)?.kind === 'passthrough'

export class TargetSet {
  readonly all: readonly Target[]
  readonly #byName: ReadonlyMap<string, Target>
  readonly #activate: () => () => void
  /** What of the client's fields a target is shown; null: all that are forwarded. */
  readonly #shown: ReadonlyMap<Target, ReturnType<typeof compileShownFields>>

  constructor(backend: McpBackend, context: BackendContext) {
    const { name } = context
    const seal = new Seal(backend.session.key, context.secret, `state ${name}`)
    const worker = workerState(context.worker)
    const states: TargetState[] = []
    const all = backend.targets.map((target) => {
      const raw = compileTarget(target, backend, context)
      const state = worker.targetStates.of(name, target, raw.traits)
      states.push(state)
      return new EraTarget({ raw, backend: name, seal, worker, state })
    })
    this.all = all
    this.#byName = new Map(all.map((target) => [target.name, target]))
    const isPassed = backend.targets.some(isShownClient)
    const shownBy = (i: number) => compileShownFields(backend.forwardHeaders, isPassed, authOf(backend.targets[i]!))
    this.#shown = new Map(all.map((target, i) => [target, shownBy(i)]))
    this.#activate = () => {
      for (const state of states) state.activate(backend.session.idleMs)
      const end = worker.ownerRequests.serve(name, new Map(all.map((target) => [target.name, target.execute])))
      return () => {
        end()
        for (const state of states) state.deactivate()
      }
    }
  }

  /** The configuration is active. Returns what ends that. */
  activate(): () => void {
    return this.#activate()
  }

  get(name: string): Target {
    return this.#byName.get(name)!
  }

  /** Of the client's fields, what the target is shown. */
  headersFor(target: Target, headers: HeaderBlock): HeaderBlock {
    return this.#shown.get(target)?.(headers) ?? headers
  }

  /** The link of `session` to a target that it has begun with, for a request with these fields. */
  link(session: Session, target: Target, headers: HeaderBlock): Link {
    const { keepsLink } = target.traits
    const known = keepsLink ? session.linkOf(target) : null
    if (known !== null) return known.forRequest?.(this.headersFor(target, headers)) ?? known
    const begun = session.targetSessions.get(target.name)
    const link = target.open({
      sessionKey: session.key,
      upstreamSession: begun?.upstreamId ?? null,
      version: begun?.version ?? null,
      headers: this.headersFor(target, headers),
      client: session.client,
      isAnonymous: session.isAnonymous,
      party: session.party
    })
    if (keepsLink) session.keepLink(target, link)
    return link
  }
}
