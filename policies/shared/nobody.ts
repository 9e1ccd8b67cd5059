/** Clients that need not say who they are. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Verdict } from '#engine/contract/filter.ts'
import { identityOf } from '#engine/contract/identity.ts'

/**
 * The client shows nothing that says who it is, and passes. It has been asked for it, unlike those of a route where all
 * are alike: what others have made there under their names is not for it (backends/llm/stored/tenant.ts).
 */
export function asNobody(ex: Exchange): Verdict {
  identityOf(ex)
  return CONTINUE
}
