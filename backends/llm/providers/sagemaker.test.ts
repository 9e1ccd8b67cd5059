/** Endpoints of SageMaker, for clients of all formats: signatures, paths, streams in pieces, errors of containers. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import OpenAI from 'openai'
import { encodeEvent } from '#backends/llm/testing/aws-event-stream.ts'
import { gatewayOf, jsonOf } from '#backends/llm/testing/llm-gateway.ts'
import { aws, checkSignatures, gateway, KEYS, models, there } from '#engine/testing/llm.ts'
import type { Models } from '#engine/testing/models.ts'

const EVENT_STREAM = 'application/vnd.amazon.eventstream'
const TEXT = 'Grüß dich, Welt'
const USAGE = { prompt_tokens: 38, completion_tokens: 3, total_tokens: 41 }
const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: '/opt/ml/model' }
const choice = (delta: object, finish_reason: string | null) => ({ choices: [{ index: 0, delta, finish_reason }] })
const CHUNKS = [
  { ...head, ...choice({ role: 'assistant', content: 'Grüß ' }, null) },
  { ...head, ...choice({ content: 'dich, Welt' }, null) },
  { ...head, ...choice({ content: '' }, 'stop') },
  { ...head, choices: [], usage: USAGE }
]
const SSE = `${CHUNKS.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`
/** Of LMI, without a line end behind the last. */
const LINES = CHUNKS.map((one) => JSON.stringify(one)).join('\n')
const WHOLE = {
  ...{ ...head, object: 'chat.completion', usage: USAGE },
  choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }]
}
const MODEL_ERROR = {
  ErrorCode: 'CLIENT_ERROR_FROM_MODEL',
  LogStreamArn: 'arn:aws:logs:eu-west-1:123456789012:log-group:/aws/sagemaker/Endpoints/chat',
  Message:
    'Received client error (400) from primary with message "...". See https://eu-west-1.console.aws.amazon.com/x in account 123456789012 for more information.',
  OriginalMessage: JSON.stringify({ error: { message: 'too many tokens: 9', type: 'BadRequestError', code: 400 } }),
  OriginalStatusCode: 400
}

/** Pieces of `size` bytes, so that characters are cut. */
function pieces(stream: string, size: number): Buffer[] {
  const bytes = Buffer.from(stream)
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, i) =>
    encodeEvent('event', 'PayloadPart', bytes.subarray(i * size, (i + 1) * size))
  )
}

function error(response: ServerResponse, status: number, type: string, body: object): void {
  response.writeHead(status, { 'x-amzn-requestid': 'r', 'x-amzn-errortype': type }).end(JSON.stringify(body))
}

/** A runtime with one endpoint, "chat". */
function endpoint(mock: Models, stream: readonly Buffer[] = pieces(SSE, 7)): string[] {
  const answer = ({ path }: { readonly path: string }, response: ServerResponse): void => {
    if (path.includes('/busy/')) {
      error(response, 424, 'ModelError', { ...MODEL_ERROR, OriginalStatusCode: 503, OriginalMessage: '' })
    } else if (path.includes('/wrong/')) error(response, 424, 'ModelError', MODEL_ERROR)
    else if (!path.includes('/chat/')) error(response, 400, 'ValidationError', { Message: 'Endpoint not found.' })
    else {
      const isStreamed = path.endsWith('-response-stream')
      response.writeHead(200, {
        'content-type': isStreamed ? EVENT_STREAM : 'application/json',
        'x-amzn-requestid': 'r'
      })
      response.end(isStreamed ? Buffer.concat(stream) : JSON.stringify(WHOLE))
    }
  }
  return checkSignatures(mock, KEYS, answer, 'sagemaker')
}

const ROUTES = {
  '/v1/responses': 'Responses',
  '/v1/messages': 'Messages',
  ':generateContent': 'GenerateContent',
  ':streamGenerateContent': 'GenerateContent',
  '/embeddings': 'Embeddings',
  '/rerank': 'Rerank',
  '*': 'Completions'
}
const ai = (mock: Models, sagemaker: object = {}, more: object = {}) => ({
  provider: { sagemaker: { region: 'eu-west-1', ...sagemaker }, ...there(mock), policies: aws(KEYS) },
  routes: ROUTES,
  ...more
})

const HI = 'Hello in German?'
const requestsFor = (model: string) =>
  [
    ['/v1/chat/completions', { model, messages: [{ role: 'user', content: HI }] }],
    ['/v1/responses', { model, input: HI }],
    ['/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content: HI }] }],
    [`/v1beta/models/${model}:generateContent`, { contents: [{ role: 'user', parts: [{ text: HI }] }] }]
  ] as const
const REQUESTS = requestsFor('chat')
type Ask = Awaited<ReturnType<typeof gateway>>['ask']

async function streamed(ask: Ask, [path, body]: (typeof REQUESTS)[number]): Promise<string> {
  const isGemini = path.endsWith('generateContent')
  const answer = isGemini
    ? await ask(path.replace(':generate', ':streamGenerate').concat('?alt=sse'), body)
    : await ask(path, { ...body, stream: true })
  equal(answer.headers.get('content-type')?.split(';')[0], 'text/event-stream')
  return answer.text()
}

/** Texts of all formats, joined. */
const textIn = (events: string): string =>
  [...events.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, data]) => {
      const { choices, delta, type, candidates } = JSON.parse(data!)
      if (type === 'response.output_text.delta') return delta
      return choices?.[0]?.delta?.content ?? delta?.text ?? candidates?.[0]?.content?.parts?.[0]?.text ?? ''
    })
    .join('')

test('clients of all formats are answered, whole and streamed, events or lines, however AWS cuts them', async (t) => {
  const mock = await models(t)
  for (const [stream, size] of [
    [SSE, 1],
    [SSE, 7],
    [SSE, 1e6],
    [LINES, 3],
    [LINES, 1e6]
  ] as const) {
    const problems = endpoint(mock, pieces(stream, size))
    const { ask } = await gateway(t, ai(mock))
    for (const request of REQUESTS) {
      const whole = await (await ask(request[0], request[1])).text()
      ok(whole.includes(TEXT) && whole.includes('38'), whole)
      const events = await streamed(ask, request)
      equal(textIn(events), TEXT, events)
      ok(!/"error":\{|event: error/.test(events), events)
      if (request[0].endsWith('/completions')) match(events, /data: \[DONE\]\n\n$/)
      // Of the last event.
      else ok(events.includes('38'), events)
    }
    deepEqual(problems, [])
  }
  const paths = mock.requests.slice(0, 8).map(({ path }) => path)
  const own = ['/endpoints/chat/invocations', '/endpoints/chat/invocations-response-stream']
  deepEqual(
    paths,
    REQUESTS.flatMap(() => own)
  )
})

test('a request names its model as the container knows it, and nobody but the file a component', async (t) => {
  const mock = await models(t)
  const problems = endpoint(mock)
  const field = 'x-amzn-sagemaker-inference-component'
  const hostile = { [field]: 'theirs', 'x-amzn-sagemaker-target-variant': 'theirs', authorization: 'Bearer theirs' }
  const [path, body] = REQUESTS[0]
  const developer = [{ role: 'developer', content: 'Be brief' }, ...body.messages]
  const request = { ...body, messages: developer, max_completion_tokens: 9 }
  for (const fields of [{}, { model: 'chat', inferenceComponent: 'a-1', servedModel: 'meta/llama' }]) {
    const { ask } = await gateway(t, ai(mock, fields))
    equal((await ask(path, request, hostile)).status, 200)
  }
  deepEqual(problems, [])
  const messages = [{ role: 'system', content: 'Be brief' }, ...body.messages]
  const [plain, named] = mock.requests as [Models['requests'][number], Models['requests'][number]]
  deepEqual([plain.body, plain.headers[field]], [{ messages, max_tokens: 9 }, undefined])
  deepEqual([named.body, named.headers[field]], [{ model: 'meta/llama', messages, max_tokens: 9 }, 'a-1'])
  const sent = JSON.stringify(mock.requests.map(({ headers }) => headers))
  equal(sent.includes('theirs'), false)
})

test('no client leaves the path of endpoints', async (t) => {
  const mock = await models(t)
  endpoint(mock)
  const { ask } = await gateway(t, ai(mock))
  for (const model of ['..', 'a/../b', '-a', 'a b', 'é', 'a'.repeat(64)]) {
    for (const [path, body] of requestsFor(encodeURIComponent(model))) {
      const answer = await ask(path, 'model' in body ? { ...body, model } : body)
      equal(answer.status, 400, `${path} ${model}`)
      match(await answer.text(), /must be the name of an endpoint|the path is encoded in a way/)
    }
  }
  deepEqual(mock.requests, [])
})

test("OpenAI's client reads streams and errors", async (t) => {
  const mock = await models(t)
  const problems = endpoint(mock)
  const { port } = await gateway(t, ai(mock))
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'k', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: HI }]
  let text = ''
  for await (const { choices } of await client.chat.completions.create({ model: 'chat', messages, stream: true }))
    text += choices[0]?.delta.content ?? ''
  deepEqual([text, problems], [TEXT, []])
  const wrong = client.chat.completions.create({ model: 'wrong', messages })
  await rejects(wrong, { status: 400, message: '400 too many tokens: 9' })
})

test('an error of a container has its own status and words, in the format of each client', async (t) => {
  const mock = await models(t)
  const problems = endpoint(mock)
  const { ask } = await gateway(t, ai(mock))
  const cases = [
    ['wrong', 400, 'too many tokens: 9'],
    ['busy', 503, 'Received client error (400) from primary with message "..."'],
    ['missing', 400, 'Endpoint not found.']
  ] as const
  for (const [model, status, message] of cases) {
    for (const [path, body] of requestsFor(model)) {
      const answer = await ask(path, body)
      const { error: own, ...rest } = await jsonOf(answer)
      deepEqual([answer.status, own.message], [status, message], path)
      equal(JSON.stringify(rest).includes('123456789012'), false)
    }
  }
  deepEqual(problems, [])
})

test('exceptions within a stream are errors of the client, behind what came', async (t) => {
  const mock = await models(t)
  const begun = pieces(SSE.slice(0, SSE.indexOf('\n\n') + 2), 9)
  const faults = [
    ['ModelStreamError', { Message: 'gone', ErrorCode: 'StreamBroken' }],
    ['ModelStreamError', { Message: 'slow', ErrorCode: 'ModelInvocationTimeExceeded' }],
    ['InternalStreamFailure', { Message: 'failed' }],
    ['throttlingException', { message: 'too many' }]
  ] as const
  for (const [name, payload] of faults) {
    const problems = endpoint(mock, [...begun, encodeEvent('exception', name, JSON.stringify(payload))])
    const { ask } = await gateway(t, ai(mock))
    for (const request of REQUESTS) {
      const events = await streamed(ask, request)
      ok(textIn(events).startsWith('Grüß'), events)
      ok(events.includes(Object.values(payload)[0]!) && /error/.test(events), events)
      equal(/\[DONE\]|message_stop|response\.completed/.test(events), false, events)
    }
    deepEqual(problems, [])
  }
})

test('what breaks off, or is no message, ends with an error of the client', async (t) => {
  const mock = await models(t)
  const half = pieces(SSE.slice(0, SSE.indexOf('\n\n') + 2), 9)
  for (const stream of [half, [...half, Buffer.alloc(64, 1)], [...half, half[0]!.subarray(0, 20)]]) {
    endpoint(mock, stream)
    const { ask } = await gateway(t, ai(mock))
    for (const request of REQUESTS) match(await streamed(ask, request), /error/)
  }
})

test('guards see texts across pieces', async (t) => {
  const mock = await models(t)
  endpoint(mock, pieces(SSE, 2))
  const promptGuard = { response: [{ regex: { action: 'Mask', matches: ['dich, Welt'] } }] }
  const { ask } = await gateway(t, ai(mock, {}, { promptGuard }))
  for (const request of REQUESTS) {
    const events = await streamed(ask, request)
    equal(textIn(events).includes('dich'), false, events)
    ok(textIn(events).startsWith('Grüß'), events)
  }
})

test('another provider is asked where a container is overloaded, and none where a request is wrong', async (t) => {
  const [mock, other] = [await models(t), await models(t)]
  endpoint(mock)
  const provider = (model: string) => ({
    ...{ name: model, sagemaker: { region: 'eu-west-1', model }, ...there(mock), policies: aws(KEYS) }
  })
  const second = { name: 'second', openai: {}, ...there(other) }
  for (const [model, others] of [
    ['busy', 1],
    ['wrong', 0]
  ] as const) {
    const groups = [{ providers: [provider(model)] }, { providers: [second] }]
    const { ask } = await gateway(t, { groups })
    const answer = await ask(...requestsFor('x')[0])
    deepEqual([answer.status, other.requests.length], [others === 1 ? 200 : 400, others])
    other.requests.length = 0
  }
})

test('a member that was added and that a container refuses is left out', async (t) => {
  const mock = await models(t)
  checkSignatures(
    mock,
    KEYS,
    ({ body }, response) => {
      const quoted = JSON.stringify({ error: 'unknown field `stream_options`', error_type: 'validation' })
      if (body.stream_options !== undefined)
        return error(response, 424, 'ModelError', { ...MODEL_ERROR, OriginalMessage: quoted, OriginalStatusCode: 422 })
      response.writeHead(200, { 'content-type': EVENT_STREAM }).end(Buffer.concat(pieces(SSE, 50)))
    },
    'sagemaker'
  )
  const { ask } = await gateway(t, ai(mock))
  for (let i = 0; i < 2; i++) equal(textIn(await streamed(ask, REQUESTS[0])), TEXT)
  deepEqual(
    mock.requests.map(({ body }) => body.stream_options !== undefined),
    [true, false, false]
  )
})

test('text-embeddings-inference embeds and ranks', async (t) => {
  const mock = await models(t)
  const VECTORS = [
    [0.5, -1],
    [2, 0.25]
  ]
  let answer: object = VECTORS
  const problems = checkSignatures(
    mock,
    KEYS,
    ({ body }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const ranked = [
        { index: 1, score: 0.9 },
        { index: 0, score: 0.1 }
      ]
      response.end(JSON.stringify(body.query === undefined ? answer : ranked))
    },
    'sagemaker'
  )
  const { ask } = await gateway(t, ai(mock, { model: 'tei' }))
  for (answer of [VECTORS, { embedding: VECTORS }]) {
    const { data } = await jsonOf(await ask('/v1/embeddings', { model: 'm', input: ['a', 'b'] }))
    deepEqual(
      data.map(({ embedding }: { embedding: object }) => embedding),
      VECTORS
    )
  }
  const { results } = await jsonOf(await ask('/v1/rerank', { model: 'm', query: 'q', documents: ['a', 'b'], top_n: 1 }))
  deepEqual(results, [{ index: 1, relevance_score: 0.9 }])
  deepEqual(
    mock.requests.map(({ path, body }) => [path, body]),
    [
      ['/endpoints/tei/invocations', { inputs: ['a', 'b'] }],
      ['/endpoints/tei/invocations', { inputs: ['a', 'b'] }],
      ['/endpoints/tei/invocations', { query: 'q', texts: ['a', 'b'] }]
    ]
  )
  deepEqual(problems, [])
})

test('a name of llm, and mistakes with their place', async (t) => {
  const file = (params: object) => ({ llm: { port: 0, models: [{ name: '*', provider: 'sagemaker', params }] } })
  await gatewayOf(t, file({ sagemakerRegion: 'eu-west-1', sagemakerComponent: 'a', sagemakerServedModel: 'b/c' }))
  const cases: [params: object, RegExp][] = [
    [{ apiKey: 'k' }, /apiKey: has no place: requests are signed with keys of AWS/],
    [{ sagemakerComponent: 'a/b' }, /sagemakerComponent: must match/],
    [{ baseUrl: 'https://a.example/endpoints' }, /baseUrl: must be the address without a path/],
    [{ host: 'a.example', pathPrefix: '/v2' }, /pathPrefix: has no place/]
  ]
  for (const [params, wanted] of cases) await rejects(gatewayOf(t, file(params)), wanted)
})
