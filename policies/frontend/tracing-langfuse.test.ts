/**
 * What Langfuse shows of a call, by a double of its reader: which attributes become the user, tags, model, tokens, cost
 * and the time of the first token is taken from its server (packages/shared/src/server/otel, 2026-08).
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startModels } from '#engine/testing/models.ts'
import type { CollectedSpan } from '#engine/testing/otlp-collector.ts'
import { ask, hasServer, isClient, isServer, startTraced } from '#engine/testing/traced.ts'

const PATH = '/api/public/otel/v1/traces'
const KEY = 'sk-alice-0001'
const OBSERVATIONS: Readonly<Record<string, string>> = { chat: 'GENERATION', embeddings: 'EMBEDDING' }

/** A span as an observation of Langfuse. */
function observationOf({ attributes }: CollectedSpan) {
  const first = (...names: string[]) => names.map((name) => attributes[name]).find((value) => value != null)
  const usage = attributes['langfuse.observation.usage_details']
  return {
    type: OBSERVATIONS[String(attributes['gen_ai.operation.name'])] ?? 'SPAN',
    model: first('langfuse.observation.model.name', 'gen_ai.response.model', 'gen_ai.request.model'),
    usage: typeof usage === 'string' ? (JSON.parse(usage) as Record<string, number>) : null,
    cost: attributes['gen_ai.usage.cost'] == null ? {} : { total: attributes['gen_ai.usage.cost'] },
    completionStartTime: attributes['langfuse.observation.completion_start_time'],
    userId: first('langfuse.user.id', 'user.id'),
    tags: attributes['langfuse.trace.tags']
  }
}

async function stand(t: TestContext, tracing: object, guards: object = {}, config: object = {}) {
  const models = await startModels()
  t.after(() => models.close())
  const ai = { provider: { openai: {}, host: '127.0.0.1', port: models.port }, ...guards }
  const policies = {
    virtualKeys: { keys: [{ name: 'alice', key: KEY, owner: 'alice@example.com', tags: ['blue', 'web'] }] }
  }
  const more = {
    config: {
      prices: { models: [{ model: '*', input: 2, output: 4 }] },
      ...{ adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
      ...config
    }
  }
  const traced = await startTraced(t, { policies, backends: [{ ai }] }, tracing, { more })
  const call = async (isStreamed: boolean) => {
    const before = traced.collector.spans.length
    const body = { model: 'm1', stream: isStreamed, messages: [{ role: 'user', content: 'a secret question' }] }
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${KEY}` }
    assert.equal((await ask(traced.port, '/v1/chat/completions', headers, JSON.stringify(body))).status, 200)
    const spans = (await traced.collector.until((all) => hasServer(all.slice(before)))).slice(before)
    return { attempt: spans.find(isClient)!, request: spans.find(isServer)!, spans }
  }
  return { call, ...traced }
}

test('a generation with its model, tokens in parts, cost, user, tags and the time of its first token', async (t) => {
  const { call } = await stand(t, { path: PATH })
  const { attempt, request, spans } = await call(true)
  const shown = observationOf(attempt)
  const { usage, completionStartTime, ...rest } = shown
  assert.deepEqual(rest, {
    type: 'GENERATION',
    model: attempt.attributes['gen_ai.response.model'],
    cost: { total: (12 * 2 + 7 * 4) / 1e6 },
    userId: 'alice@example.com',
    tags: ['blue', 'web']
  })
  assert.deepEqual(usage, { input: 8, input_cached_tokens: 4, output: 5, output_reasoning_tokens: 2, total: 19 })
  const { total, ...parts } = usage!
  assert.equal(
    Object.values(parts).reduce((sum, one) => sum + one, 0),
    total
  )
  const [began, ended] = [attempt.startedAt, attempt.endedAt].map((nanos) => Number(nanos / 1_000_000n))
  const first = Date.parse(String(completionStartTime))
  assert.ok(first >= began! - 1 && first <= ended! + 1)
  const trace = observationOf(request)
  assert.deepEqual([trace.type, trace.userId, trace.tags], ['SPAN', 'alice@example.com', ['blue', 'web']])
  const all = JSON.stringify(spans.map(({ attributes }) => attributes))
  for (const text of ['a secret question', KEY]) assert.equal(all.includes(text), false)
})

test('whole answers have no first token; other collectors get none of the names of Langfuse', async (t) => {
  const whole = await (await stand(t, { path: PATH })).call(false)
  assert.equal(observationOf(whole.attempt).completionStartTime, undefined)
  const { attempt, request } = await (await stand(t, {})).call(true)
  for (const { attributes } of [attempt, request]) {
    assert.deepEqual(
      Object.keys(attributes).filter((name) => name.startsWith('langfuse.')),
      []
    )
    assert.equal(attributes['user.id'], 'alice@example.com')
    assert.deepEqual([attributes['weir.key.id'], attributes['weir.key.tags']], ['alice', ['blue', 'web']])
  }
})

test('prompts and answers go with it where the configuration says so, as the guards have left them', async (t) => {
  const attributes = { 'gen_ai.input.messages': 'llm.prompt', 'gen_ai.output.messages': 'llm.completion' }
  const mask = (pattern: string) => [{ regex: { action: 'Mask', matches: [pattern] } }]
  const promptGuard = { request: mask('secret'), response: mask('world') }
  const { call } = await stand(t, { path: PATH, attributes }, { promptGuard })
  for (const isStreamed of [false, true]) {
    const { request } = await call(isStreamed)
    const { 'gen_ai.input.messages': input, 'gen_ai.output.messages': output } = request.attributes
    assert.match(String(input), /a <\w+> question/)
    assert.match(String(output), /Hello, <\w+>/)
  }
})

test('spendLog.prompts.traces adds what was said as the conventions have it, and without it nothing is added', async (t) => {
  const promptGuard = {
    request: [{ regex: { action: 'Mask', matches: ['secret'] } }],
    response: [{ regex: { action: 'Mask', matches: ['world'] } }]
  }
  const names = ['gen_ai.system_instructions', 'gen_ai.input.messages', 'gen_ai.output.messages']
  for (const traces of [true, false]) {
    const prompts = { spendLog: { path: 'unused', prompts: { traces } } }
    const { call } = await stand(t, { path: PATH }, { promptGuard }, prompts)
    for (const isStreamed of [false, true]) {
      const { attempt, request, spans } = await call(isStreamed)
      const all = JSON.stringify(spans.map(({ attributes }) => attributes))
      assert.equal(/secret|world/.test(all), false)
      for (const name of names) assert.equal(name in request.attributes, false)
      const [system, input, output] = names.map((name) => attempt.attributes[name])
      assert.equal(system, undefined)
      if (!traces) {
        assert.deepEqual([input, output], [undefined, undefined])
        continue
      }
      const [question] = JSON.parse(String(input))
      assert.deepEqual([question.role, question.parts[0].type], ['user', 'text'])
      assert.match(question.parts[0].content, /^a <\w+> question$/)
      const [answered] = JSON.parse(String(output))
      assert.deepEqual([answered.role, answered.finish_reason], ['assistant', 'stop'])
      assert.match(answered.parts[0].content, /^Hello, <\w+>/)
    }
  }
})
