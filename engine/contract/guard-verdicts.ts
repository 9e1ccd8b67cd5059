/** What guards have done to an exchange with models, for records of it. Nothing of what they have found. */
import { Slot, type SlotHolder } from './slot.ts'

export interface GuardVerdict {
  /** Where it stands: `request[0]`, `response[1]`. */
  readonly guard: string
  /** `unavailable`: it could not judge, which has refused the call; `skipped`: it could not, and may be left out. */
  readonly action: 'mask' | 'reject' | 'unavailable' | 'skipped'
}

const VERDICTS = new Slot<readonly GuardVerdict[]>()
/** A configuration may have more guards. */
const VERDICTS_MAX = 16

/** Once for each guard and action. */
export function noteGuard(ex: SlotHolder, { guard, action }: GuardVerdict): void {
  const known = VERDICTS.get(ex) ?? []
  const isKnown = known.some((one) => one.guard === guard && one.action === action)
  if (!isKnown && known.length < VERDICTS_MAX) VERDICTS.set(ex, [...known, { guard, action }])
}

/** In the order in which they came; null: there are none. */
export const guardVerdicts = (ex: SlotHolder): readonly GuardVerdict[] | null =>
  ex.slots === null ? null : VERDICTS.get(ex)
