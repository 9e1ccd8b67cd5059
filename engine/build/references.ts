/** References of a route to backends that have policies of their own. */
import type { CompiledBackend } from '#engine/contract/backend.ts'
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import { beginReference, type ReferenceHooks, referenceResponse } from '#engine/contract/reference-filters.ts'
import type { HookOwner, RouteMirror } from '#engine/contract/route.ts'
import type { Reference } from './policies.ts'
import type { RuntimeDeps } from './runtime-types.ts'

/** The backend, for requests that go there by this reference. `mirrors`: null for none. */
export function behindReference(
  compiled: CompiledBackend,
  hooks: ReferenceHooks,
  mirrors: readonly RouteMirror[] | null,
  { reply, mirror }: Pick<RuntimeDeps, 'reply' | 'mirror'>
): CompiledBackend {
  const { serve } = compiled
  return {
    ...compiled,
    // --- request time ---
    serve: (ex) => {
      if (beginReference(ex, hooks) !== CONTINUE) reply(ex, ex.localReply!)
      else {
        // A request is copied once: of other attempts the body has been sent already.
        if (mirrors !== null && (ex.retry === null || ex.retry.count === 0)) mirror(ex, mirrors)
        serve(ex)
      }
    }
  }
}

/** Hooks of a route for answers of backends, and whose they are. */
export interface AnswerHooks {
  readonly hooks: readonly Hook[] | null
  readonly owners: readonly HookOwner[]
}

const NONE: AnswerHooks = { hooks: null, owners: [] }
const OF_REFERENCES: AnswerHooks = { hooks: [referenceResponse], owners: [{ name: 'backends' }] }

/** `all`: of the references of a route. */
export function answerHooks(all: readonly Reference[]): AnswerHooks {
  return all.some(({ hooks }) => hooks !== null && hooks.responseHooks !== null) ? OF_REFERENCES : NONE
}
