/** The routes of a listener. Those at both ends of the list that stay are not looked at: there may be thousands. */
import type { DialectFinder } from '#engine/contract/exchange.ts'
import type { Route } from '#engine/contract/route.ts'
import type { RouteSpec } from '#engine/ir/snapshot.ts'
import { Alignment } from '#engine/kit/alignment.ts'
import { commonEnds } from '#engine/kit/same-list.ts'
import type { KnownRoute } from './build-cache.ts'
import { type RoutePart, UsedParts } from './used-parts.ts'

export interface RouteList {
  readonly specs: readonly RouteSpec[]
  /** As `specs`. */
  readonly routes: readonly KnownRoute[]
  readonly served: readonly Route[]
  /** Of the routes, each once, in their order. */
  readonly dialects: readonly DialectFinder[]
  readonly used: UsedParts
  /** Routes that may stand elsewhere than before: from the first index to before the second. */
  readonly moved: readonly [from: number, until: number]
}

export interface RouteMaker {
  /** Everything that routes have around them is as before; null: not everything. What a part would be made of again. */
  readonly stays: ((part: RoutePart) => boolean) | null
  /** Takes a part over into the build under way. */
  readonly take: (part: RoutePart) => void
  /** `known`: what was made of the same spec before. */
  readonly make: (spec: RouteSpec, index: number, known: KnownRoute | undefined) => KnownRoute
}

const NO_ENDS = { start: 0, end: 0 }
export const NO_ROUTES: RouteList = {
  specs: [],
  routes: [],
  served: [],
  dialects: [],
  used: new UsedParts(),
  moved: [0, 0]
}

/** `before`: of the configuration before. */
export function routeList(before: RouteList, specs: readonly RouteSpec[], maker: RouteMaker): RouteList {
  const { start, end } = staying(before, specs, maker)
  const isWhole = start + end === 0
  const used = isWhole ? new UsedParts() : before.used
  const last = before.routes.length - end
  const gone = before.routes.slice(start, last)
  const changed = specs.slice(start, specs.length - end)
  const alignment = new Alignment(before.specs.slice(start, last), changed)
  const made = changed.map((spec, i) => maker.make(spec, start + i, gone[alignment.placeOf(i)]))
  for (const route of made) used.add(route)
  const routes = spliced(before.routes, start, end, made)
  const served = spliced(
    before.served,
    start,
    end,
    made.map(({ route }) => route)
  )
  const hasDialect = [...gone, ...made].some(({ dialect }) => dialect !== null)
  const dialects = hasDialect || isWhole ? dialectsOf(routes) : before.dialects
  const isInPlace = specs.length === before.specs.length
  return { specs, routes, served, dialects, used, moved: [start, isInPlace ? specs.length - end : specs.length] }
}

/** How many routes at both ends are as before, with all that they are made of, which is taken over. */
function staying(before: RouteList, specs: readonly RouteSpec[], { stays, take }: RouteMaker): typeof NO_ENDS {
  if (stays === null) return NO_ENDS
  const { start, end } = commonEnds(before.specs, specs)
  const { used } = before
  used.begin(before.routes.slice(start, before.routes.length - end))
  if (used.hasImmovable) return NO_ENDS
  const parts = [...used.all()]
  if (!parts.every(stays)) return NO_ENDS
  for (const part of parts) take(part)
  return { start, end }
}

function spliced<T>(list: readonly T[], start: number, end: number, between: readonly T[]): readonly T[] {
  return list.slice(0, start).concat(between, list.slice(list.length - end))
}

function dialectsOf(routes: readonly KnownRoute[]): readonly DialectFinder[] {
  return [...new Set(routes.flatMap(({ dialect }) => dialect ?? []))]
}
