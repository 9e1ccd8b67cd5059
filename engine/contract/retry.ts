/** The request body that is kept for another attempt. */
import type { Exchange, RetryState } from './exchange.ts'
import { hold, letGo } from './held-bytes.ts'

/** Keeps a copy of body bytes that go to the first attempt now. */
export function keepForRetry(ex: Exchange, state: RetryState, chunk: Buffer, start: number, end: number): void {
  const { kept } = state
  if (kept === null) return
  state.keptBytes += end - start
  const isRoom = state.keptBytes <= state.route.bodyBytesMax && hold(ex, end - start)
  if (isRoom) {
    state.heldBytes += end - start
    kept.push(chunk, start, end)
  } else dropKept(ex, state)
}

/** It is not needed, or too much. */
export function dropKept(ex: Exchange, state: RetryState): void {
  state.kept = null
  letGo(ex, state.heldBytes)
  state.heldBytes = 0
}
