/** Sharing exchanges out among backends by weight. */
import type { Exchange } from '#engine/contract/exchange.ts'

type Serve = (ex: Exchange) => void

export interface Choice {
  /** Above zero. */
  readonly weight: number
  readonly serve: Serve
}

/**
 * Smooth weighted round robin: over any run of exchanges as long as the sum of the weights each
 * choice gets exactly its share, spread out evenly. No randomness, so no unlucky streaks.
 */
export function weighted(choices: readonly Choice[]): Serve {
  const total = choices.reduce((sum, choice) => sum + choice.weight, 0)
  const credits = choices.map(() => 0)
  return (ex) => {
    let best = 0
    for (let i = 0; i < choices.length; i++) {
      credits[i]! += choices[i]!.weight
      if (credits[i]! > credits[best]!) best = i
    }
    credits[best]! -= total
    choices[best]!.serve(ex)
  }
}
