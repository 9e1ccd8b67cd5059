/** Filters of HTTPRoute and GRPCRoute -> policies in a file's spelling. */
import type { Path, Raw } from '#engine/schema/placed.ts'
import type { HeaderFilter, PathModifier, RouteFilter } from './fields.ts'
import type { RuleBuilder } from './rule-builder.ts'

/** Longest that a policy takes; browsers keep answers to preflights for hours at most. */
const MAX_AGE_S = 31_536_000

/** One value of a policy: where it goes, and the field of the filter that it came from. */
interface Written {
  readonly at: Path
  readonly from: Path
  readonly value: unknown
}

type Translate = (filter: RouteFilter, rule: RuleBuilder, path: Path) => readonly Written[] | string

interface FilterType {
  /** The field of the filter. */
  readonly field: keyof RouteFilter
  /** A rule may have several. */
  readonly repeats?: true
  /** A rule with it needs no backends. */
  readonly answers?: true
  /** Of a filter that has the field; a text: what is wrong with it. */
  readonly translate: Translate
}

const FILTERS: Readonly<Record<string, FilterType>> = {
  RequestHeaderModifier: {
    field: 'requestHeaderModifier',
    translate: ({ requestHeaderModifier: value }) => headers(['headerModifiers', 'request'], value!)
  },
  ResponseHeaderModifier: {
    field: 'responseHeaderModifier',
    translate: ({ responseHeaderModifier: value }) => headers(['headerModifiers', 'response'], value!)
  },
  URLRewrite: {
    field: 'urlRewrite',
    translate: ({ urlRewrite }) => {
      const { hostname, path } = urlRewrite!
      return [
        ...field(['urlRewrite', 'authority', 'full'], ['hostname'], hostname),
        ...pathModifier('urlRewrite', path)
      ]
    }
  },
  RequestRedirect: {
    field: 'requestRedirect',
    answers: true,
    translate: ({ requestRedirect }) => {
      const { scheme, hostname, path, port, statusCode } = requestRedirect!
      return [
        ...field(['requestRedirect', 'scheme'], ['scheme'], scheme),
        ...field(['requestRedirect', 'hostname'], ['hostname'], hostname),
        ...field(['requestRedirect', 'port'], ['port'], port),
        ...pathModifier('requestRedirect', path),
        ...field(['requestRedirect', 'status'], ['statusCode'], statusCode ?? 302)
      ]
    }
  },
  RequestMirror: {
    field: 'requestMirror',
    repeats: true,
    translate: ({ requestMirror }, rule, path) => {
      const { backendRef, percent, fraction } = requestMirror!
      const resolved = rule.resolve(backendRef, [...path, 'requestMirror', 'backendRef'])
      // Nothing is mirrored to what is not there (Gateway API, HTTPRequestMirrorFilter).
      if ('fault' in resolved) return []
      const share = percent === undefined ? (fraction === undefined ? {} : { fraction }) : { percent }
      return field(['requestMirror'], [], { backend: { backend: rule.use(resolved.name) }, ...share })
    }
  },
  CORS: {
    field: 'cors',
    translate: ({ cors }) => {
      const { allowOrigins = [], maxAge, ...others } = cors!
      if (allowOrigins.length === 0) return 'has no allowOrigins: say which sites may read answers'
      const seconds = maxAge === undefined ? {} : { maxAge: Math.min(maxAge, MAX_AGE_S) }
      return field(['cors'], [], { allowOrigins, ...defined(others), ...seconds })
    }
  }
}

export interface TranslatedFilters {
  /** In a file's spelling. */
  readonly policies: Raw
  /** Some filter cannot be carried out: requests must not pass without it. */
  readonly isRefused: boolean
  /** No backend is asked. */
  readonly answers: boolean
}

/** `path`: of the list. `at`: of the policies in the rule. */
export function translateFilters(
  filters: readonly RouteFilter[] | undefined,
  rule: RuleBuilder,
  path: Path,
  at: Path
): TranslatedFilters {
  const policies: Raw = {}
  const seen = new Set<string>()
  let isRefused = false
  let answers = false
  const refuse = (reason: string, message: string, place: Path): void => {
    isRefused = true
    rule.refuse('Accepted', reason, message, place)
  }
  for (const [i, filter] of (filters ?? []).entries()) {
    const here = [...path, i]
    const type = Object.hasOwn(FILTERS, filter.type) ? FILTERS[filter.type]! : null
    const problem = problemOf(filter, type, seen)
    if (problem !== null || type === null) {
      refuse(problem?.reason ?? UNSUPPORTED, problem?.message ?? unknown(filter), here)
      continue
    }
    seen.add(filter.type)
    answers ||= type.answers === true
    const written = type.translate(filter, rule, here)
    if (typeof written === 'string') {
      refuse(UNSUPPORTED, `${type.field} ${written}`, [...here, type.field])
      continue
    }
    for (const { at: target, from, value } of written) {
      const stood = write(policies, target, value, type.repeats === true)
      rule.origin([...at, ...stood], [...here, type.field, ...from])
    }
  }
  return { policies, isRefused, answers }
}

const UNSUPPORTED = 'UnsupportedValue'
const INCOMPATIBLE = 'IncompatibleFilters'

function problemOf(
  filter: RouteFilter,
  type: FilterType | null,
  seen: ReadonlySet<string>
): { readonly reason: string; readonly message: string } | null {
  if (type === null) return { reason: UNSUPPORTED, message: unknown(filter) }
  if (filter[type.field] === undefined)
    return { reason: UNSUPPORTED, message: `a filter of type ${filter.type} needs ${type.field}` }
  if (seen.has(filter.type) && type.repeats !== true)
    return { reason: INCOMPATIBLE, message: `there is another ${filter.type} already: put them together` }
  const other = filter.type === 'URLRewrite' ? 'RequestRedirect' : filter.type === 'RequestRedirect' ? 'URLRewrite' : ''
  if (!seen.has(other)) return null
  return { reason: INCOMPATIBLE, message: 'a request is redirected or rewritten, not both: keep one of the filters' }
}

function unknown({ type, extensionRef }: RouteFilter): string {
  if (extensionRef === undefined) return `${type} is no filter that is known here`
  const { group, kind } = extensionRef
  return `${group}/${kind} is no filter: use a GatewayPolicy with this route as its target`
}

/** Puts `value` at its place; in a list, behind what is there. Returns the place. */
function write(policies: Raw, at: Path, value: unknown, isList: boolean): Path {
  let holder = policies
  for (const key of at.slice(0, -1)) {
    const inner = (holder[String(key)] ?? {}) as Raw
    holder[String(key)] = inner
    holder = inner
  }
  const last = String(at.at(-1))
  if (!isList) {
    holder[last] = value
    return at
  }
  const all = (holder[last] ?? []) as unknown[]
  all.push(value)
  holder[last] = all
  return [...at, all.length - 1]
}

function field(at: Path, from: Path, value: unknown): Written[] {
  return value === undefined ? [] : [{ at, from, value }]
}

function pathModifier(policy: string, modifier: PathModifier | undefined): Written[] {
  if (modifier === undefined) return []
  const { type, replaceFullPath = '/', replacePrefixMatch = '' } = modifier
  return type === 'ReplaceFullPath'
    ? field([policy, 'path', 'full'], ['path', 'replaceFullPath'], replaceFullPath)
    : field([policy, 'path', 'prefix'], ['path', 'replacePrefixMatch'], replacePrefixMatch)
}

/** Of several entries with a name only the first is considered (Gateway API, HTTPHeaderFilter). */
function headers(at: Path, { set = [], add = [], remove = [] }: HeaderFilter): Written[] {
  const firstOf = <T extends { readonly name: string }>(all: readonly T[]) =>
    all.filter(({ name }, i) => all.findIndex((one) => one.name === name) === i)
  const value = { set: firstOf(set), add: firstOf(add), remove }
  const entries = Object.entries(value).filter(([, all]) => all.length > 0)
  return entries.length === 0 ? [] : field(at, [], Object.fromEntries(entries))
}

/** Without what is not there. */
function defined(value: Raw): Raw {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))
}
