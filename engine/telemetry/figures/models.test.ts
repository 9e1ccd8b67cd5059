import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics, REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { MODELS_MAX, ModelCounts } from './models.ts'

const GPT = {
  ...{ route: 'r', gen_ai_operation_name: 'chat', gen_ai_provider_name: 'openai' },
  ...{ gen_ai_request_model: 'gpt', gen_ai_response_model: 'gpt-2026' }
}

function stand() {
  const table = new MetricsTable()
  const worker = (id: string) => {
    const region = new SharedArrayBuffer(REGION_BYTES)
    return new Metrics(region, table.attach(id, region))
  }
  let ms = 0
  const counts = new ModelCounts(table, () => ms)
  const pass = (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      ms += 1000
      counts.sample()
    }
  }
  return { worker, counts, pass }
}

const call = (of: Metrics, error: string, labels: typeof GPT = GPT) =>
  of.histogram('gen_ai_client_operation_duration_seconds', { ...labels, error_type: error }).observe(0.5)

test('a model has the calls of all workers and routes, with what failed and how long people waited', () => {
  const { worker, counts, pass } = stand()
  const [one, two] = [worker('0'), worker('1')]
  call(one, '')
  call(two, '', { ...GPT, route: 's' })
  call(two, '429')
  call(two, '429')
  call(one, 'timeout')
  call(one, '', { ...GPT, gen_ai_request_model: 'other', gen_ai_provider_name: 'aws.bedrock' })
  for (const each of [one, two]) each.histogram('gen_ai_server_time_to_first_token_seconds', GPT).observe(0.3)
  one.histogram('gen_ai_server_time_per_output_token_seconds', GPT).observe(0.02)
  pass(4)
  const { seconds, models, leftOut } = counts.use()
  deepEqual([seconds, leftOut, models.length], [4, 0, 2])
  const [gpt, other] = models
  deepEqual([gpt!.provider, gpt!.model, gpt!.calls, gpt!.failed], ['openai', 'gpt', 5, 3])
  deepEqual(gpt!.errors, [
    { type: '429', calls: 2 },
    { type: 'timeout', calls: 1 }
  ])
  ok(gpt!.firstTokenMs!.p50 > 250 && gpt!.firstTokenMs!.p99 <= 500, JSON.stringify(gpt!.firstTokenMs))
  ok(gpt!.perTokenMs!.p50 > 10 && gpt!.perTokenMs!.p50 <= 25, JSON.stringify(gpt!.perTokenMs))
  deepEqual([other!.provider, other!.calls, other!.firstTokenMs, other!.perTokenMs], ['aws.bedrock', 1, null, null])
})

test('after five minutes it is forgotten', () => {
  const { worker, counts, pass } = stand()
  const one = worker('0')
  const first = one.histogram('gen_ai_server_time_to_first_token_seconds', GPT)
  call(one, '')
  first.observe(9)
  pass(200)
  call(one, '')
  first.observe(0.3)
  pass(150)
  const [gpt] = counts.use().models
  equal(gpt!.calls, 1)
  ok(gpt!.firstTokenMs!.p99 <= 500, String(gpt!.firstTokenMs!.p99))
  pass(300)
  deepEqual(counts.use().models, [])
})

test('more models than there is room for are told', () => {
  const counts = new ModelCounts({
    each: (take) => {
      for (let i = 0; i < MODELS_MAX + 2; i++)
        take(
          'gen_ai_server_time_to_first_token_seconds',
          { ...GPT, gen_ai_request_model: `m${i}` },
          Array(20).fill(1),
          0
        )
    }
  })
  equal(counts.use().leftOut, 2)
})
