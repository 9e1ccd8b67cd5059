/** What is spoken where (docs/specification.md#policies-for-models). */

import type { AiBackend, AiRouteType } from '#backends/llm/config/snapshot.ts'
import { CLIENT_FORMATS } from '#backends/llm/formats/index.ts'
import { OPERATIONS } from '#backends/llm/routes/operations.ts'
import { cel, enforcedAs } from '#engine/schema/rule.ts'
import { map, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'

const ROUTES_MAX = 64
const SUFFIX_MAX = 1024

const ROUTE_TYPES: readonly AiRouteType[] = [
  ...CLIENT_FORMATS.map(({ routeType }) => routeType),
  ...OPERATIONS.map(({ type }) => type),
  'Passthrough'
]

/** As the closest peer's file writes them. */
const IN_CAMEL_CASE: ReadonlyMap<string, AiRouteType> = new Map(
  ROUTE_TYPES.map((type) => [type[0]!.toLowerCase() + type.slice(1), type])
)

const routeType = inResources(
  z
    .enum([...ROUTE_TYPES, ...IN_CAMEL_CASE.keys()], { error: `must be one of ${ROUTE_TYPES.join(', ')}` })
    // The enum takes these two forms and no other.
    .transform((word) => IN_CAMEL_CASE.get(word) ?? (word as AiRouteType)),
  z.enum(ROUTE_TYPES)
)

const SUFFIXES = cel("self.all(suffix, suffix == '*' || !suffix.contains('*'))", {
  message: 'must have suffixes of paths, none of which has a *, or * itself'
})

export const routes = () =>
  map(z.string().min(1).max(SUFFIX_MAX), routeType, 0, ROUTES_MAX)
    .superRefine((named, context) => {
      for (const suffix of Object.keys(named)) {
        if (suffix === '*' || !suffix.includes('*')) continue
        const message = `is a suffix of paths, and none has a *: write ${suffix.replace(/^.*\*/, '') || '*'}`
        context.addIssue({ code: 'custom', path: [suffix], message })
      }
    }, enforcedAs(SUFFIXES))
    .describe('Path suffix, or * -> what is spoken there. Default: Completions everywhere.')

export type FileRoutes = Readonly<Record<string, AiRouteType>>

/** The longest suffix decides; "*" is for what no other ends with. */
export function translateRoutes(input: FileRoutes): AiBackend['routes'] {
  const list = Object.entries(input).map(([suffix, type]) => ({ suffix, type }))
  return list.sort((a, b) => Number(a.suffix === '*') - Number(b.suffix === '*') || b.suffix.length - a.suffix.length)
}
