import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { isAuthority, parseTarget } from './target.ts'

const path = (target: string) => parseTarget(target, 'GET')?.path

it('decodes what was encoded for no reason, resolves dot segments, and nothing else', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['/', '/'],
    ['/a/../b', '/b'],
    ['/../../a', '/a'],
    ['/a/%2e%2E', '/'],
    ['/a/.', '/a/'],
    ['/a/..%2fb', '/a/..%2fb'],
    ['/a/.../b', '/a/.../b'],
    ['//a/../b', '//b'],
    ['/a.b/%41', '/a.b/A'],
    ['/%61%64min/%7e%5F%2d%39', '/admin/~_-9'],
    ['/a/%2561', '/a/%2561'],
    ['/a%2fb%3F%23%00%40%5B%60%7B%80', '/a%2fb%3F%23%00%40%5B%60%7B%80'],
    ['/%2e%2e%2fa', '/..%2fa'],
    ['/%zz%4', '/%zz%4']
  ]
  for (const [target, expected] of cases) equal(path(target), expected, target)
})

it('takes absolute targets apart and keeps the query as it is', () => {
  deepEqual(parseTarget('HTTP://A.test:80/x/../y?q=/../z', 'GET'), {
    authority: 'a.test:80',
    path: '/y',
    query: '?q=/../z'
  })
  deepEqual(parseTarget('https://[::1]', 'GET'), { authority: '[::1]', path: '/', query: '' })
  deepEqual(parseTarget('http://a?q', 'GET'), { authority: 'a', path: '/', query: '?q' })
})

it('knows the asterisk for OPTIONS alone', () => {
  const server = { authority: null, path: '*', query: '' }
  deepEqual(parseTarget('*', 'OPTIONS'), server)
  equal(parseTarget('*', 'GET'), null)
  deepEqual(parseTarget('http://a', 'OPTIONS'), { ...server, authority: 'a' })
  equal(parseTarget('http://a/', 'OPTIONS')?.path, '/')
})

it('refuses fragments, other schemes, user information and what is no target', () => {
  for (const target of ['/a#b', '/a?b#c', 'http://a#b', 'ftp://a/', 'http:///', 'http://u@a/', 'a', '', 'a:80']) {
    equal(parseTarget(target, 'GET'), null, target)
  }
})

it('knows authorities', () => {
  for (const good of ['a', 'a.test:80', '127.0.0.1', '[::1]:8080', 'a_b', 'xn--a']) equal(isAuthority(good), true, good)
  for (const bad of ['', 'a b', 'a,b', 'u@a', 'a/b', 'a:', 'a:x', 'a:123456', '[::1', '::1', 'a#', 'a?', 'a\\b']) {
    equal(isAuthority(bad), false, bad)
  }
})
