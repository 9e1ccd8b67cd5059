import assert from 'node:assert/strict'
import { test } from 'node:test'
import { host, hostname, portOf, target } from './net.ts'
import { threadCount } from './threads.ts'

test('destinations', () => {
  assert.deepEqual(target().parse('Example.com:80'), { host: 'example.com', port: 80, unixPath: null })
  assert.deepEqual(target().parse('[FD00::1]:65535'), { host: 'fd00::1', port: 65535, unixPath: null })
  assert.deepEqual(target().parse('unix:/run/a.sock'), { host: '', port: 0, unixPath: '/run/a.sock' })
  const message = (text: string) => target().safeParse(text).error!.issues[0]!.message
  assert.match(message('a'), /: the port is missing$/)
  assert.match(message('http://a:1'), /, without a scheme$/)
  assert.match(message(`unix:/${'a'.repeat(107)}`), /^must be /)
})

test('hosts without a port', () => {
  assert.deepEqual(
    ['A', '10.0.0.1', '::1', '[::1]'].map((text) => host().parse(text)),
    ['a', '10.0.0.1', '::1', '::1']
  )
  for (const text of ['a:1', '', 'a b', '[::1]:1']) assert.equal(host().safeParse(text).success, false, text)
})

test('host names are lower case', () => {
  assert.equal(hostname().parse('*.Example.COM'), '*.example.com')
})

test('the port of an address', () => {
  const ports = ['a:1', '[::]:15020', 'off', 'unix:/a:1', 'a:0'].map(portOf)
  assert.deepEqual(ports, [1, 15020, null, null, null])
})

test('threads of a machine', () => {
  assert.deepEqual(
    [threadCount(3, 8), threadCount('50%', 8), threadCount('1%', 8), threadCount('50%', 3)],
    [3, 4, 1, 2]
  )
})
