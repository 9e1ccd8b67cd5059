import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from './address.ts'

test('addresses', () => {
  assert.deepEqual(parseAddress('localhost:15000', 'adminAddr'), {
    kind: 'tcp',
    hosts: ['127.0.0.1', '::1'],
    port: 15000
  })
  assert.deepEqual(parseAddress('[::]:15020', 'statsAddr'), { kind: 'tcp', hosts: ['::'], port: 15020 })
  assert.deepEqual(parseAddress('0.0.0.0:0', 'statsAddr'), { kind: 'tcp', hosts: ['0.0.0.0'], port: 0 })
  assert.deepEqual(parseAddress('unix:/run/weir.sock', 'adminAddr'), { kind: 'unix', path: '/run/weir.sock' })
  assert.deepEqual(parseAddress('off', 'adminAddr'), { kind: 'off' })
})

test('what is not an address is refused, with the setting and what is allowed', () => {
  const bad = [
    '',
    '15000',
    ':15000',
    '1.2.3.4',
    '1.2.3.4:',
    '1.2.3.4:65536',
    '::1:80',
    '[1.2.3.4]:80',
    '[::1]',
    'OFF',
    'example.com:80',
    '1.2.3.4:80 ',
    '1.2.3.256:80'
  ]
  for (const text of bad)
    assert.throws(() => parseAddress(text, 'statsAddr'), /^Error: statsAddr: .*allowed: "127/, text)
  for (const text of ['unix:', 'unix:run/x', `unix:/${'x'.repeat(107)}`]) {
    assert.throws(
      () => parseAddress(text, 'adminAddr'),
      /adminAddr: .* needs an absolute path of at most 107 bytes/,
      text
    )
  }
})
