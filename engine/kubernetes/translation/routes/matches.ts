/** Matches of HTTPRoute and GRPCRoute -> `matches` of a route in a file. */
import type { Path, Raw } from '#engine/schema/placed.ts'
import { type GrpcMatch, grpcPattern, type HttpMatch } from './fields.ts'
import type { RuleBuilder } from './rule-builder.ts'

type ValueMatch = NonNullable<HttpMatch['headers']>[number]

export function httpMatches(matches: readonly HttpMatch[] | undefined, rule: RuleBuilder): Raw {
  return matchesOf(matches, rule, ({ path, headers, queryParams, method }, add) => {
    if (path !== undefined) add('path', 'path', pathOf(path))
    if (method !== undefined) add('method', 'method', method)
    if (headers !== undefined)
      add(
        'headers',
        'headers',
        valuesOf(headers, (name) => name.toLowerCase())
      )
    if (queryParams !== undefined)
      add(
        'query',
        'queryParams',
        valuesOf(queryParams, (name) => name)
      )
  })
}

export function grpcMatches(matches: readonly GrpcMatch[] | undefined, rule: RuleBuilder): Raw {
  return matchesOf(matches, rule, ({ method, headers }, add) => {
    if (method !== undefined) add('path', 'method', grpcPath(method))
    if (headers !== undefined)
      add(
        'headers',
        'headers',
        valuesOf(headers, (name) => name.toLowerCase())
      )
  })
}

type Add = (key: string, from: string, value: unknown) => void

/** Nothing at all: every request. */
function matchesOf<T>(matches: readonly T[] | undefined, rule: RuleBuilder, write: (match: T, add: Add) => void): Raw {
  if (matches === undefined || matches.length === 0) return {}
  const written = matches.map((match, i) => {
    const value: Raw = {}
    const from: Path = [...rule.path, 'matches', i]
    rule.origin(['matches', i], from)
    write(match, (key, field, one) => {
      value[key] = one
      rule.origin(['matches', i, key], [...from, field])
    })
    return value
  })
  return { matches: written }
}

function pathOf({ type = 'PathPrefix', value = '/' }: NonNullable<HttpMatch['path']>): Raw {
  return { [PATH_KEYS[type]]: value }
}

const PATH_KEYS = { Exact: 'exact', PathPrefix: 'pathPrefix', RegularExpression: 'regex' } as const

/** Of several entries with a name only the first is considered (Gateway API, HTTPHeaderMatch). */
function valuesOf(all: readonly ValueMatch[], nameOf: (name: string) => string): Raw[] {
  const names = all.map(({ name }) => nameOf(name))
  const first = all.filter((_, i) => names.indexOf(names[i]!) === i)
  return first.map(({ type, name, value }) => ({
    name,
    value: type === 'RegularExpression' ? { regex: value } : { exact: value }
  }))
}

/** The path of a gRPC request is "/SERVICE/METHOD". */
function grpcPath({ type, service, method }: NonNullable<GrpcMatch['method']>): Raw {
  if (type === 'RegularExpression') return { regex: grpcPattern({ service, method }) }
  if (service === undefined) return { regex: grpcPattern({ method: escaped(method ?? '') }) }
  return method === undefined ? { pathPrefix: `/${service}` } : { exact: `/${service}/${method}` }
}

const escaped = (text: string): string => text.replace(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`)
