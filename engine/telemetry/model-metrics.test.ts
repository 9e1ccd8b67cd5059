import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelUse } from '#engine/contract/model-use.ts'
import { finishedExchange } from './exchange.fixture.ts'
import { parseExposition } from './exposition.fixture.ts'
import { Metrics, REGION_BYTES } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'
import { ModelMetrics } from './model-metrics.ts'

function start() {
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(REGION_BYTES)
  const models = new ModelMetrics(new Metrics(region, table.attach('0', region)))
  const record = (llm: ModelUse, status = 200, route = 'r') => {
    const ex = finishedExchange()
    ex.llm = { provider: 'openai', operation: 'chat', ...llm }
    models.record(ex, route, status, 40)
  }
  return { record, text: () => parseExposition(table.expose()), raw: () => table.expose() }
}

const labels = (request: string, response: string, more: object = {}) => ({
  route: 'r',
  gen_ai_operation_name: 'chat',
  gen_ai_provider_name: 'openai',
  gen_ai_request_model: request,
  gen_ai_response_model: response,
  ...more
})

test('tokens, durations and the pace of a stream are counted under the models that were asked and answered', () => {
  const { record, text } = start()
  const ex = finishedExchange()
  const firstTokenAt = ex.startedAt + 20
  const use = { requestModel: 'm', responseModel: 'm-2', inputTokens: 12, outputTokens: 7, streaming: true }
  record({ ...use, firstTokenAt, lastTokenAt: firstTokenAt + 60 })
  record(use)
  const of = text()
  const tokens = (type: string) =>
    of.value('gen_ai_client_token_usage_sum', labels('m', 'm-2', { gen_ai_token_type: type }))
  assert.deepEqual([tokens('input'), tokens('output')], [24, 14])
  const duration = labels('m', 'm-2', { error_type: '' })
  assert.equal(of.value('gen_ai_client_operation_duration_seconds_count', duration), 2)
  assert.equal(of.value('gen_ai_client_operation_duration_seconds_sum', duration), 0.08)
  // Only the stream has a first token, and 60 ms over the six tokens after it.
  assert.equal(of.value('gen_ai_server_time_to_first_token_seconds_count', labels('m', 'm-2')), 1)
  const pace = of.value('gen_ai_server_time_per_output_token_seconds_sum', labels('m', 'm-2'))
  assert.ok(Math.abs(pace! - 0.01) < 1e-9, String(pace))
})

test('a name that no provider has answered to is no label; a model that has failed once it was known is named', () => {
  const { record, text } = start()
  record({ requestModel: 'invented' }, 404)
  record({ requestModel: 'm', responseModel: 'm' })
  record({ requestModel: 'm' }, 429)
  record({ requestModel: 'm', errorType: 'overloaded' })
  const count = (of: object) => text().value('gen_ai_client_operation_duration_seconds_count', of as never)
  assert.equal(count(labels('other', 'other', { error_type: '404' })), 1)
  assert.equal(count(labels('m', '', { error_type: '429' })), 1)
  assert.equal(count(labels('m', '', { error_type: 'overloaded' })), 1)
})

test('names that a client invents end as "other", and leave other routes theirs', () => {
  const { record, raw, text } = start()
  for (let i = 0; i < 5_000; i++) record({ requestModel: `m${i}`, responseModel: `m${i}`, inputTokens: 1 })
  record({ requestModel: 'real', responseModel: 'real' }, 200, 'r2')
  const names = new Set([...raw().matchAll(/gen_ai_request_model="([^"]*)"/g)].map(([, name]) => name))
  assert.equal(names.size, 64 + 1 + 1)
  assert.equal(
    text().value('gen_ai_client_token_usage_count', labels('other', 'other', { gen_ai_token_type: 'input' })),
    5_000 - 64
  )
  for (let i = 0; i < 5_000; i++) record({ requestModel: 'm', responseModel: 'm' }, 200, `route ${i % 500}`)
  const pairs = new Set([...raw().matchAll(/duration_seconds_count\{(.*?),error_type/g)].map(([, pair]) => pair))
  // Beside those with names, one "other" per route.
  assert.ok(pairs.size <= 256 + 502, String(pairs.size))
})

test('error types of a provider are bounded', () => {
  const { record, raw } = start()
  for (let status = 400; status < 500; status++) record({ requestModel: 'm', errorType: `e${status}` })
  assert.ok(new Set([...raw().matchAll(/error_type="([^"]*)"/g)].map(([, type]) => type)).size <= 25)
  assert.match(raw(), /error_type="_OTHER"/)
})
