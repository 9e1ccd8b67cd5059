import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostOf, parseAuthority, portSuffix } from './authority.ts'

test('hostOf strips the port and the final dot', () => {
  const cases = [
    ['a.com', 'a.com'],
    ['a.com:80', 'a.com'],
    ['a.com.', 'a.com'],
    ['a.com.:80', 'a.com'],
    ['[::1]', '[::1]'],
    ['[::1]:80', '[::1]'],
    ['', ''],
    ['.', '.'],
    ['[::1', '[::1']
  ]
  for (const [authority, host] of cases) assert.equal(hostOf(authority!), host)
})

test('portSuffix keeps the colon', () => {
  assert.equal(portSuffix('a.com:8080'), ':8080')
  assert.equal(portSuffix('a.com'), '')
  assert.equal(portSuffix('[::1]:8080'), ':8080')
  assert.equal(portSuffix('[::1]'), '')
})

test('parseAuthority reads names and addresses', () => {
  assert.deepEqual(parseAuthority('a_b.example.com'), { host: 'a_b.example.com', port: null })
  assert.deepEqual(parseAuthority('127.0.0.1:8080'), { host: '127.0.0.1', port: 8080 })
  assert.deepEqual(parseAuthority('[::1]:65535'), { host: '::1', port: 65535 })
  assert.deepEqual(parseAuthority('[2001:db8::1]'), { host: '2001:db8::1', port: null })
})

for (const bad of [
  '',
  ':80',
  'a:',
  'a:0',
  'a:65536',
  'a:b',
  'a:80:80',
  'user@a',
  'a/b',
  'a b',
  'a\r\nb',
  '.a',
  'a..b',
  '-a',
  'a-',
  '[]',
  '[::1',
  '[::1]x',
  '[::1%eth0]',
  '[127.0.0.1]',
  '::1',
  'a'.repeat(254)
]) {
  test(`parseAuthority refuses ${JSON.stringify(bad.slice(0, 20))}`, () => assert.equal(parseAuthority(bad), null))
}
