/**
 * What policies of one reference to a backend do to an exchange that goes there (Gateway API, HTTPBackendRef.filters).
 * Another attempt may go to another backend: then the request is again as the route has left it.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Exchange } from './exchange.ts'
import { CONTINUE, type Hook, type Verdict } from './filter.ts'
import { Slot } from './slot.ts'

/** The hooks decide at once (Policy.atReferences). */
export interface ReferenceHooks {
  readonly requestHooks: readonly Hook[] | null
  readonly responseHooks: readonly Hook[] | null
}

interface Chosen {
  readonly hooks: ReferenceHooks
  /** As the route has left them; null: there is no other attempt. */
  readonly request: HeaderBlock | null
  readonly path: string
}

const CHOSEN = new Slot<Chosen | null>()

/** The exchange goes to this reference. STOP: it does not, but has an answer. */
export function beginReference(ex: Exchange, hooks: ReferenceHooks): Verdict {
  const mayEnd = ex.retry !== null
  CHOSEN.set(ex, { hooks, request: mayEnd ? ex.request : null, path: ex.path })
  if (mayEnd) ex.request = ex.request.copy()
  return run(ex, hooks.requestHooks)
}

/** Called by the lifecycle when there is going to be another attempt. */
export function endReference(ex: Exchange): void {
  const chosen = CHOSEN.get(ex)
  if (chosen === null || chosen.request === null) return
  CHOSEN.set(ex, null)
  // The body may have been under way, and its trailers must not have the stripped fields either.
  chosen.request.stripped = ex.request.stripped
  ex.request = chosen.request
  ex.path = chosen.path
}

/** A response hook of routes with such references. */
export const referenceResponse: Hook = (ex) => {
  const chosen = ex.slots === null ? null : CHOSEN.get(ex)
  return chosen === null ? CONTINUE : run(ex, chosen.hooks.responseHooks)
}

function run(ex: Exchange, hooks: readonly Hook[] | null): Verdict {
  if (hooks !== null) {
    for (let i = 0; i < hooks.length; i++) {
      const verdict = hooks[i]!(ex) as Verdict
      if (verdict !== CONTINUE) return verdict
    }
  }
  return CONTINUE
}
