import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { isAuthority, parseTarget } from './target.ts'

it('takes absolute targets apart and keeps path and query as they are', () => {
  deepEqual(parseTarget('HTTP://A.test:80/x/../y?q=/../z', 'GET'), {
    authority: 'a.test:80',
    path: '/x/../y',
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

it('refuses fragments, other schemes, user information and invalid targets', () => {
  for (const target of ['/a#b', '/a?b#c', 'http://a#b', 'ftp://a/', 'http:///', 'http://u@a/', 'a', '', 'a:80']) {
    equal(parseTarget(target, 'GET'), null, target)
  }
})

it('knows authorities', () => {
  const fine = [
    'a',
    'a.test:80',
    'a.test.',
    '127.0.0.1',
    '[::1]:8080',
    '[::ffff:1.2.3.4]',
    'a_b',
    '_dmarc.a',
    'xn--a',
    'a:65535'
  ]
  for (const good of fine) equal(isAuthority(good), true, good)
  const odd = [
    ...['', 'a b', 'a,b', 'u@a', 'u:p@a', 'a/b', 'a:', 'a:x', 'a:123456', 'a:99999', 'a:65536', 'a:0', 'a:00', 'a:-1'],
    ...['[::1', '::1', '[]', '[::1]x', '[::1]:', '[fe80::1%25eth0]', '[v1.a]', '[1.2.3.4]', 'a#', 'a?', 'a\\b', 'b%2f'],
    ...['%61', 'a%00', '.', '..', 'a..b', '.a', '-a', '*', '*.a', 'a;b', 'a=b', 'a&b', "a'b", 'a(b)', 'a+b', 'a!', 'a$']
  ]
  for (const bad of [...odd, `${'a'.repeat(254)}`, 'a\t', 'a\0', 'caf\xe9']) equal(isAuthority(bad), false, bad)
})
