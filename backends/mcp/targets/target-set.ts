/** The targets of a backend, and the links of sessions to them. */

import { EraTarget } from '#backends/mcp/bridge/era-target.ts'
import type { TargetState } from '#backends/mcp/bridge/target-state.ts'
import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import { compileWithoutCredential } from '#backends/mcp/session/forwarded-headers.ts'
import { Seal } from '#backends/mcp/session/seal.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import { workerState } from '#backends/mcp/workers/state.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { compileTarget } from './index.ts'
import type { Link, Target } from './target.ts'
/** Whether the target is shown the client's own credential. */
export function isShownClient(target: McpTarget): boolean {
  return 'auth' in target && (target as { readonly auth: BackendAuth | null }).auth?.kind === 'passthrough'
}

export class TargetSet {
  readonly all: readonly Target[]
  readonly #byName: ReadonlyMap<string, Target>
  readonly #activate: () => () => void
  /** Targets that are not shown the client's own credential, which others of the backend are. */
  readonly #unshown: ReadonlySet<Target>
  readonly #withoutCredential: (headers: HeaderBlock) => HeaderBlock

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
    this.#unshown = new Set(all.filter((_, i) => isPassed && !isShownClient(backend.targets[i]!)))
    this.#withoutCredential = compileWithoutCredential(backend.forwardHeaders)
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
    return this.#unshown.has(target) ? this.#withoutCredential(headers) : headers
  }

  /** The link of `session` to a target that it has begun with. A kept link has the headers of its first request. */
  link(session: Session, target: Target, headers: HeaderBlock): Link {
    const { keepsLink } = target.traits
    const known = keepsLink ? session.linkOf(target) : null
    if (known !== null) return known
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
