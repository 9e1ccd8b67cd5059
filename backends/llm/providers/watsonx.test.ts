/** IBM watsonx.ai: tokens for keys, its own names in requests, its streams and errors, for clients of all formats. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import OpenAI from 'openai'
import type { Body } from '#backends/demo/models/wire.ts'
import { gatewayOf, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'

const KEY = 'canary-of-ibm'
const BUSY = {
  errors: [
    { code: 'token_quota_reached', message: 'the quota is used up', more_info: 'https://cloud.ibm.com/apidocs' }
  ],
  trace: '23e11747',
  status_code: 403
}
const USAGE = { completion_tokens: 3, prompt_tokens: 38, total_tokens: 41 }
const head = { id: 'chatcmpl-5d', object: 'chat.completion.chunk', model_id: 'granite', model: 'granite', created: 1 }
const choice = (delta: object, finish_reason: string | null) => ({ choices: [{ index: 0, finish_reason, delta }] })
const EVENTS = [
  {
    ...head,
    ...choice({ role: 'assistant', content: '' }, null),
    system: { warnings: [{ id: 'disclaimer_warning' }] }
  },
  { ...head, ...choice({ content: 'C' }, null) },
  { ...head, ...choice({ content: 'iao' }, null) },
  { ...head, ...choice({ content: '' }, 'stop') },
  { ...head, choices: [], usage: USAGE }
]
const STREAM = EVENTS.map((one, i) => `id: ${i + 1}\nevent: message\ndata: ${JSON.stringify(one)}\n\n`).join('')
const WHOLE = {
  ...{ ...head, object: 'chat.completion', model_version: '4.0.0', usage: USAGE },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Ciao' }, finish_reason: 'stop' }]
}

/** "Generate embeddings" and "Rerank" of its API reference. */
const EMBEDDED = {
  model_id: 'slate',
  results: [{ embedding: [0.5, -1] }, { embedding: [2, 0.25] }],
  created_at: '2024-02-21T17:32:28Z',
  input_token_count: 10
}
const RANKED = {
  model_id: 'cross-encoder/ms-marco-minilm-l-12-v2',
  created_at: '2024-10-18T06:57:42.032Z',
  results: [
    { index: 0, score: -2.5847978591918945 },
    { index: 1, score: 6.9 }
  ],
  input_token_count: 318
}

/** What it was sent. */
async function iam(t: TestContext, expiresIn: number | null = 3600) {
  const forms: { path: string; form: object }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (data) => {
      text += data
    })
    request.on('end', () => {
      forms.push({ path: request.url!, form: Object.fromEntries(new URLSearchParams(text)) })
      if (expiresIn === null) response.writeHead(400).end('{"errorCode":"BXNIM0415E"}')
      else response.end(JSON.stringify({ access_token: `eyJ.token.${forms.length}`, expires_in: expiresIn }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { forms, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function watsonx(t: TestContext, watsonxIamUrl: string, params: object = {}) {
  const models = await provider(t)
  models.instead = ({ path, body }, response: ServerResponse) => {
    if (body.model_id === 'busy' && path.includes('chat_stream')) {
      const events = [
        JSON.stringify(EVENTS[0]),
        JSON.stringify(EVENTS[1]),
        JSON.stringify({ errors: BUSY.errors, trace: BUSY.trace })
      ]
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map((data, i) => `id: ${i}\nevent: message\ndata: ${data}\n\n`).join(''))
    } else if (body.model_id === 'busy') response.writeHead(403).end(JSON.stringify(BUSY))
    else if (path.includes('/embeddings')) response.writeHead(200).end(JSON.stringify(EMBEDDED))
    else if (path.includes('/rerank')) response.writeHead(200).end(JSON.stringify(RANKED))
    else if (/chat_stream/.test(path)) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAM)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(WHOLE))
    return true
  }
  const place = { host: '127.0.0.1', port: models.port, watsonxIamUrl }
  const all = { ...place, apiKey: KEY, watsonxProject: 'p-1', ...params }
  const gateway = await gatewayOf(t, { llm: { port: 0, models: [{ name: '*', provider: 'watsonx', params: all }] } })
  return { models, ...gateway }
}

const TEXT = 'Hello in Italian?'
const REQUESTS = [
  ['/v1/chat/completions', { model: 'granite', messages: [{ role: 'user', content: TEXT }] }],
  ['/v1/responses', { model: 'granite', input: TEXT }],
  ['/v1/messages', { model: 'granite', max_tokens: 9, messages: [{ role: 'user', content: TEXT }] }],
  ['/v1beta/models/granite:generateContent', { contents: [{ role: 'user', parts: [{ text: TEXT }] }] }]
] as const

test('clients of all formats are answered, whole and streamed, with one token for all', async (t) => {
  const { forms, url } = await iam(t)
  const { models, ask } = await watsonx(t, url)
  for (const [path, body] of REQUESTS) {
    const whole = await (await ask(path, body)).text()
    ok(whole.includes('Ciao') && whole.includes('38'), whole)
    const events = /generate/.test(path)
      ? await ask(path.replace('generateContent', 'streamGenerateContent?alt=sse'), body)
      : await ask(path, { ...body, stream: true })
    const text = await events.text()
    ok(text.includes('iao') && !/"error":\{|event: error/.test(text), text)
    if (path.endsWith('/completions')) match(text, /data: \[DONE\]/)
  }
  deepEqual(
    models.requests.map(({ path, headers, body }) => [path, headers.authorization, body.model_id, body.project_id]),
    REQUESTS.flatMap(() =>
      ['chat', 'chat_stream'].map((end) => {
        return [`/ml/v1/text/${end}?version=2025-04-23`, 'Bearer eyJ.token.1', 'granite', 'p-1']
      })
    )
  )
  for (const { body } of models.requests)
    for (const name of ['model', 'stream', 'stream_options']) equal(name in body, false, name)
  const grant = 'urn:ibm:params:oauth:grant-type:apikey'
  deepEqual(forms, [{ path: '/identity/token', form: { grant_type: grant, apikey: KEY } }])
  equal(
    JSON.stringify(models.requests.map(({ path, headers, bytes }) => [path, headers, `${bytes}`])).includes(KEY),
    false
  )
})

test('a request is in its own words, and no client says who pays', async (t) => {
  const { url } = await iam(t)
  const { models, ask } = await watsonx(t, url, { watsonxProject: undefined, watsonxSpace: 's-1' })
  const [path, body] = REQUESTS[0]
  const named = { type: 'function', function: { name: 'f' } }
  const theirs = { project_id: 'theirs', space_id: 'theirs', model_id: 'theirs', user: 'u' }
  for (const tool_choice of ['required', named]) await (await ask(path, { ...body, ...theirs, tool_choice })).text()
  const { messages } = body
  const common = { model_id: 'granite', space_id: 's-1', messages }
  deepEqual(
    models.requests.map((request) => request.body),
    [
      { ...common, tool_choice_option: 'required' },
      { ...common, tool_choice: named }
    ]
  )
  await (await ask(path, { ...body, model: 'deployment/a/../b' })).text()
  const { path: deployed, body: sent } = models.requests.at(-1)!
  equal(deployed, '/ml/v1/deployments/a%2F..%2Fb/text/chat?version=2025-04-23')
  deepEqual(sent, { messages })
})

test('its errors are in the format of each client, and its quota is none of permissions', async (t) => {
  const { url } = await iam(t)
  const { ask } = await watsonx(t, url)
  for (const [path, body] of REQUESTS) {
    const answer = await ask(path.replace('granite', 'busy'), { ...body, model: 'busy' })
    equal(answer.status, 403)
    const { error, errors } = await jsonOf(answer)
    equal(errors, undefined)
    equal(error.message, 'the quota is used up')
    if (path.endsWith('/completions'))
      deepEqual([error.type, error.code], ['insufficient_quota', 'token_quota_reached'])
  }
})

test('an error within a stream is one that each client knows, behind what came', async (t) => {
  const { url } = await iam(t)
  const { ask, base } = await watsonx(t, url)
  for (const [path, body] of REQUESTS) {
    const streamPath = path.replace('granite:generateContent', 'busy:streamGenerateContent?alt=sse')
    const events = await (
      await ask(streamPath, 'contents' in body ? body : { ...body, model: 'busy', stream: true })
    ).text()
    match(events, /"C"[\s\S]*"error"[\s\S]*the quota is used up/)
    equal(events.includes('more_info'), false)
  }
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: TEXT }]
  const stream = await client.chat.completions.create({ model: 'busy', messages, stream: true })
  let text = ''
  const reading = (async () => {
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
  })()
  await rejects(reading, { message: 'the quota is used up', code: 'token_quota_reached' })
  equal(text, 'C')
})

test('a token is shown as it is; without one the client is told, and nobody the key', async (t) => {
  const { forms, url } = await iam(t)
  const { models, ask } = await watsonx(t, url, { apiKey: 'eyJhbGciOiJub25lIn0.e30.c2ln' })
  equal((await ask(...REQUESTS[0])).status, 200)
  equal(models.requests[0]?.headers.authorization, 'Bearer eyJhbGciOiJub25lIn0.e30.c2ln')
  deepEqual(forms, [])
  const refusing = await iam(t, null)
  const without = await watsonx(t, refusing.url)
  const refused = await without.ask(...REQUESTS[0])
  equal(refused.status, 503)
  equal(`${await refused.text()}${without.logged.join()}`.includes(KEY), false)
  match(without.logged.join(), /no credentials of IBM Cloud: 127\.0\.0\.1:\d+ answered with status 400/)
  deepEqual(without.models.requests, [])
})

test('texts are embedded and documents ranked, for clients of all formats, and the file says who pays', async (t) => {
  const { url } = await iam(t)
  const { models, ask } = await watsonx(t, url)
  const vectors = EMBEDDED.results.map(({ embedding }) => embedding)
  const theirs = { project_id: 'theirs' }
  const ours = await jsonOf(await ask('/v1/embeddings', { model: 'slate', input: ['a', 'b'] }))
  deepEqual([ours.data.map(({ embedding }: Body) => embedding), ours.usage.prompt_tokens], [vectors, 10])
  const requests = ['a', 'b'].map((text) => ({ model: 'models/slate', content: { parts: [{ text }] } }))
  const gemini = await jsonOf(await ask('/v1beta/models/slate:batchEmbedContents', { requests }))
  deepEqual(
    gemini.embeddings.map(({ values }: Body) => values),
    vectors
  )
  const cohere = { model: 'slate', texts: ['a', 'b'], input_type: 'search_document', embedding_types: ['float'] }
  const { embeddings, meta } = await jsonOf(await ask('/v2/embed', cohere))
  deepEqual([embeddings.float, meta.billed_units.input_tokens], [vectors, 10])
  const documents = ['c', 'd']
  const first = await jsonOf(await ask('/v2/rerank', { model: 'slate', query: 'q', documents, top_n: 2 }))
  const v1 = await jsonOf(await ask('/v1/rerank', { model: 'slate', query: 'q', documents, return_documents: true }))
  const ranked = [6.9, RANKED.results[0]!.score]
  for (const { results } of [first, v1])
    deepEqual(
      results.map(({ relevance_score: score }: Body) => score),
      ranked
    )
  deepEqual([v1.results[0].document, v1.usage], [{ text: 'd' }, { total_tokens: 318 }])
  const account = { project_id: 'p-1' }
  const embed = { model_id: 'slate', inputs: ['a', 'b'], ...account }
  const rank = { model_id: 'slate', query: 'q', inputs: [{ text: 'c' }, { text: 'd' }], ...account }
  deepEqual(
    models.requests.map(({ path, body, headers }) => [path, body, headers.authorization]),
    [
      ...[embed, embed, embed].map((body) => ['/ml/v1/text/embeddings', body] as const),
      ['/ml/v1/text/rerank', { ...rank, parameters: { return_options: { top_n: 2 } } }] as const,
      ['/ml/v1/text/rerank', rank] as const
    ].map(([path, body]) => [`${path}?version=2025-04-23`, body, 'Bearer eyJ.token.1'])
  )
  for (const [body, why] of [
    [{ model: 'slate', input: 'a', dimensions: 8 }, /dimensions: cannot be said/],
    [{ model: 'slate', input: 'a', ...theirs }, /project_id/],
    [{ model: 'deployment/a', input: 'a' }, /chat only of models that are deployed/]
  ] as const) {
    const refused = await ask('/v1/embeddings', body)
    equal(refused.status, 400)
    match(await refused.text(), why)
  }
  const busy = await ask('/v1/embeddings', { model: 'busy', input: 'a' })
  deepEqual([busy.status, (await jsonOf(busy)).error.code], [403, 'token_quota_reached'])
})

test('mistakes are told with their place', async (t) => {
  const cases: [params: object, RegExp][] = [
    [{ watsonxProject: undefined }, /watsonxProject: is required for watsonx, or watsonxSpace/],
    [{ watsonxSpace: 's' }, /watsonxSpace: goes without watsonxProject/],
    [{ watsonxIamUrl: 'http://iam.example' }, /watsonxIamUrl: must match/],
    [{ host: undefined, port: undefined, baseUrl: 'https://a.example/ml/v1' }, /baseUrl: must be the address without/]
  ]
  for (const [params, wanted] of cases) await rejects(watsonx(t, 'https://iam.example', params), wanted)
})
