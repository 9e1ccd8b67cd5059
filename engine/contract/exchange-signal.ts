/** Cancels what a hook waits for when the exchange is over. Costs nothing where it is not used. */
import { STEP_RECORDED } from './exchange.ts'
import { Slot, type SlotHolder } from './slot.ts'

/** An exchange, as far as its end is concerned. */
interface EndingExchange extends SlotHolder {
  readonly step: number
}

const CONTROLLER = new Slot<AbortController>()

/**
 * Aborted when the exchange is over: its client has left, a timeout has answered, or it went well. A hook that has
 * waited may ask for it after the end: then it is aborted already.
 */
export function signalOf(ex: EndingExchange): AbortSignal {
  if (ex.step === STEP_RECORDED) return AbortSignal.abort()
  let controller = CONTROLLER.get(ex)
  if (controller === null) {
    controller = new AbortController()
    CONTROLLER.set(ex, controller)
  }
  return controller.signal
}

/** Called when an exchange is over, whatever its end. */
export interface EndListener {
  exchangeOver(): void
}

const LISTENERS = new Slot<EndListener[]>()

/** The same without an AbortController, for use on every request. Called at once when the exchange is over already. */
export function listenForEnd(ex: EndingExchange, listener: EndListener): void {
  if (ex.step === STEP_RECORDED) {
    listener.exchangeOver()
    return
  }
  const listeners = LISTENERS.get(ex)
  if (listeners === null) LISTENERS.set(ex, [listener])
  else listeners.push(listener)
}

/** Removes the listener. */
export function forgetEnd(ex: SlotHolder, listener: EndListener): void {
  const listeners = LISTENERS.get(ex)
  const at = listeners?.indexOf(listener) ?? -1
  if (at >= 0) listeners!.splice(at, 1)
}

/** Calls `step` when `ex` is over, ahead of what was asked for before. Returns what calls that off. */
export function whenOver(ex: EndingExchange, step: () => void): () => void {
  const listener = { exchangeOver: step }
  listenForEnd(ex, listener)
  return () => forgetEnd(ex, listener)
}

/** For the lifecycle, when the exchange is over. */
export function abortSignal(ex: SlotHolder): void {
  CONTROLLER.get(ex)?.abort()
  const listeners = LISTENERS.get(ex)
  // Taken out one by one: a listener may remove itself and others.
  for (let last = listeners?.pop(); last !== undefined; last = listeners?.pop()) last.exchangeOver()
}
