/** Guards and routes of models that different places say. */

import type { AiRouteType } from '#backends/llm/config/snapshot.ts'
import type { PlacedPolicy, Report, ServingBind } from '#engine/contract/backend-config.ts'
import { objectOf, type Placed } from '#engine/schema/placed.ts'
import { unguardedRoute } from './guards.ts'

/** They must do together: what the backend has itself is seen by its schema. */
export function checkGuards(
  { raw, path }: Placed,
  policies: readonly PlacedPolicy[],
  _bind: ServingBind | null,
  report: Report
): void {
  const own = { value: raw.ai, path: [...path, 'ai'] }
  const settings = policies.findLast(({ field }) => field === 'ai')
  if (settings === undefined) return
  const owner = (key: string) => [own, settings].find(({ value }) => objectOf(value)[key] !== undefined)
  const guards = owner('promptGuard')
  const routes = objectOf(objectOf(owner('routes')?.value).routes)
  if (guards === undefined || (guards === own && owner('routes') === own)) return
  const known = Object.fromEntries(Object.entries(routes).filter(([, type]) => typeof type === 'string'))
  const unguarded = unguardedRoute(known as Record<string, AiRouteType>)
  if (unguarded === null) return
  const what = `prompt guards cannot see what passes as ${unguarded[1]} (route ${unguarded[0]})`
  report([...guards.path, 'promptGuard'], `${what}; that needs a backend without them`)
}
