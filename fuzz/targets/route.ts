/**
 * Path, header and query matchers against the naive reference. Input is text, so that the corpus can
 * be read and a mutation of one byte is a small change of a route or of the request:
 *
 *   route hostname path-kind path [method] [header:name=value] [query:name=value]
 *   field name value
 *   ask method authority target
 *
 * Lines that say nothing of this are skipped, as are routes that the build refuses.
 */
import assert from 'node:assert/strict'
import type { Problem } from '#engine/contract/config-error.ts'
import type { PathMatch, RouteMatch, ValueMatch } from '#engine/ir/snapshot.ts'
import { patternProblem } from '#engine/kit/pattern.ts'
import { routerOf } from '#engine/testing/build-router.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { referenceRoute } from '#engine/testing/reference-router.ts'

export const name = 'route'

const LINES_MAX = 64
const ROUTES_MAX = 16
const EXPRESSION_MAX = 64

interface Named {
  readonly name: string
  readonly value: ValueMatch
}
interface Input {
  readonly routes: { name: string; hostnames: string[]; matches: RouteMatch[] }[]
  readonly headers: [name: string, value: string][]
  readonly asks: [method: string, authority: string, target: string][]
}

export function run(data: Buffer): void {
  const input = parse(data.toString('latin1'))
  const listeners = [{ name: 'all', hostname: '*', routes: input.routes }]
  const problems: Problem[] = []
  const router = routerOf([{ port: 80, listeners }], problems)
  assert.deepEqual(problems, [])
  for (const [method, authority, target] of input.asks) {
    const ex = fakeExchange({ method, authority, target, headers: input.headers })
    const code = router.route(ex)
    const answer = referenceRoute(listeners, ex)
    if (typeof answer === 'string') assert.equal(code, answer)
    else {
      assert.equal(code, null)
      assert.equal(ex.route!.name, input.routes[answer.route]!.name)
      assert.equal(ex.matchIndex, answer.match)
    }
  }
}

function parse(text: string): Input {
  const input: Input = { routes: [], headers: [], asks: [] }
  for (const line of text.split('\n').slice(0, LINES_MAX)) {
    const [word, ...rest] = line.split(' ')
    const [first = '', second = '', ...others] = rest
    if (word === 'field' && isToken(first)) input.headers.push([first, line.slice(7 + first.length).trim()])
    else if (word === 'ask' && isHost(second)) input.asks.push([first, second, others.join(' ')])
    else if (word === 'route' && input.routes.length < ROUTES_MAX) {
      const path = parsePath(second, others[0] ?? '')
      if (path === null || !isHost(first.replace(/^\*\.?/, ''))) continue
      const routeName = String(input.routes.length)
      input.routes.push({
        name: routeName,
        hostnames: [first],
        matches: [{ path, ...parseConditions(others.slice(1)) }]
      })
    }
  }
  return input
}

function parsePath(kind: string, path: string): PathMatch | null {
  if (kind === 'regex') return isExpression(path) ? { regex: path } : null
  if (!path.startsWith('/')) return null
  return kind === 'exact' ? { exact: path } : { prefix: path }
}

function parseConditions(words: readonly string[]): Omit<RouteMatch, 'path'> {
  const headers: Named[] = []
  const query: Named[] = []
  let method: string | undefined
  for (const word of words) {
    const [, side, key, value] = /^(header|query):([^=]+)=(.*)$/.exec(word) ?? []
    if (side === 'header' && isToken(key!) && key !== 'host')
      headers.push({ name: key!.toLowerCase(), value: valueSpec(value!) })
    else if (side === 'query') query.push({ name: key!, value: valueSpec(value!) })
    else if (word !== '') method = word
  }
  return method === undefined ? { headers, query } : { headers, query, method }
}

/** "~x" is an expression, anything else is compared as it is. */
function valueSpec(text: string): ValueMatch {
  return text.startsWith('~') && isExpression(text.slice(1)) ? { regex: text.slice(1) } : { exact: text }
}

function isExpression(text: string): boolean {
  return text.length <= EXPRESSION_MAX && patternProblem(text) === null
}

/** Transports let no other field names and authorities through. */
function isToken(text: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/.test(text)
}
function isHost(text: string): boolean {
  return /^[a-z0-9-]*(?:\.[a-z0-9-]+)*$/.test(text) && text.length < 250
}
