import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AiGuards } from '#backends/llm/config/snapshot.ts'
import { detailOf } from '#engine/contract/detail.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { noteRejection } from './reject-detail.ts'

const guard = (kind: string) => ({ kind, reply: { status: 403, message: 'no' } })
const guards = {
  request: [
    { ...guard('regex'), rules: { builtins: ['Ssn', 'Email'], patterns: ['canary', 'other'] } },
    guard('webhook')
  ],
  response: []
} as unknown as AiGuards

test('the guard and its rule are named by their places, and become text when the log asks', () => {
  const says = (index: number, rule: number, more = {}) => {
    const ex = fakeExchange()
    noteRejection(ex, 'request', guards, {
      acted: [],
      guard: index,
      rule,
      reply: { status: 403, message: 'no' },
      ...more
    })
    assert.equal(typeof ex.errorDetail, 'function')
    return detailOf(ex)
  }
  assert.equal(says(0, 1), 'promptGuard.request[0].regex.builtins[1], Email, rejects it')
  assert.equal(says(0, 3), 'promptGuard.request[0].regex.matches[1] rejects it')
  assert.equal(says(1, -1), 'promptGuard.request[1].webhook rejects it')
  assert.equal(says(-1, -1), 'promptGuard.request cannot decide: no')
  const down = says(1, -1, { failure: 'it is late' })
  assert.equal(down, 'promptGuard.request[1].webhook cannot decide: it is late')
})
