/** What happens around the formats: failover, refusals, streams that break, clients that leave, what is logged. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startGateway, type TestOptions } from '#engine/testing/gateway.ts'
import { type Models, startModels } from '#engine/testing/models.ts'

const ASK = { model: 'm1', messages: [{ role: 'user', content: 'Hi' }] }

async function models(t: TestContext): Promise<Models> {
  const started = await startModels()
  t.after(() => started.close())
  return started
}

async function gateway(t: TestContext, ai: object, policies: object = {}, options: TestOptions = {}) {
  const started = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [{ ai }] }] }] }]
    }),
    options
  )
  t.after(() => started.close())
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${started.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body)
    })
  return { ...started, ask }
}

const at = (kind: string, { port }: Models, name = kind) => ({ name, [kind]: {}, host: '127.0.0.1', port })

test('the next provider answers when one is overloaded, limited or not there, in the same request', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  let status = 529
  first.instead = (_, response) => {
    response
      .writeHead(status, { 'retry-after': '30' })
      .end('{"type":"error","error":{"type":"overloaded_error","message":"x"}}')
    return true
  }
  const nobody = await startModels()
  nobody.close()
  const { ask } = await gateway(t, {
    groups: [
      { providers: [at('anthropic', first)] },
      { providers: [at('custom', nobody)] },
      { providers: [at('gemini', second)] }
    ]
  })
  for (status of [529, 429]) {
    const answer = await ask('/v1/chat/completions', ASK)
    equal(answer.status, 200)
    equal(
      ((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content,
      'Hello, world'
    )
  }
  // It said for how long it wants to be left alone: the second request did not go there.
  deepEqual([first.requests.length, second.requests.length], [1, 2])
})

test('when all fail, the client gets the last answer in its own format', async (t) => {
  const only = await models(t)
  only.instead = (_, response) => {
    response
      .writeHead(503, { 'content-type': 'application/json' })
      .end('{"error":{"code":503,"message":"try later","status":"UNAVAILABLE"}}')
    return true
  }
  const { ask } = await gateway(t, {
    groups: [{ providers: [at('gemini', only, 'a'), at('gemini', only, 'b')] }],
    routes: { '*': 'Messages' }
  })
  const answer = await ask('/v1/messages', { ...ASK, max_tokens: 5 })
  equal(answer.status, 503)
  const body = (await answer.json()) as { type: string; error: { message: string } }
  deepEqual([body.type, body.error.message], ['error', 'try later'])
  equal(only.requests.length, 2)
})

test("what a provider's format cannot say is refused by name, or left out, as the configuration says", async (t) => {
  const provider = await models(t)
  const ai = { provider: { anthropic: {}, host: '127.0.0.1', port: provider.port } }
  const body = { ...ASK, seed: 7, frequency_penalty: 0.5 }
  // By default only for what changes the meaning: a seed is a hint.
  for (const [mode, field] of [
    [{}, 'frequency_penalty'],
    [{ unsupported: 'tolerant' }, 'frequency_penalty'],
    [{ unsupported: 'refuse' }, 'seed']
  ] as const) {
    const strict = await gateway(t, { ...ai, ...mode })
    const refused = await strict.ask('/v1/chat/completions', body)
    equal(refused.status, 400)
    const { error } = (await refused.json()) as { error: { message: string; param: string; type: string } }
    match(error.message, new RegExp(`^${field}: cannot be carried to anthropic`))
    deepEqual([error.param, error.type, provider.requests.length], [field, 'invalid_request_error', 0])
  }
  const tolerant = await gateway(t, ai)
  const passed = await tolerant.ask('/v1/chat/completions', { ...body, frequency_penalty: 0 })
  deepEqual([passed.status, passed.headers.get('x-weir-dropped')], [200, 'seed'])
  const lenient = await gateway(t, { ...ai, unsupported: 'drop' })
  const answer = await lenient.ask('/v1/chat/completions', body)
  deepEqual([answer.status, answer.headers.get('x-weir-dropped')], [200, 'seed, frequency_penalty'])
})

test('requests that are none are refused in the words of their format', async (t) => {
  const provider = await models(t)
  const { ask } = await gateway(t, {
    provider: { openai: {}, host: '127.0.0.1', port: provider.port },
    routes: { '/messages': 'Messages', ':generateContent': 'GenerateContent' }
  })
  const cases: [string, string, RegExp][] = [
    ['/v1/chat/completions', '{', /"message":"the body is not valid JSON"/],
    ['/v1/chat/completions', '[]', /the body must be a JSON object/],
    ['/v1/chat/completions', '{"messages":[]}', /"message":"model: is required/],
    ['/v1/messages', '{"model":"m","messages":[{"role":"user"}]}', /"type":"error".*messages\[0\]\.content/],
    ['/v1beta/x:generateContent', '{}', /"status":"INVALID_ARGUMENT"/]
  ]
  for (const [path, body, wanted] of cases) {
    const answer = await ask(path, body)
    equal(answer.status, 400, path + body)
    match(await answer.text(), wanted)
    match(answer.headers.get('content-type') ?? '', /^application\/json/)
  }
  equal(provider.requests.length, 0)
})

test('bodies without bottom and names that are none end as errors, at the client and at the provider', async (t) => {
  const provider = await models(t)
  const deep = '['.repeat(200_000) + ']'.repeat(200_000)
  const routes = { ':generateContent': 'GenerateContent', '*': 'Completions' }
  const { ask } = await gateway(t, {
    provider: { openai: { model: 'x' }, host: '127.0.0.1', port: provider.port },
    routes
  })
  const tools = `[{"type":"function","function":{"name":"a","parameters":{"a":${deep}}}}]`
  const cases: [string, string, RegExp][] = [
    ['/v1/chat/completions', `{"model":"m","messages":[],"metadata":${deep}}`, /nested too deeply/],
    [
      '/v1/chat/completions',
      `{"model":"m","messages":[{"role":"user","content":"x"}],"tools":${tools}}`,
      /nested too deeply/
    ],
    ['/v1beta/models/%zz:generateContent', '{"contents":[]}', /encoded in a way that is not accepted/]
  ]
  for (const [path, body, wanted] of cases) {
    const answer = await ask(path, body)
    equal(answer.status, 400)
    match(await answer.text(), wanted)
  }
  provider.instead = (_, response) => {
    const call = `{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"a\\":${deep}}"}}`
    const message = `{"role":"assistant","content":null,"tool_calls":[${call}]}`
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`{"id":"a","model":"m","choices":[{"index":0,"message":${message},"finish_reason":"tool_calls"}]}`)
    return true
  }
  const answer = await ask('/v1beta/models/m:generateContent', '{"contents":[{"parts":[{"text":"x"}]}]}')
  equal(answer.status, 200)
  match(await answer.text(), /MALFORMED_FUNCTION_CALL/)
})

test("the gateway's own errors are in the client's terms as well", async (t) => {
  const nobody = await startModels()
  nobody.close()
  const { ask } = await gateway(t, {
    provider: { openai: {}, host: '127.0.0.1', port: nobody.port },
    routes: { '/messages': 'Messages', '/raw': 'Passthrough' }
  })
  const completions = await ask('/v1/chat/completions', ASK)
  equal(completions.status, 502)
  equal(
    ((await completions.json()) as { error: { message: string } }).error.message,
    'the backend refused the connection'
  )
  const messages = await ask('/v1/messages', { ...ASK, max_tokens: 5 })
  const body = (await messages.json()) as { type: string; error: { type: string } }
  deepEqual([messages.status, body.type, body.error.type], [502, 'error', 'api_error'])
  equal(await (await ask('/raw', ASK)).text(), 'the backend refused the connection\n')
})

for (const kind of ['openai', 'anthropic'] as const) {
  test(`a stream of ${kind} that breaks off ends with an error event, well formed`, async (t) => {
    const provider = await models(t)
    let ends: 'clean' | 'reset' | 'nonsense' = 'clean'
    provider.instead = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const first =
        kind === 'openai'
          ? 'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}\n\n'
          : 'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}\n\n'
      response.write(first, () => {
        if (ends === 'clean') response.end()
        else if (ends === 'reset') response.socket?.destroy()
        else response.end('data: {"half\n\n')
      })
      return true
    }
    const { ask } = await gateway(t, {
      provider: { [kind]: {}, host: '127.0.0.1', port: provider.port },
      routes: { '/messages': 'Messages', '*': 'Completions' }
    })
    for (const end of ['clean', 'reset', 'nonsense'] as const) {
      ends = end
      const completions = await (await ask('/v1/chat/completions', { ...ASK, stream: true })).text()
      match(completions, /data: \{"error":\{[^\n]*\}\n\n(?:data: \[DONE\]\n\n)?$/, ends)
      const messages = await (await ask('/v1/messages', { ...ASK, max_tokens: 5, stream: true })).text()
      match(messages, /event: error\ndata: \{"type":"error"[^\n]*\}\n\n$/, ends)
    }
  })
}

test('a client that leaves ends the provider’s work', async (t) => {
  const provider = await models(t)
  const gone = Promise.withResolvers<void>()
  provider.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': working\n\ndata: {"choices":[{"index":0,"delta":{"content":"a"}}],"id":"c","model":"m"}\n\n')
    response.on('close', () => gone.resolve())
    return true
  }
  const { port } = await gateway(t, { provider: { openai: {}, host: '127.0.0.1', port: provider.port } })
  const client = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' })
  client.end(JSON.stringify({ ...ASK, stream: true }))
  const [response] = (await once(client, 'response')) as [import('node:http').IncomingMessage]
  await once(response, 'data')
  client.destroy()
  await gone.promise
})

test('the log says which model and how many tokens; limits of tokens are charged with them', async (t) => {
  const provider = await models(t)
  const file = join(mkdtempSync(join(tmpdir(), 'weir-llm-')), 'log')
  const log = { format: 'json', fd: openSync(file, 'w') } as const
  const limit = { rateLimit: { local: [{ tokens: 30, unit: 'Hours' }] } }
  const ai = { provider: { anthropic: { model: 'claude-x' }, host: '127.0.0.1', port: provider.port } }
  const { ask } = await gateway(t, ai, limit, { log })
  const statuses = []
  for (const stream of [false, true, false]) {
    const answer = await ask('/v1/chat/completions', { ...ASK, stream })
    await answer.text()
    statuses.push(answer.status)
  }
  // 19 tokens each: the second takes the limit below nothing.
  deepEqual(statuses, [200, 200, 429])
  equal(provider.requests[0]?.body.model, 'claude-x')
  while (readFileSync(file, 'utf8').split('\n').length < 4) await new Promise((resolve) => setImmediate(resolve))
  for (const line of readFileSync(file, 'utf8').split('\n').slice(0, 2)) {
    const fields = JSON.parse(line) as Record<string, unknown>
    equal(fields['gen_ai.provider.name'], 'anthropic')
    equal(fields['gen_ai.request.model'], 'claude-x')
    deepEqual([fields['gen_ai.usage.input_tokens'], fields['gen_ai.usage.output_tokens']], [12, 7])
  }
})

test('aliases name models, pass-through changes nothing, and mistakes of the configuration are errors', async (t) => {
  const provider = await models(t)
  const { ask } = await gateway(t, {
    provider: { openai: {}, host: '127.0.0.1', port: provider.port },
    modelAliases: { fast: 'gpt-small' },
    routes: { '/v1/raw': 'Passthrough', '*': 'Completions' }
  })
  await ask('/v1/chat/completions', { ...ASK, model: 'fast' }, { authorization: 'Bearer own' })
  deepEqual(
    [provider.requests[0]?.body.model, provider.requests[0]?.headers.authorization],
    ['gpt-small', 'Bearer own']
  )
  await ask('/v1/raw', '{ "odd":  1 }')
  deepEqual([provider.requests[1]?.path, provider.requests[1]?.body], ['/v1/raw', { odd: 1 }])
  const wrong = {
    groups: [
      {
        providers: [
          { name: 'a', openai: {} },
          { name: 'a', azureopenai: {} },
          { name: 'b', custom: {} }
        ]
      }
    ],
    routes: { '/e': 'Telepathy' },
    promptGuard: {}
  }
  await rejects(gateway(t, wrong), (error: Error) => {
    for (const part of [
      /endpoint: is required/,
      /host: is required for a custom/,
      /must be one of Completions, .*Passthrough/,
      /promptGuard/
    ]) {
      match(error.message, part)
    }
    return true
  })
  await rejects(
    gateway(t, { groups: [{ providers: [at('openai', provider), at('gemini', provider, 'openai')] }] }),
    /two providers are called openai/
  )
})

test('the example of the documentation: three providers behind one endpoint', async (t) => {
  const [first, second] = [await models(t), await models(t)]
  first.instead = (_, response) => {
    response.writeHead(500).end()
    return true
  }
  const here = ({ port }: Models, indent: string) => `host: 127.0.0.1${indent}port: ${port}`
  const text = readFileSync(new URL('../../docs/examples/llm.yaml', import.meta.url), 'utf8')
    .replace('port: 8080', 'port: 0')
    .replace('openai: {},', `openai: {}, ${here(first, ', ')},`)
    .replace(
      'anthropic: { model: claude-sonnet-4-5 }',
      (all) => `${all}\n${' '.repeat(26)}${here(second, `\n${' '.repeat(26)}`)}`
    )
    .replace(/ +- name: gemini[\s\S]*?none}" } }\n/, '')
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  const body = JSON.stringify({ ...ASK, model: 'fast' })
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, { method: 'POST', body })
  equal(answer.status, 200)
  match(await answer.text(), /Hello, world/)
  deepEqual([first.requests[0]?.body.model, second.requests[0]?.body.model], ['gpt-5-mini', 'claude-sonnet-4-5'])
})
