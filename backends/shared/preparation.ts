/**
 * What comes ahead of the first attempt and may wait: for the body, for guards. A timeout of the route may begin
 * another attempt meanwhile; what is under way then goes on as that one, and is not begun again.
 */
import type { Exchange } from '#engine/contract/exchange.ts'

class Preparation {
  readonly by: object
  /** The attempt that it began in was given up, and the next one has not begun yet. */
  isPaused = false
  /** What is to follow, when it is ready and waits for that. */
  step: (() => void) | null = null

  constructor(by: object) {
    this.by = by
  }
}

/** Before something that may wait. */
export function beginPreparation(ex: Exchange, by: object): void {
  ex.serving = new Preparation(by)
  ex.onRetry = pause
}

/** True: an attempt begins, and what is under way by `by` goes on as that one. */
export function resumePreparation(ex: Exchange, by: object): boolean {
  const { serving } = ex
  if (!(serving instanceof Preparation) || serving.by !== by) return false
  serving.isPaused = false
  if (serving.step === null) ex.onRetry = pause
  else finish(ex, serving.step)
  return true
}

/** It is ready: does `step`, in the next attempt where this one has been given up. */
export function finishPreparation(ex: Exchange, step: () => void): void {
  const { serving } = ex
  if (serving instanceof Preparation && serving.isPaused) serving.step = step
  else finish(ex, step)
}

function finish(ex: Exchange, step: () => void): void {
  ex.serving = null
  ex.onRetry = null
  step()
}

function pause({ serving }: Exchange): void {
  if (serving instanceof Preparation) serving.isPaused = true
}
