/** Rules of HTTPRoute and GRPCRoute -> routes in a file's spelling. */

import { patternSize } from '#engine/kit/pattern-size.ts'
import { keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault, RouteParts, RulePart } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import type { z } from '#engine/schema/schema.ts'
import { validate } from '#engine/source/validate.ts'
import { GRPC_RULE, HTTP_RULE, type WeightedRef } from './fields.ts'
import { translateFilters } from './filters.ts'
import { grpcMatches, httpMatches } from './matches.ts'
import { gatewayBackendName } from './names.ts'
import { pickingOf } from './pools.ts'
import { isPoolRef } from './references.ts'
import { type RouteContext, RuleBuilder } from './rule-builder.ts'

/** `rules`: as they were read. */
export function httpRules(rules: readonly unknown[], context: RouteContext): RouteParts {
  const { metadata } = context.route
  const name = gatewayBackendName(metadata.namespace ?? '', metadata.name)
  return translated(rules, context, HTTP_RULE, (rule, builder, ruleName) =>
    requestRule(rule, builder, { name, ruleName, ...httpMatches(rule.matches, builder) })
  )
}

/** Named apart from an HTTPRoute of the same name. */
export function grpcRules(rules: readonly unknown[], context: RouteContext): RouteParts {
  const { metadata } = context.route
  const name = `${gatewayBackendName(metadata.namespace ?? '', metadata.name)}_grpc`
  return translated(rules, context, GRPC_RULE, (rule, builder, ruleName) =>
    requestRule(rule, builder, { name, ruleName, ...grpcMatches(rule.matches, builder) })
  )
}

/** One rule after the other; those that are wrong are left out. */
export function translated<T extends z.ZodType>(
  rules: readonly unknown[],
  context: RouteContext,
  schema: T,
  translate: (rule: z.output<T>, builder: RuleBuilder, name: string) => RulePart
): RouteParts {
  const key = keyOf(context.route)
  const faults: Fault[] = []
  const taken = new Set(rules.map((rule) => (rule as { readonly name?: unknown } | null)?.name))
  const parts = rules.flatMap((raw, i): RulePart[] => {
    const path = ['spec', 'rules', i]
    const refuse = (at: Path, message: string) =>
      faults.push({ type: 'Accepted', reason: 'UnsupportedValue', message, place: { key, path: at } })
    const steps = expressionSteps(objectOf(raw).matches)
    if (steps > STEPS_MAX) {
      refuse([...path, 'matches'], `have expressions of ${steps} steps; a rule may have ${STEPS_MAX}`)
      return []
    }
    const outcome = validate(schema, raw, path)
    if ('findings' in outcome) {
      for (const { path: at, message } of outcome.findings) refuse(at, message)
      return []
    }
    const builder = new RuleBuilder(context, path)
    const rule = outcome.value as z.output<T> & { readonly name?: string | undefined }
    const unnamed = `rule${i}`
    const part = translate(rule, builder, rule.name ?? (taken.has(unnamed) ? `${unnamed}_` : unnamed))
    faults.push(...builder.faults)
    return [part]
  })
  return { rules: parts, faults }
}

/** Of a rule: expressions are compiled by the controller and by data planes, which others share. */
const STEPS_MAX = 5_000

/** What compiling all expressions costs. Known before one is compiled. */
function expressionSteps(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = objectOf(value)
  if (own.type !== 'RegularExpression') return Object.values(value).reduce((sum, one) => sum + expressionSteps(one), 0)
  const texts = [own.value, own.service, own.method].filter((one) => typeof one === 'string')
  return texts.reduce((sum, one) => sum + patternSize(one), 0)
}

type RequestRule = z.output<typeof HTTP_RULE> | z.output<typeof GRPC_RULE>

function requestRule(rule: RequestRule, builder: RuleBuilder, head: Raw): RulePart {
  const { filters, timeouts, backendRefs = [] } = rule
  const { policies, isRefused, answers } = translateFilters(
    filters,
    builder,
    [...builder.path, 'filters'],
    ['policies']
  )
  if (isRefused || !fits(policies, head, builder))
    return builder.part({ ...head, backends: [{ backend: builder.invalid('UnsupportedFilter') }] })
  const limits = timeoutsOf(timeouts)
  if (limits !== null) {
    policies.timeouts = limits
    builder.origin(['policies', 'timeouts'], [...builder.path, 'timeouts'])
  }
  const backends = answers ? [] : backendsOf(backendRefs, builder)
  return builder.part({
    ...head,
    ...(Object.keys(policies).length === 0 ? {} : { policies }),
    ...(answers ? {} : { backends })
  })
}

/** Only matches of type PathPrefix say what the prefix is that is to be replaced. */
function fits(policies: Raw, { matches }: Raw, builder: RuleBuilder): boolean {
  const replaces = ['urlRewrite', 'requestRedirect'].some(
    (name) => objectOf(objectOf(policies[name]).path).prefix !== undefined
  )
  const other = entriesOf(matches, [...builder.path, 'matches']).find(
    ({ raw }) => raw.path !== undefined && objectOf(raw.path).pathPrefix === undefined
  )
  if (!replaces || other === undefined) return true
  const message = 'replacePrefixMatch in a filter of the rule needs matches of type PathPrefix'
  builder.refuse('Accepted', 'UnsupportedValue', message, [...other.path, 'path', 'type'])
  return false
}

function timeoutsOf(timeouts: RequestRule['timeouts']): Raw | null {
  if (timeouts === undefined) return null
  const { request, backendRequest } = timeouts
  if (request === undefined && backendRequest === undefined) return null
  return {
    ...(request === undefined ? {} : { request }),
    ...(backendRequest === undefined ? {} : { backendRequest })
  }
}

/** Without any, or with none that gets traffic, all requests are answered with 500. */
function backendsOf(refs: readonly WeightedRef[], builder: RuleBuilder): Raw[] {
  const path = [...builder.path, 'backendRefs']
  if (refs.every(({ weight }) => weight === 0)) return [{ backend: builder.invalid('NoBackendRefs') }]
  return refs.map((ref, i) => {
    builder.origin(['backends', i], [...path, i])
    return backendOf(ref, i, builder, [...path, i])
  })
}

function backendOf({ weight = 1, filters, ...ref }: WeightedRef, i: number, builder: RuleBuilder, path: Path): Raw {
  const pool = isPoolRef(ref) ? builder.resolvePool(ref, path) : null
  const resolved = pool ?? builder.resolve(ref, path)
  const { policies, isRefused } = translateFilters(filters, builder, [...path, 'filters'], ['backends', i, 'policies'])
  if ('invalid' in resolved) return { backend: builder.use(resolved.invalid), weight }
  if (isRefused) return { backend: builder.invalid('UnsupportedFilter'), weight }
  if (pool !== null && 'picker' in pool && pool.picker !== null) {
    Object.assign(policies, pickingOf(pool))
    builder.use(pool.picker)
  }
  const more = Object.keys(policies).length === 0 ? {} : { policies }
  return { backend: builder.use(resolved.name), weight, ...more }
}
