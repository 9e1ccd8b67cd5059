import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Exchange } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import type { ModelUse } from '#engine/contract/model-use.ts'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import { finishedExchange } from '#engine/telemetry/exchange.fixture.ts'
import { COLUMN_NAMES } from './record.ts'
import { type Batch, SpendRecorder } from './recorder.ts'
import { SpendSinks } from './sinks.ts'

const NOW = Date.parse('2026-05-31T12:00:00Z')
const USE: ModelUse = { provider: 'openai', requestModel: 'gpt-5-mini', responseModel: 'gpt-5-mini-2025-08-07' }

function stand() {
  const batches: Batch[] = []
  const counts = { kept: 0, no_room: 0, not_written: 0 }
  const kept = new SpendRecorder({
    post: (batch) => batches.push(batch),
    count: (result, rows) => {
      counts[result] += rows
    }
  })
  const recorder = new SpendSinks({
    recorder: kept,
    time: SYSTEM_TIME,
    count: () => {},
    currency: () => 'EUR',
    now: () => NOW
  })
  const rows = () => batches.flatMap(({ rows: text }) => JSON.parse(text) as (string | number | null)[][])
  const records = () => rows().map((row) => Object.fromEntries(COLUMN_NAMES.map((name, i) => [name, row[i]])))
  return { recorder, kept, batches, counts, records }
}

function exchange(use: ModelUse = USE, edit: (ex: Exchange) => void = () => {}): Exchange {
  const ex = finishedExchange()
  ex.llm = use
  edit(ex)
  return ex
}

test('a record says who, what, how much and how long', () => {
  const { recorder, kept, records } = stand()
  const use: ModelUse = {
    ...USE,
    operation: 'chat',
    streaming: true,
    inputTokens: 100,
    cachedInputTokens: 60,
    cacheCreationInputTokens: 30,
    outputTokens: 50,
    reasoningTokens: 20,
    inputAudioTokens: 5,
    cost: 1_234_001,
    costBasis: 'usage'
  }
  const ex = exchange(use, (one) => {
    identityOf(one).apiKey = { id: 'k1', name: 'laptop', team: 'search', organisation: 'acme', tags: ['a', 7, 'b'] }
    identityOf(one).jwt = { sub: 'alice' }
    one.attempts = 3
  })
  ex.llm = { ...use, firstTokenAt: ex.startedAt + 120.4 }
  recorder.record(ex, 'chat', 200, 800.6)
  kept.close()
  const [record] = records()
  const { id, ...rest } = record!
  assert.match(String(id), /^req_[0-9a-f]{32}$/)
  assert.deepEqual(rest, {
    ...Object.fromEntries(COLUMN_NAMES.filter((name) => name !== 'id').map((name) => [name, null])),
    time: NOW - 801,
    key: 'k1',
    keyName: 'laptop',
    team: 'search',
    organisation: 'acme',
    tags: '["a","b"]',
    subject: 'alice',
    operation: 'chat',
    requestModel: 'gpt-5-mini',
    model: 'gpt-5-mini-2025-08-07',
    provider: 'openai',
    backend: 'web',
    route: 'chat',
    status: 200,
    streamed: 1,
    retries: 2,
    uncachedInputTokens: 10,
    cacheReadTokens: 60,
    cacheWriteTokens: 30,
    outputTokens: 50,
    reasoningTokens: 20,
    inputAudioTokens: 5,
    costNanos: 1235,
    currency: 'EUR',
    costBasis: 'usage',
    firstTokenMs: 120,
    durationMs: 801
  })
})

test('an unknown cost is null with its reason, never 0', () => {
  const { recorder, kept, records } = stand()
  recorder.record(exchange({ ...USE, costUnknown: 'no price for gpt-5-mini' }), 'r', 200, 1)
  recorder.record(exchange(USE), 'r', 200, 1)
  recorder.record(exchange({ ...USE, cost: 0 }), 'r', 200, 1)
  kept.close()
  assert.deepEqual(
    records().map(({ costNanos, costUnknown }) => [costNanos, costUnknown]),
    [
      [null, 'no price for gpt-5-mini'],
      [null, 'no price is in use for this call'],
      [0, null]
    ]
  )
})

test('a model that no provider has answered to is no model used', () => {
  const { recorder, kept, records } = stand()
  recorder.record(exchange({ provider: 'openai', requestModel: 'made-up' }), 'r', 404, 1)
  recorder.record(exchange({ provider: 'openai', requestModel: 'quiet' }), 'r', 200, 1)
  kept.close()
  assert.deepEqual(
    records().map(({ model, requestModel, errorType }) => [model, requestModel, errorType]),
    [
      [null, 'made-up', '404'],
      ['quiet', 'quiet', null]
    ]
  )
})

test('what waits is bounded, and what has no room is counted; the order stays', () => {
  const { recorder, kept, batches, counts, records } = stand()
  for (let i = 0; i < 10_000; i++) recorder.record(exchange(USE), `r${i}`, 200, 1)
  assert.equal(batches.length, 4)
  assert.equal(counts.no_room, 10_000 - 4 * 512 - 4096)
  for (let i = 0; i < 12; i++) kept.taken({ count: 512, kept: i === 0 ? 0 : 512 })
  kept.close()
  assert.equal(counts.not_written, 512)
  assert.equal(counts.kept, 11 * 512)
  const routes = records().map(({ route }) => route)
  assert.deepEqual(
    routes,
    Array.from({ length: 6144 }, (_, i) => `r${i}`)
  )
})

test('texts that clients choose have an end', () => {
  const { recorder, kept, records } = stand()
  const ex = exchange({ ...USE, requestModel: 'm'.repeat(9_000) }, (one) => {
    identityOf(one).jwt = { sub: 's'.repeat(9_000) }
    identityOf(one).apiKey = { id: { not: 'a text' }, tags: Array.from({ length: 999 }, () => 't'.repeat(999)) }
  })
  recorder.record(ex, 'r', 200, 1)
  kept.close()
  const [record] = records()
  assert.equal(String(record!.requestModel).length, 256)
  assert.equal(String(record!.subject).length, 256)
  assert.equal(record!.key, null)
  assert.ok(String(record!.tags).length < 9_000)
})
