/** What the policy `cors` has decided about the site that a request comes from. */
import { Slot } from './slot.ts'

export interface CorsDecision {
  /** Origin as it was received: hooks may change the header before the response needs it. Null: none, or not asked. */
  readonly origin: string | null
  /** That site may read the answer. */
  readonly isAllowed: boolean
}

export const CORS_DECISION = new Slot<CorsDecision>()
