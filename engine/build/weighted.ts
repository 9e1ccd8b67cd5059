/** Sharing exchanges out among backends by weight. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { FOLLOWED, type SharingBackend } from '#engine/contract/tracing.ts'

type Serve = (ex: Exchange) => void

/** `weight` is above zero. */
export interface Choice extends SharingBackend {
  readonly serve: Serve
}

/** Chooses among what takes part; null when nothing does. */
export type Rotation<T> = (takesPart: (choice: T) => boolean) => T | null

/**
 * Smooth weighted round robin: over any run of turns as long as the sum of the weights each choice gets
 * exactly its share, spread out evenly. No randomness, so no unlucky streaks.
 */
export function rotationOf<T extends { readonly weight: number }>(choices: readonly T[]): Rotation<T> {
  const credits = choices.map(() => 0)
  return (takesPart) => {
    let total = 0
    let best = -1
    for (let i = 0; i < choices.length; i++) {
      const choice = choices[i]!
      if (!takesPart(choice)) continue
      total += choice.weight
      credits[i]! += choice.weight
      if (best < 0 || credits[i]! > credits[best]!) best = i
    }
    if (best < 0) return null
    credits[best]! -= total
    return choices[best]!
  }
}

/**
 * By turns (turnsOf). A choice that cannot be reached is left out until it may be tried again, and the others
 * share its part; when none can be reached all take part, because trying beats refusing. Another attempt of
 * the same exchange goes to a choice that it has not tried, if there is one that can be reached.
 */
export function weighted(choices: readonly Choice[]): Serve {
  const next = rotationOf(choices)
  return (ex) => {
    const { retry } = ex
    if (retry === null) {
      const choice = next(isUsable) ?? next(always)!
      if (ex.slots !== null) FOLLOWED.get(ex)?.backendDrawn(choices, choice)
      choice.serve(ex)
      return
    }
    // What has failed this very exchange comes last. A closure for each retry, and none without the policy.
    const { tried } = retry
    const fresh = tried.length === 0 ? null : next((choice) => !tried.includes(choice) && choice.isUsable())
    const choice = fresh ?? next(isUsable) ?? next(always)!
    tried.push(choice)
    if (ex.slots !== null) FOLLOWED.get(ex)?.backendDrawn(choices, choice)
    choice.serve(ex)
  }
}

export const isUsable = (choice: Choice): boolean => choice.isUsable()
const always = (): boolean => true
