/** Warns of guards of answers that say Reject: answers are always masked (docs/specification.md#prompt-guards). */
import type { Doubt } from '#engine/contract/backend-config.ts'
import { entriesOf, objectOf, type Placed } from '#engine/schema/placed.ts'

/** `holders`: what may have guards. */
export function uselessActions(holders: readonly Placed[]): Doubt[] {
  return holders.flatMap(({ raw, path }) => {
    const guards = entriesOf(objectOf(raw.promptGuard).response, [...path, 'promptGuard', 'response'])
    return guards.flatMap((guard) => {
      if (objectOf(guard.raw.regex).action !== 'Reject') return []
      const at = [...guard.path, 'regex', 'action']
      return [{ path: at, message: 'has no effect: what is found in an answer is always masked' }]
    })
  })
}
