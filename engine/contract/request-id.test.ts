import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { readAs } from './exchange.ts'
import { REQUEST_ID_DEFAULTS, type RequestIdRules, requestIdOf } from './request-id.ts'
import type { Listener } from './route.ts'

const MADE = /^req_[0-9a-f]{32}$/

function idWith(rules: Partial<RequestIdRules>, headers: readonly (readonly [string, string])[]): string {
  const ex = fakeExchange({ headers })
  ex.listener = { requestId: { ...REQUEST_ID_DEFAULTS, ...rules } } as Listener
  return requestIdOf(ex)
}

test('a sane id of the client is kept, another is replaced', () => {
  for (const id of ['a', 'req-1', '2f1e:3.4_5', 'x'.repeat(128), '6f9619ff-8b86-d011-b42d-00c04fc964ff']) {
    assert.equal(requestIdOf(fakeExchange({ headers: [['X-Request-Id', id]] })), id)
  }
  for (const id of ['', 'a b', 'a"', '<b>', 'ä', 'x'.repeat(129), 'a\tb']) {
    assert.match(requestIdOf(fakeExchange({ headers: [['x-request-id', id]] })), MADE)
  }
})

test('it stays the same once it is made, in views of the exchange too', () => {
  const ex = fakeExchange({})
  const inView = requestIdOf(readAs(ex, '/other'))
  assert.deepEqual([requestIdOf(ex), requestIdOf(readAs(ex, '/third'))], [inView, inView])
})

test('no two are alike, and neighbours do not count', () => {
  const ids = Array.from({ length: 10_000 }, () => requestIdOf(fakeExchange({})))
  assert.equal(new Set(ids).size, ids.length)
  const [first, second] = ids.map((id) => Number.parseInt(id.slice(-8), 16))
  assert.ok(Math.abs(first! - second!) > 1)
})

test('the listener says which field it is, and whether clients are believed', () => {
  assert.equal(
    idWith({ header: 'x-correlation-id' }, [
      ['x-correlation-id', 'c1'],
      ['x-request-id', 'r1']
    ]),
    'c1'
  )
  assert.match(idWith({ acceptFromClient: false }, [['x-request-id', 'r1']]), MADE)
})
