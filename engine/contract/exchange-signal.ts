/** Cancels what a hook waits for when nobody waits for the hook any more. Costs nothing where nobody asks for it. */
import { Slot, type SlotHolder } from './slot.ts'

const CONTROLLER = new Slot<AbortController>()

/** Aborted when the exchange is over: its client has left, a timeout has answered, or it went well. */
export function signalOf(ex: SlotHolder): AbortSignal {
  let controller = CONTROLLER.get(ex)
  if (controller === null) {
    controller = new AbortController()
    CONTROLLER.set(ex, controller)
  }
  return controller.signal
}

/** For the lifecycle, when the exchange is over. */
export function abortSignal(ex: SlotHolder): void {
  CONTROLLER.get(ex)?.abort()
}
