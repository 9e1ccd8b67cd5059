/**
 * Encoded twins of a path. Every byte, raw and encoded, and sequences by which attackers write paths differently, at
 * every position of a path that a route or a rule denies: what passes must not be that path to any server which reads
 * paths as real ones do.
 */
import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { test } from 'node:test'
import { CONTINUE } from '#engine/contract/filter.ts'
import { PATH_DEFAULTS, type PathRules } from '#engine/http/path.ts'
import { routerOf } from '#engine/testing/build-router.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, runRequest } from '#engine/testing/policy.ts'
import { authorization } from './authorization.ts'

const DENIED = '/in/sec:ret'
/** Where a prefix denies, everything below is denied too. */
const BELOW = '/in'

// --- what servers read ---

const decodeAll = (path: string) => path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => byte(Number.parseInt(hex, 16)))
const byte = (code: number) => String.fromCharCode(code)
const resolved = (path: string) => posix.normalize(path)
const withoutParameters = (path: string) => path.replace(/;[^/]*/g, '')

const SERVERS: Readonly<Record<string, (path: string) => string>> = {
  'node, which compares what it gets': (path) => path,
  'python, which decodes': decodeAll,
  'nginx, which decodes, merges slashes and resolves dots': (path) => resolved(decodeAll(path)),
  'a file server, which resolves dots and decodes': (path) => decodeAll(resolved(path)),
  'Java, which leaves parameters out': (path) => resolved(decodeAll(withoutParameters(path))),
  'Windows, which has two slashes': (path) => resolved(decodeAll(path).replaceAll('\\', '/')),
  'one that resolves nothing': (path) => decodeAll(path.replace(/\/+/g, '/'))
}

// --- and those that stand behind each other ---

/** As gateways send on what they decoded: no escapes that frame a request, or would be decoded again, are undone. */
const decodedOn = (path: string) => path.replace(/%(?!25|3f|23|20|[01]|7f|[89a-f])[0-9a-f]{2}/gi, decodeAll)
const STAGES: Readonly<Record<string, (path: string) => string>> = {
  decodes: decodedOn,
  'strips parameters': withoutParameters,
  'resolves dots': resolved,
  'merges slashes': (path) => path.replace(/\/{2,}/g, '/'),
  'turns backslashes': (path) => path.replace(/\\|%5c/gi, '/'),
  'unescapes semicolons': (path) => path.replace(/%3b/gi, ';'),
  'unescapes slashes': (path) => path.replace(/%2f/gi, '/')
}

/** What the last of two or three servers, in any order, takes `path` for. */
function* staged(path: string): Generator<readonly [string, string]> {
  for (const [first, a] of Object.entries(STAGES)) {
    for (const [second, b] of Object.entries(STAGES)) {
      const twice = b(a(path))
      yield [`one that ${first}, then one that ${second}`, decodeAll(twice)]
      for (const [third, c] of Object.entries(STAGES)) {
        yield [`one that ${first}, then one that ${second}, then one that ${third}`, decodeAll(c(twice))]
      }
    }
  }
}

// --- what attackers send ---

const HOSTILE = [
  ...['//', '/./', '/../in/', '/x/../', '/%2e/', '/%2E%2e/in/', '/.//', '/..;/in/', ';x', ';x=1/', ';/', '%2F', '%2f'],
  ...['\\', '%5c', '/x%2F..%2f', '/x/..%2F', '%2f..%2fin%2f', '\\..\\in\\', '%00', '%0a', '%3b', '%3B/', '%20', '%09'],
  ...['%252F', '%252e', '%25%32%66', '%c0%af', '%c0%ae', '%e0%80%af', '%ff', '%u002f', '%', '%2', '%zz', '%%32%66', '+']
]
const BYTES = Array.from({ length: 128 }, (_, code) => `%${code.toString(16).padStart(2, '0')}`)
/** Bytes that transports let through in a target. */
const VISIBLE = BYTES.map((_, code) => byte(code)).filter((text) => /[!-"$->@-~]/.test(text))

function* twins(path: string): Generator<string> {
  yield [...path.slice(1)].reduce((out, c) => `${out}%${c.charCodeAt(0).toString(16)}`, '/')
  yield `%2f${path.slice(1)}`
  for (let at = 0; at <= path.length; at++) {
    const before = path.slice(0, at)
    for (const odd of [...HOSTILE, ...BYTES, ...VISIBLE]) {
      yield before + odd + path.slice(at)
      yield before + odd + path.slice(at + 1)
    }
    if (at === path.length) continue
    const code = path.charCodeAt(at).toString(16)
    for (const spelled of [`%${code}`, `%${code.toUpperCase()}`]) yield before + spelled + path.slice(at + 1)
  }
}

// --- what denies ---

/** An expression: it comes after every other route. */
const everything = { path: { regex: '.*' }, headers: [], query: [] }
const routeFor = (path: { exact: string } | { prefix: string } | { regex: string }) => ({
  name: 'denied',
  hostnames: [],
  matches: [{ path, headers: [], query: [] }]
})

/** Whether a request passes, and what a backend gets of it. */
type Passes = (path: string, rules: PathRules) => string | null

function byRoute(path: Parameters<typeof routeFor>[0]): Passes {
  const routes = [routeFor(path), { name: 'open', hostnames: [], matches: [everything] }]
  return (target, paths) => {
    const requests = { paths, headersWithUnderscores: 'keep' as const }
    const router = routerOf([{ port: 80, listeners: [{ name: 'l', hostname: '*', routes, requests }] }])
    const ex = fakeExchange({ target })
    return router.route(ex) === null && ex.route!.name === 'open' ? ex.path : null
  }
}

function byRule(rule: unknown): Passes {
  const compiled = compilePolicy(authorization, { rules: [rule] })
  const routes = [{ name: 'open', hostnames: [], matches: [everything] }]
  return (target, paths) => {
    const requests = { paths, headersWithUnderscores: 'keep' as const }
    const router = routerOf([{ port: 80, listeners: [{ name: 'l', hostname: '*', routes, requests }] }])
    const ex = fakeExchange({ target })
    return router.route(ex) === null && runRequest(compiled, ex) === CONTINUE ? ex.path : null
  }
}

const isDenied = (text: string) => text === DENIED
const isBelow = (text: string) => text === BELOW || text.startsWith(`${BELOW}/`)

const WAYS: readonly (readonly [string, Passes, (text: string) => boolean])[] = [
  ['an exact route', byRoute({ exact: DENIED }), isDenied],
  ['an exact route, encoded', byRoute({ exact: '/in/sec%3Aret' }), isDenied],
  ['a prefix', byRoute({ prefix: BELOW }), isBelow],
  ['an expression', byRoute({ regex: '/in/sec:.*' }), isDenied],
  ['a rule that compares', byRule({ deny: `request.path == "${DENIED}"` }), isDenied],
  ['a rule about what is below', byRule({ deny: `request.path.startsWith("${BELOW}/")` }), isDenied],
  ['a rule that requires', byRule({ require: `request.path != "${DENIED}"` }), isDenied],
  ['a rule that allows others', byRule(`!request.path.matches("${DENIED}")`), isDenied]
]

const KEPT = { ...PATH_DEFAULTS, backslashes: 'keep' } as const
const RULES: Readonly<Record<string, PathRules>> = {
  defaults: PATH_DEFAULTS,
  'everything kept': KEPT,
  'everything undone': {
    ...PATH_DEFAULTS,
    mergeSlashes: true,
    escapedSlashes: 'unescape',
    backslashes: 'unescape',
    parameters: 'strip'
  },
  'everything refused': {
    ...PATH_DEFAULTS,
    mergeSlashes: true,
    escapedSlashes: 'reject',
    parameters: 'reject',
    doubleEncoding: 'reject'
  }
}

for (const [way, passes, isHit] of WAYS) {
  test(`${way}: no twin reaches a backend as the denied path`, () => {
    for (const [name, rules] of Object.entries(RULES)) {
      for (const twin of twins(DENIED)) {
        const got = twin.startsWith('/') ? passes(twin, rules) : null
        if (got === null) continue
        for (const [server, read] of Object.entries(SERVERS)) {
          assert.ok(!isHit(read(got)), `${name}: ${JSON.stringify(twin)} passed as ${got}, to ${server}`)
        }
      }
    }
  })
}

test('a rule that allows what is below a path allows nothing that a server reads elsewhere', () => {
  const passes = byRule('request.path.startsWith("/in/")')
  for (const [name, rules] of Object.entries(RULES)) {
    for (const start of ['/in/a', '/a/in/b', '/in']) {
      for (const twin of twins(start)) {
        const got = twin.startsWith('/') ? passes(twin, rules) : null
        if (got === null) continue
        for (const [server, read] of Object.entries(SERVERS)) {
          assert.ok(read(got).startsWith('/in/'), `${name}: ${JSON.stringify(twin)} passed as ${got}, to ${server}`)
        }
      }
    }
  }
})

/** Ways of writing that take two steps to undo, in one order or the other. */
const TWO_STEPS = [
  ...[
    '/a/..%3B/',
    '/..%3b/',
    '/.%3Bx/',
    '%3Bx/',
    '%3b/',
    ';x%2F',
    ';x=1%2f',
    '%3Bx%2F',
    ';%5C',
    ';x%2F%2F',
    '/;x/',
    '/%3B/'
  ],
  ...[
    '/;%2F',
    '%2F;x/',
    '%2F%3Bx%2f',
    ';x%5Cy%5C..%2F',
    '/x;y/..%3B/',
    '/x%2F..;z/',
    '%5c%3B/',
    '//;x//',
    ';//%2F',
    '%2F/'
  ]
]

const BEHIND = '/in/secret'
const isBehind = (text: string) => text === BEHIND || text.startsWith(`${BEHIND}/`)
const FROM_TWO: readonly (readonly [string, Passes])[] = [
  ['a prefix', byRoute({ prefix: BEHIND })],
  ['a rule', byRule({ deny: `request.path == "${BEHIND}" || request.path.startsWith("${BEHIND}/")` })],
  ['a rule that allows others', byRule(`!(request.path + "/").startsWith("${BEHIND}/")`)]
]

for (const [way, passes] of FROM_TWO) {
  test(`${way}: no twin is the denied path to servers that stand behind each other`, () => {
    for (const [name, rules] of Object.entries(RULES)) {
      for (const odd of TWO_STEPS) {
        for (const twin of [`${odd}in/secret`, `/in${odd}secret`, `/in${odd}secret/x`, `/x${odd}in${odd}secret`]) {
          const got = twin.startsWith('/') ? passes(twin, rules) : null
          if (got === null) continue
          for (const [servers, text] of staged(got)) {
            assert.ok(!isBehind(text), `${name}: ${twin} passed as ${got}, to ${servers}`)
          }
        }
      }
    }
  })
}

test('paths that all servers read alike pass', () => {
  const passes = byRule({ deny: 'request.path.startsWith("/admin")' })
  const fine = [
    '/a',
    '/a%20b',
    '/caf%C3%A9',
    '/p/group%2Fproject',
    '/a;v=1',
    '/a%3Bv=1',
    '/a//b',
    '/.well-known/x',
    '/100%25',
    '/a:b@c'
  ]
  assert.deepEqual(
    fine.map((path) => passes(path, PATH_DEFAULTS)),
    fine
  )
})
