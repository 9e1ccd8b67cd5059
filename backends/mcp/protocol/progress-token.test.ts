import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { progressTokenOf } from './progress-token.ts'

test('the progress token is text or a number where it should be, and nothing anywhere else', () => {
  const of = (params: object) => progressTokenOf({ jsonrpc: '2.0', id: 1, method: 'x', params: params as never })
  equal(of({ _meta: { progressToken: 'a' } }), 'a')
  equal(of({ _meta: { progressToken: 0 } }), 0)
  for (const params of [{}, { _meta: null }, { _meta: [1] }, { _meta: 'x' }, { _meta: { progressToken: {} } }])
    equal(of(params), null)
  equal(progressTokenOf({ jsonrpc: '2.0', id: 1, method: 'x' }), null)
})
