/** A configuration value that is put together from parts, and which object each place of it came from. */
import type { Path } from '#engine/schema/placed.ts'
import { placeText } from './conditions.ts'
import type { ObjectPlace, PartOrigin } from './parts.ts'

/** Places by their steps: a value of one object may have 50,000 places, and as many findings. */
interface Step {
  place: ObjectPlace | null
  readonly below: Map<string, Step>
}

export class Sections {
  readonly #top: Step = newStep()

  /** What stands at `at` came from there. */
  add(at: Path, origins: readonly PartOrigin[]): void {
    if (origins.length === 0) return
    const start = stepAt(this.#top, at)
    for (const [inner, from] of origins) stepAt(start, inner).place = from
  }

  /** As the nearest known place around it says. */
  placeOf(path: Path): ObjectPlace | null {
    let step: Step | undefined = this.#top
    let best = step.place
    let length = 0
    for (const [i, key] of path.entries()) {
      step = step.below.get(String(key))
      if (step === undefined) break
      if (step.place === null) continue
      best = step.place
      length = i + 1
    }
    return best === null ? null : { key: best.key, path: [...best.path, ...path.slice(length)] }
  }

  textOf(path: Path): string {
    const place = this.placeOf(path)
    return place === null ? 'another place' : placeText(place)
  }
}

const newStep = (): Step => ({ place: null, below: new Map() })

function stepAt(start: Step, path: Path): Step {
  let step = start
  for (const key of path) {
    const name = String(key)
    const next = step.below.get(name) ?? newStep()
    step.below.set(name, next)
    step = next
  }
  return step
}
