/** Checks over several fields of an object, in the same run as those of the fields themselves. */
import type { Enforcement } from './rule.ts'
import { z } from './schema.ts'

type Payload = z.core.ParsePayload<unknown>

/**
 * For `when` of a refinement over an object: its value is an object, and none of `keys` has a mistake of its own. The
 * library's own rule is that nothing has, so that a user would see these mistakes only in a second run.
 */
export const sound =
  (...keys: readonly string[]) =>
  ({ value, issues }: Payload): boolean =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !issues.some(({ path = [] }) => path.length > 0 && keys.includes(String(path[0])))

/**
 * A check that runs whenever `keys` are sound. The value is typed as if all of the object were. `enforced`: what an API
 * server checks of it (rule.ts).
 */
export function together<T>(
  keys: readonly string[],
  check: (payload: z.core.ParsePayload<T>) => void,
  enforced?: Enforcement
): z.core.$ZodCheck<T> {
  const settings = { when: sound(...keys), params: enforced } as never
  return z.core._check(check as (payload: Payload) => void, settings) as z.core.$ZodCheck<T>
}
