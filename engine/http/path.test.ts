import { deepEqual, equal, ok } from 'node:assert/strict'
import { it } from 'node:test'
import { assertLinear } from '#engine/testing/cpu.ts'
import {
  decodedPath,
  isPlainPath,
  lengthOfPrefix,
  normalPath,
  PATH_DEFAULTS,
  PATH_KEPT,
  type PathRules,
  readingsOf
} from './path.ts'

/** As a backend gets it; "-> " before what the client has to ask for; null: refused. */
function sent(path: string, rules: Partial<PathRules> = {}): string | null {
  const normal = normalPath(path, { ...PATH_DEFAULTS, ...rules })
  if (normal === null) return null
  return normal.isElsewhere ? `-> ${normal.path}` : normal.path
}

it('decodes what was encoded for no reason, resolves dot segments, and nothing else', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['/', '/'],
    ['/a/../b', '/b'],
    ['/../../a', '/a'],
    ['/a/%2e%2E', '/'],
    ['/a/.', '/a/'],
    ['/a/.../b', '/a/.../b'],
    ['//a/../b', '//b'],
    ['/a.b/%41', '/a.b/A'],
    ['/%61%64min/%7e%5F%2d%39', '/admin/~_-9'],
    ['/a/%2561', '/a/%2561'],
    ['/a%2fb%3F%23%40%5B%60%7B', '/a%2fb%3F%23%40%5B%60%7B'],
    ['/caf%c3%a9%20a', '/caf%c3%a9%20a'],
    ['/a;b=c/d', '/a;b=c/d']
  ]
  for (const [path, expected] of cases) equal(sent(path), expected, path)
})

it('refuses what no path has', () => {
  for (const path of ['/%zz', '/%4', '/%', '/%%32e', '/%00', '/a%0d%0Ab', '/%1F', '/%7f', '/%u0061']) {
    equal(sent(path, { backslashes: 'keep', invalidUtf8: 'keep' }), null, path)
  }
})

it('does with each ambiguity what the listener says', () => {
  const cases: readonly (readonly [string, Partial<PathRules>, string | null])[] = [
    ['/a//b', {}, '/a//b'],
    ['/a//b///c', { mergeSlashes: true }, '/a/b/c'],
    ['/a//../b', {}, '/a/b'],
    ['/a//../b', { mergeSlashes: true }, '/b'],
    ['/a%2Fb', {}, '/a%2Fb'],
    ['/a%2fb', { escapedSlashes: 'reject' }, null],
    ['/a%2fb', { escapedSlashes: 'redirect' }, '-> /a/b'],
    ['/a%2f..%2fb', { escapedSlashes: 'unescape' }, '/b'],
    ['/a%252fb', { escapedSlashes: 'unescape' }, '/a%252fb'],
    ['/a\\b', {}, null],
    ['/a%5Cb', {}, null],
    ['/a\\b%5cc', { backslashes: 'keep' }, '/a%5Cb%5cc'],
    ['/a\\..%5cb', { backslashes: 'unescape' }, '/b'],
    ['/a\\b', { backslashes: 'redirect' }, '-> /a/b'],
    ['/a;x=1/b;y', { parameters: 'strip' }, '/a/b'],
    ['/a/..;/b', { parameters: 'strip' }, '/b'],
    ['/a;x', { parameters: 'reject' }, null],
    ['/a%3Bx=1/b%3by', {}, '/a%3Bx=1/b%3by'],
    ['/a%3Bx=1/b%3by;z', { parameters: 'strip' }, '/a/b'],
    ['/a/..%3B/b', { parameters: 'strip' }, '/b'],
    ['/a%3bx', { parameters: 'reject' }, null],
    ['/%252e%252e/a', {}, '/%252e%252e/a'],
    ['/%25%32%65/a', { doubleEncoding: 'reject' }, null],
    ['/100%25', { doubleEncoding: 'reject' }, '/100%25'],
    ['/%FF', {}, null],
    ['/%c0%af', {}, null],
    ['/%ed%a0%80', {}, null],
    ['/%FF', { invalidUtf8: 'keep' }, '/%FF']
  ]
  for (const [path, rules, expected] of cases) equal(sent(path, rules), expected, `${path} ${JSON.stringify(rules)}`)
})

it('decodes once, as text', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['/a', '/a'],
    ['/a%20b%3a%40', '/a b:@'],
    ['/caf%C3%A9/%f0%9f%98%80', '/café/😀'],
    ['/a%2fb', '/a%2Fb'],
    ['/a%252fb', '/a%252fb'],
    ['/a%25252Fb%253a', '/a%25252Fb%3a'],
    ['/x%25FF%ff', '/x%25FF%FF'],
    ['/a%5cb', '/a\\b'],
    ['/%40%ff%C3%a9', '/@%FF%C3%A9'],
    ['/100%', '/100%']
  ]
  for (const [path, expected] of cases) equal(decodedPath(path), expected, path)
})

it('decodes no two paths to the same text', () => {
  const parts = ['%25', '%2F', '%FF', '%C3', '%A9', '%41', '25', '2F', '2f', 'FF', 'A9', 'C3', '%', 'A']
  const paths = parts.flatMap((a) => parts.flatMap((b) => parts.flatMap((c) => [a + b + c, `%25${a}${b}${c}`])))
  const bytesOf = new Map<string, string>()
  for (const sent of new Set(paths)) {
    const path = normalPath(`/${sent}`, PATH_KEPT)?.path
    if (path === undefined) continue
    // A slash that is escaped is a character of its own.
    const bytes = path.replace(/%(..)/g, (escaped, hex: string) => {
      return escaped.toUpperCase() === '%2F' ? '\0' : String.fromCharCode(Number.parseInt(hex, 16))
    })
    const text = decodedPath(path)
    const other = bytesOf.get(text)
    ok(other === undefined || other === bytes, `${path} and another are ${text}`)
    bytesOf.set(text, bytes)
  }
  equal(new Set(bytesOf.values()).size, bytesOf.size)
})

it('says in what ways a path can be read', () => {
  deepEqual(readingsOf('/a%20b'), ['/a%20b'])
  deepEqual(readingsOf('/a%2Fb'), ['/a%2Fb', '/a/b'])
  deepEqual(readingsOf('//a'), ['//a', '/a'])
  deepEqual(readingsOf('/a;x=%2F/b'), ['/a;x=%2F/b', '/a/b', '/a;x=//b', '/a//b', '/a;x=/b'])
  deepEqual(readingsOf('/a;x%2Fb'), ['/a;x%2Fb', '/a', '/a;x/b', '/a/b'])
  deepEqual(readingsOf('/a%3Bx/b'), ['/a%3Bx/b', '/a;x/b', '/a/b'])
  deepEqual(readingsOf('/%2Fa'), ['/%2Fa', '//a', '/a'])
  for (const hidden of ['/a/..;/b', '/a/..%2Fb', '/a%2f..', '/a%5c..%5cb', '/.;x', '/a/..%3B/b', '/a/.;%2F.%3bx']) {
    equal(readingsOf(hidden), null, hidden)
  }
})

it('judges 16 readings at most, and refuses what has more', () => {
  equal(readingsOf('/proxy/https://host/a;v=1/b%2Fc')?.length, 8)
  equal(readingsOf('/a;x%2Fb//c%5Cd')?.length, 16)
  equal(readingsOf('/a;x%2Fb%3Bc//d%5Ce'), null)
})

it('reads in time that grows with the path', () => {
  for (const odd of [';', '%3B', '%2F', '%5c', '/', ';x%2F', '//;', '%3B/%5C']) {
    assertLinear(odd, 1_000, (size) => void readingsOf(`/${odd.repeat(size)}`))
  }
})

it('knows paths that are their own normal form', () => {
  for (const path of ['/', '*', '/v1/chat', '/a.b', '/a:b@c']) deepEqual([path, isPlainPath(path)], [path, true])
  for (const path of ['//', '/./', '/.a', '/a%20', '/a;b', '/a\\b']) deepEqual([path, isPlainPath(path)], [path, false])
})

it('finds decoded segments at the beginning of an encoded path', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['/a/b', '/a', 2],
    ['/a', '/a', 2],
    ['/ab', '/a', -1],
    ['/a%20b/c', '/a b', 6],
    ['/a%40/b%3A/c', '/a@/b:', 10],
    ['/a%40', '/a@/b', -1],
    ['/a/b', '', 0]
  ]
  for (const [path, prefix, length] of cases) equal(lengthOfPrefix(path, prefix), length, `${path} ${prefix}`)
})
