import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REQUEST_ID_DEFAULTS, requestIdOf } from '#engine/contract/request-id.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { withRequestId } from './request-id.ts'

const NONE = { requestHooks: null, responseHooks: null, hookOwners: { request: [], response: [] } }

test('without rules, and with none that asks for a header, there are no hooks', () => {
  assert.equal(withRequestId(NONE, undefined), NONE)
  assert.deepEqual(withRequestId(NONE, REQUEST_ID_DEFAULTS), NONE)
})

test('the id goes to the backend ahead of all policies, and to the client behind them', () => {
  const hookOwners = { request: [{ name: 'a' }], response: [{ name: 'a' }] }
  const others = { requestHooks: [() => 0 as const], responseHooks: [() => 0 as const], hookOwners }
  const rules = { ...REQUEST_ID_DEFAULTS, sendToBackend: true, sendToClient: true }
  const { requestHooks, responseHooks, hookOwners: owners } = withRequestId(others, rules)
  assert.deepEqual([owners.request.length, owners.response.length], [requestHooks!.length, responseHooks!.length])
  const ex = fakeExchange({ headers: [['x-request-id', 'not sane!']] })
  void requestHooks![0]!(ex)
  ex.response = new HeaderBlock()
  ex.response.receive('X-Request-Id', "the backend's own")
  void responseHooks!.at(-1)!(ex)
  const id = requestIdOf(ex)
  assert.match(id, /^req_/)
  assert.deepEqual([ex.request.getAll('x-request-id'), ex.response.getAll('x-request-id')], [id, id])
})
