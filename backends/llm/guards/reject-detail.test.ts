import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AiGuards } from '#backends/llm/config/snapshot.ts'
import { detailOf } from '#engine/contract/detail.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { noteRejection, rejectDetail } from './reject-detail.ts'

const guard = (kind: string, message: string) => ({ kind, reply: { status: 403, message } })
const guards = {
  request: [
    { ...guard('regex', 'no'), rules: { builtins: ['ssn'], patterns: ['canary'] } },
    guard('webhook', 'no'),
    guard('moderation', 'never')
  ],
  response: []
} as unknown as AiGuards

test('the guard is named by its place and kind; several with one reply are all named', () => {
  const says = (message: string) => rejectDetail('request', guards, { status: 403, message })
  assert.equal(says('never'), 'promptGuard.request[2] (moderation) rejects it')
  assert.equal(says('no'), 'promptGuard.request[0] (regex: ssn, patterns[0]) or [1] (webhook) rejects it')
  assert.equal(says('no JSON'), 'promptGuard.request cannot decide: no JSON')
})

test('it becomes text when the log asks', () => {
  const ex = fakeExchange()
  noteRejection(ex, 'request', guards, { status: 403, message: 'never' })
  assert.equal(typeof ex.errorDetail, 'function')
  assert.equal(detailOf(ex), 'promptGuard.request[2] (moderation) rejects it')
})
