/** Bodies that name something twice: what is judged here and what a provider takes could be two things. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { startKeeper } from '#backends/llm/stored/keeper.fixture.ts'
import { gatewayOf } from '#backends/llm/testing/llm-gateway.ts'

const TEXT = '"messages":[{"role":"user","content":"hi"}],"max_tokens":5'
const GEMINI = '/v1beta/models/m:generateContent'

/** All but the model, which comes ahead. */
const REST: readonly (readonly [path: string, rest: string])[] = [
  ['/v1/chat/completions', TEXT],
  ['/v1/messages', TEXT],
  ['/v1/messages/count_tokens', TEXT],
  ['/v1/responses', '"input":"hi"'],
  ['/v1/completions', '"prompt":"hi"'],
  ['/v1/embeddings', '"input":"hi"'],
  ['/v1/moderations', '"input":"hi"'],
  ['/v1/rerank', '"query":"a","documents":["b"]'],
  ['/v1/images/generations', '"prompt":"a"'],
  ['/v1/audio/speech', '"input":"a","voice":"alloy"'],
  ['/v1/batches', '"input_file_id":"file-1"'],
  ['/v1/vector_stores', '"name":"a"'],
  ['/v1/fine_tuning/jobs', '"training_file":"file-1"']
]

test('a body with a name twice in one object is a 400 in every format and operation, and goes nowhere', async (t) => {
  const keeper = await startKeeper(t)
  const params = { model: 'm', baseUrl: `http://127.0.0.1:${keeper.port}/v1`, apiKey: 'sk-of-provider-000' }
  const { ask } = await gatewayOf(t, { llm: { port: 0, models: [{ name: 'm', provider: 'openai', params }] } })
  const refused = async (path: string, body: string, name: string) => {
    const answer = await ask(path, body)
    equal(answer.status, 400, `${path} ${body.slice(0, 100)}`)
    match(await answer.text(), new RegExp(`${name}.{0,3} twice in one object`), path)
  }
  for (const [path, rest] of REST) {
    await refused(path, `{"model":"m",${rest},"model":"other"}`, 'model')
    await refused(path, `{"model":"m",${rest},"mod\\u0065l":"other"}`, 'model')
    await refused(path, `{"model":"m",${rest},"metadata":{"a":1,"a":2}}`, 'a')
    await refused(path, `{"model":"m","user":"${'x'.repeat(200_000)}",${rest},"model":"other"}`, 'model')
  }
  await refused(
    '/v1/chat/completions',
    `{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}`,
    'content'
  )
  await refused('/v1/chat/completions', `{"model":"m",${TEXT},"messages":[]}`, 'messages')
  await refused(GEMINI, '{"contents":[{"parts":[{"text":"a"}]}],"contents":[]}', 'contents')
  equal(keeper.requests.length, 0)
})

test('lines of a batch likewise', async (t) => {
  const keeper = await startKeeper(t)
  const params = { model: 'm', baseUrl: `http://127.0.0.1:${keeper.port}/v1`, apiKey: 'sk-of-provider-000' }
  const { base } = await gatewayOf(t, { llm: { port: 0, models: [{ name: 'm', provider: 'openai', params }] } })
  const line = (body: string) => `{"custom_id":"a","method":"POST","url":"/v1/responses","body":${body}}\n`
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new File([line('{"model":"m"}'), line('{"model":"m","input":"a","model":"o"}')], 'a.jsonl'))
  const answer = await fetch(`${base}/v1/files`, { method: 'POST', body: form })
  equal(answer.status, 400)
  match(await answer.text(), /file: line 2: .*model.{0,3} twice in one object/)
  equal(keeper.requests.length, 0)
})
