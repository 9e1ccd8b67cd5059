/** What expressions, the log and the metrics say of exchanges with models. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'

const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
const ASK = {
  model: 'm1',
  temperature: 0.5,
  max_completion_tokens: 9,
  messages: [
    { role: 'system', content: 'Be kind' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] }
  ]
}

const ADDED = {
  prompt: "llm.prompt.map(m, m.role + ':' + m.content).join('|')",
  completion: 'llm.completion',
  calls: "llm.toolCalls.map(c, c.name + c.arguments).join('|')",
  params: 'llm.params',
  kind: "backend.type + ' ' + backend.protocol + ' ' + proxy.bind.substring(0, 5)",
  tokens: '[llm.inputTokens, llm.outputTokens, llm.totalTokens, llm.cachedInputTokens]',
  names: "llm.provider + ' ' + llm.requestModel + ' ' + llm.responseModel",
  first: "llm.timeToFirstToken >= duration('0s') && llm.timePerOutputToken >= duration('0s')",
  streaming: 'llm.streaming',
  request: "[llmRequest.model, llmRequest.messages[1].content[0].text].join(' ') + string(llmRequest.temperature)"
}

async function start(t: TestContext, provider: string, more: { add?: object; policies?: object } = {}) {
  const models = await startModels()
  t.after(() => models.close())
  const file = join(mkdtempSync(join(tmpdir(), 'weir-llm-')), 'log')
  const ai = { provider: { [provider]: {}, host: '127.0.0.1', port: models.port } }
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      frontendPolicies: { accessLog: { add: more.add ?? ADDED } },
      binds: [{ port: 0, listeners: [{ routes: [{ name: 'r', policies: more.policies ?? {}, backends: [{ ai }] }] }] }]
    }),
    { log: { format: 'json', fd: openSync(file, 'w') } }
  )
  const ask = (body: object) =>
    fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
  /** Ends the gateway. */
  const lines = async () => {
    await gateway.close()
    return readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }
  return { models, gateway, ask, lines }
}

for (const provider of ['openai', 'anthropic', 'gemini']) {
  test(`expressions of the log read all of it, whole or streamed: ${provider}`, async (t) => {
    const { ask, lines } = await start(t, provider)
    for (const stream of [false, true]) {
      await (await ask({ ...ASK, stream })).text()
      await (await ask({ ...ASK, stream, tools: TOOLS })).text()
    }
    const [whole, wholeCall, streamed, streamedCall] = await lines()
    for (const line of [whole!, streamed!]) {
      equal(line.prompt, 'system:Be kind|user:Hi')
      equal(line.completion, '["Hello, world"]')
      equal(line.calls, '')
      equal(line.request, 'm1 Hi0.5')
      equal(line.params, '{"temperature":0.5,"max_tokens":9}')
      equal(line.kind, 'ai llm bind/')
      equal(line.tokens, '[12,7,19,4]')
      match(String(line.names), /m1 /)
      equal(line.streaming, line === streamed)
      // No pace without a stream: the field is left out.
      equal(line.first, line === streamed ? true : undefined)
      equal(line['gen_ai.operation.name'], 'chat')
      equal(line['gen_ai.usage.cache_read.input_tokens'], 4)
      equal(line['gen_ai.usage.cache_creation.input_tokens'], undefined)
    }
    for (const line of [wholeCall!, streamedCall!]) equal(line.calls, 'weather{"city":"Paris"}')
  })
}

test('response policies read what is known by then, and metrics count it under the models', async (t) => {
  const set = {
    'x-model': 'llm.requestModel',
    'x-tokens': 'string(llm.totalTokens)',
    'x-said': "llm.completion.join('|')",
    'x-asked': 'llm.prompt[1].content',
    'x-limit': 'string(llmRequest.max_completion_tokens)'
  }
  const { ask, gateway } = await start(t, 'anthropic', { policies: { transformation: { response: { set } } } })
  const whole = await ask(ASK)
  const of = ({ headers }: Response) => Object.keys(set).map((name) => headers.get(name))
  await whole.text()
  deepEqual(of(whole), ['m1', '19', 'Hello, world', 'Hi', '9'])
  const streamed = await ask({ ...ASK, stream: true })
  deepEqual(of(streamed), ['m1', null, null, 'Hi', '9'])
  await streamed.text()
  const text = gateway.metrics()
  await gateway.close()
  const labels =
    'route="r",gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",gen_ai_request_model="m1",gen_ai_response_model="m1"'
  ok(text.includes(`gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="input"} 24`), text)
  ok(text.includes(`gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="output"} 14`))
  ok(text.includes(`gen_ai_client_operation_duration_seconds_count{${labels},error_type=""} 2`))
  ok(text.includes(`gen_ai_server_time_to_first_token_seconds_count{${labels}} 1`))
})

test('a stream that breaks counts as an error, by its type', async (t) => {
  const { models, ask, gateway } = await start(t, 'openai')
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: {"choices":[{"index":0,"delta":{"content":"a"}}],"id":"c","model":"m"}\n\n')
    return true
  }
  await (await ask({ ...ASK, stream: true })).text()
  const text = gateway.metrics()
  await gateway.close()
  match(
    text,
    /gen_ai_client_operation_duration_seconds_count\{[^}]*gen_ai_request_model="other"[^}]*error_type="internal"\} 1/
  )
})

test('an endless answer is captured up to a bound, and only where an expression reads it', async (t) => {
  const piece = 'x'.repeat(10_000)
  for (const [expression, wanted] of [
    ['size(llm.completion[0])', 65_536],
    ['llm.provider', 'openai']
  ] as const) {
    const { models, ask, lines } = await start(t, 'openai', { add: { logged: expression } })
    models.instead = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const chunk = { choices: [{ index: 0, delta: { content: piece } }], id: 'c', model: 'm' }
      for (let i = 0; i < 20; i++) response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      response.end('data: [DONE]\n\n')
      return true
    }
    await (await ask({ ...ASK, stream: true })).text()
    equal((await lines())[0]?.logged, wanted)
  }
})

test('the tier that has served an answer is known, whole or streamed', async (t) => {
  const { models, ask, lines } = await start(t, 'openai', { add: { tier: 'llm.serviceTier' } })
  const head = { id: 'c', model: 'm', service_tier: 'flex' }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  models.instead = ({ body }, response) => {
    if (body.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\ndata: [DONE]\n\n`)
    } else {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }))
    }
    return true
  }
  await (await ask(ASK)).text()
  await (await ask({ ...ASK, stream: true })).text()
  deepEqual(
    (await lines()).map(({ tier }) => tier),
    ['flex', 'flex']
  )
})

/** What image models of Google count, and what OpenRouter and LiteLLM count of others. */
const BY_KIND: Readonly<Record<string, object>> = {
  gemini: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: 30,
      candidatesTokenCount: 20,
      totalTokenCount: 50,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 3 },
        { modality: 'IMAGE', tokenCount: 16 },
        { modality: 'AUDIO', tokenCount: 11 }
      ],
      cachedContentTokenCount: 4,
      cacheTokensDetails: [{ modality: 'IMAGE', tokenCount: 4 }],
      candidatesTokensDetails: [
        { modality: 'IMAGE', tokenCount: 14 },
        { modality: 'AUDIO', tokenCount: 6 }
      ]
    },
    modelVersion: 'm',
    responseId: 'r'
  },
  openai: {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 30,
      completion_tokens: 20,
      total_tokens: 50,
      prompt_tokens_details: { audio_tokens: 11, image_tokens: 12 },
      completion_tokens_details: { audio_tokens: 6, image_tokens: 14 }
    }
  }
}

for (const [provider, answer] of Object.entries(BY_KIND)) {
  test(`audio and images are counted apart, for the log and for the client: ${provider}`, async (t) => {
    const counts = '[llm.inputAudioTokens, llm.inputImageTokens, llm.outputAudioTokens, llm.outputImageTokens]'
    const { models, ask, lines } = await start(t, provider, { add: { counts } })
    models.instead = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      return true
    }
    const { usage } = (await (await ask(ASK)).json()) as { usage: Record<string, Record<string, number>> }
    // OpenAI counts those of a cache among them.
    equal(usage.prompt_tokens_details!.image_tokens, provider === 'gemini' ? 16 : 12)
    equal(usage.completion_tokens_details!.image_tokens, 14)
    equal((await lines())[0]?.counts, '[11,12,6,14]')
  })
}

test('the request side has no llm, and the error says where it is', async (t) => {
  const policies = { authorization: { rules: ["llm.requestModel == 'm1'"] } }
  await rejects(start(t, 'openai', { policies }), /llm cannot be read here; .*llm is there once a backend is asked/)
  const settings = { authorization: { rules: ["llmRequest.model == 'm1'"] } }
  await rejects(start(t, 'openai', { policies: settings }), /llmRequest cannot be read here; .*once a backend is asked/)
})
