/** Calls of models beside the ones that clients have asked for. */
import { Slot } from './slot.ts'

/** `shadow`: a copy, whose answer is thrown away. `cache`: a vector, to find answers to like questions. */
export type SidePurpose = 'shadow' | 'cache'

/** Null: it is what a client has asked. */
export const SIDE_PURPOSE = new Slot<SidePurpose>()
