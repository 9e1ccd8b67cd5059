import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBasic } from './basic-credentials.ts'

const encode = (text: string) => Buffer.from(text).toString('base64')
const latin1 = (text: string) => Buffer.from(text).toString('latin1')

test('the first colon ends the user name', () => {
  // RFC 7617 sections 2 and 2.1.
  assert.deepEqual(parseBasic('QWxhZGRpbjpvcGVuIHNlc2FtZQ=='), { user: 'Aladdin', password: 'open sesame' })
  assert.deepEqual(parseBasic('dGVzdDoxMjPCow=='), { user: 'test', password: latin1('123£') })
  assert.deepEqual(parseBasic(encode('a:b:c:')), { user: 'a', password: 'b:c:' })
  assert.deepEqual(parseBasic(encode(':')), { user: '', password: '' })
  assert.deepEqual(parseBasic(encode('Zoë:世界')), { user: latin1('Zoë'), password: latin1('世界') })
})

test('padding may be missing', () => {
  assert.deepEqual(parseBasic('dGVzdDoxMjPCow'), parseBasic('dGVzdDoxMjPCow=='))
})

test('malformed credentials, long ones, and those with control characters are refused', () => {
  const wrong = ['', '=', 'a', '!', 'QWxh ZGRp', 'dGVzdDoxMjPCow===', 'YTpi,', 'YT-_', encode('no colon')]
  for (const text of wrong) assert.equal(parseBasic(text), null, text)
  for (const control of ['\0', '\t', '\n', '\x1f', '\x7f']) {
    assert.equal(parseBasic(encode(`a${control}:b`)), null)
    assert.equal(parseBasic(encode(`a:b${control}`)), null)
  }
  assert.ok(parseBasic(encode(`a:${'p'.repeat(512)}`)))
  assert.equal(parseBasic(encode(`a:${'p'.repeat(513)}`)), null)
  assert.ok(parseBasic(encode(`${'u'.repeat(1020)}:`)))
  assert.equal(parseBasic(encode(`${'u'.repeat(1021)}:`)), null)
  assert.equal(parseBasic('A'.repeat(60_000)), null)
})
