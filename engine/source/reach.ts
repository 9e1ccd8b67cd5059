/** What is matched and read, and no request ever has: by `paths` and `headersWithUnderscores` of the listener. */

import { decodedPath, normalPath, PATH_KEPT, type PathRules, readingsOf } from '#engine/http/path.ts'
import type { RequestRules } from '#engine/http/request-rules.ts'
import { entriesOf, objectOf, type Path, type Raw, valueAt } from '#engine/schema/placed.ts'
import { requestFields, translateRequestRules } from '#engine/schema/request-rules.ts'
import { z } from '#engine/schema/schema.ts'
import { type ConfigTree, type Finding, listenersOf } from './tree.ts'

const settings = z.object(requestFields)

/** Of a listener as read; the defaults where it is wrong, which another check reports. */
function rulesOf(raw: Raw): RequestRules {
  const result = settings.safeParse(raw)
  return translateRequestRules(result.success ? result.data : {})
}

// --- paths ---

/** Why a path of a match is never that of a request, and what to write. */
type Refusal = Pick<Finding, 'message' | 'hint'>

export function checkMatchPaths(tree: ConfigTree): Finding[] {
  return listenersOf(tree).flatMap((listener) => {
    const { paths } = rulesOf(listener.raw)
    const matches = listener.routes.flatMap(({ raw, path }) => entriesOf(raw.matches, [...path, 'matches']))
    return matches.flatMap(({ raw, path }) =>
      Object.entries(objectOf(raw.path)).flatMap(([kind, value]): Finding[] => {
        if (typeof value !== 'string') return []
        const refusal = kind === 'regex' ? refuseRegex(value) : refusePath(value, paths)
        return refusal === null ? [] : [{ path: [...path, 'path', kind], at: 'value', ...refusal }]
      })
    )
  })
}

/** `rules` in which nothing is rejected. */
const KEYS = ['escapedSlashes', 'backslashes', 'parameters', 'doubleEncoding', 'invalidUtf8'] as const

function refusePath(path: string, rules: PathRules): Refusal | null {
  if (!path.startsWith('/')) return null
  if (/%(?![0-9a-f]{2})/i.test(path)) {
    return { message: 'has a % that begins no escape', hint: 'write %25 for the sign itself' }
  }
  if (normalPath(path, PATH_KEPT) === null) {
    return { message: 'is no path of a request: those with escapes of control characters are refused', hint: undefined }
  }
  const normal = normalPath(path, rules)
  if (normal === null) {
    const key = KEYS.find((name) => normalPath(path, { ...rules, [name]: 'keep' }) !== null)
    const hint = key === undefined ? undefined : `set paths.${key}: keep on the listener`
    return { message: 'is never matched: paths of this listener has every request for it refused', hint }
  }
  if (readingsOf(normal.path) === null) {
    return { message: 'is never matched: some servers read dot segments in it, and it is refused', hint: undefined }
  }
  if (decodedPath(normal.path) === decodedPath(path)) return null
  return { message: `is never matched: requests for it come as ${normal.path}`, hint: `write ${normal.path}` }
}

const META = /[\\^$.*+?()[\]{}|]/g

/** With what makes a "%25" stay (decodedPath). */
const ESCAPED = /(?:%(?:25)+(?:2f|[89a-f][0-9a-f])|%[0-9a-f]{2})+/gi

/** Expressions see the decoded path. */
function refuseRegex(regex: string): Refusal | null {
  const isAnyCase = /\(\?[a-zA-Z]*i/.test(regex)
  const formed = regex.replace(ESCAPED, (run) => {
    const text = decodedPath(run)
    const isSame = text === run || (isAnyCase && text.toLowerCase() === run.toLowerCase())
    return isSame ? run : text.replace(META, '\\$&')
  })
  if (formed === regex) return null
  const hint = `write ${formed}, and [%] for a % of the decoded path`
  return { message: 'is compared with the decoded path, which has no such escape', hint }
}

// --- header names ---

interface Named {
  readonly name: string
  readonly path: Path
}

const IN_EXPRESSION =
  /\brequest\.headers(?:\.|\[\s*["'])([\w-]*_[\w-]*)|["']([\w-]*_[\w-]*)["']\s+in\s+request\.headers\b/g
/** Lists of the names of fields that requests have. */
const LISTS: ReadonlySet<PropertyKey> = new Set(['allowHeaders', 'forwardHeaders'])

/** Names of header fields with "_" that are read where such fields do not arrive. */
export function underscoreWarnings(tree: ConfigTree): Finding[] {
  const { raw } = tree.top
  const losing = listenersOf(tree).filter(({ raw }) => rulesOf(raw).headersWithUnderscores !== 'keep')
  if (losing.length === 0) return []
  // What stands above all listeners is read on those too that lose such fields.
  const above = ['policies', 'frontendPolicies', 'backends'].flatMap((key) => namesIn(raw[key], [key]))
  const below = losing.flatMap(({ path }) => namesIn(valueAt(raw, path), path))
  return [...above, ...below].map(({ name, path }) => {
    const message =
      `"${name}" never arrives: requests lose fields with "_" in their names, or are refused; ` +
      `set headersWithUnderscores: keep on the listener, or call it ${name.replaceAll('_', '-')}`
    return { path, message, at: 'value' }
  })
}

function namesIn(value: unknown, path: Path): Named[] {
  if (typeof value === 'string') {
    if (!value.includes('_')) return []
    if (isFieldName(path)) return [{ name: value, path }]
    return [...value.matchAll(IN_EXPRESSION)].map(([, read, quoted]) => ({ name: (read ?? quoted)!, path }))
  }
  if (Array.isArray(value)) return value.flatMap((item: unknown, i) => namesIn(item, [...path, i]))
  return Object.entries(objectOf(value)).flatMap(([key, inner]) => namesIn(inner, [...path, key]))
}

/** location.header.name, matches[0].headers[0].name, cors.allowHeaders[0] */
function isFieldName(path: Path): boolean {
  const [last, before, list, outer] = path.slice(-4).reverse()
  if (typeof last === 'number') return LISTS.has(before!)
  if (last !== 'name') return false
  if (before === 'header') return list === 'location'
  return list === 'headers' && path.at(-5) === 'matches' && outer !== undefined
}
