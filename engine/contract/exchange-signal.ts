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

/** Told when an exchange is over, whatever its end. */
export interface EndListener {
  exchangeOver(): void
}

const LISTENERS = new Slot<EndListener[]>()

/** The same without an AbortController, for what is asked with every request. */
export function listenForEnd(ex: SlotHolder, listener: EndListener): void {
  const listeners = LISTENERS.get(ex)
  if (listeners === null) LISTENERS.set(ex, [listener])
  else listeners.push(listener)
}

/** It need not be told any more. */
export function forgetEnd(ex: SlotHolder, listener: EndListener): void {
  const listeners = LISTENERS.get(ex)
  const at = listeners?.indexOf(listener) ?? -1
  if (at >= 0) listeners!.splice(at, 1)
}

/** For the lifecycle, when the exchange is over. */
export function abortSignal(ex: SlotHolder): void {
  CONTROLLER.get(ex)?.abort()
  const listeners = LISTENERS.get(ex)
  // From the end: who is told may forget itself.
  for (let i = (listeners?.length ?? 0) - 1; i >= 0; i--) listeners![i]!.exchangeOver()
}
