/** Streams of generateContent without alt=sse: one JSON list, whatever the provider speaks and does. */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { eventText, mockAnswer } from '#backends/demo/models/answers.ts'
import { hook, service } from '#backends/llm/guards/service.fixture.ts'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Body, MockRequest } from '#engine/testing/models.ts'
import { parseEvents } from '#engine/testing/sse.ts'
import { wantsList } from './list-tap.ts'

const LIST = '/v1beta/models/m:streamGenerateContent'
const EVENTS = `${LIST}?alt=sse`
const ASK = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
const KINDS = ['gemini', 'openai', 'anthropic'] as const
const candidate = (text: string, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }]
})
const END = { ...candidate('', { finishReason: 'STOP' }), usageMetadata: { promptTokenCount: 2 } }
const sse = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

async function started(t: TestContext, kind: string, more: object = {}) {
  const models = await provider(t)
  const opened = await gateway(t, { provider: at(kind, models), routes: { '*': 'GenerateContent' }, ...more })
  const says = (write: (response: ServerResponse, request: MockRequest) => void) => {
    models.instead = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      write(response, request)
      return true
    }
  }
  return { models, says, ...opened }
}

/** Without what is made anew for each answer. */
const plain = ({ responseId: _, createTime: __, ...rest }: Body): Body => rest
const textIn = (list: Body[]): string =>
  list.map(({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text ?? '').join('')

test('the elements of a list are the events of a stream, as they are and translated', async (t) => {
  for (const kind of KINDS) {
    const { ask, metrics } = await started(t, kind)
    const answer = await ask(LIST, ASK)
    equal(answer.headers.get('content-type'), 'application/json')
    const text = await answer.text()
    match(text, /^\[\{[^\r\n]*\}\n(?:,\r\n\{[^\r\n]*\}\n)+\]\n$/)
    const list = JSON.parse(text) as Body[]
    const usage = () => [...metrics().matchAll(/gen_ai_client_token_usage_sum\{.*\} (\d+)/g)].map(([, n]) => Number(n))
    const once = usage()
    const events = parseEvents(await (await ask(EVENTS, ASK)).text()).map(({ data }) => JSON.parse(data) as Body)
    deepEqual(list.map(plain), events.map(plain), kind)
    ok(once.length === 2 && once.every((count) => count > 0))
    deepEqual(
      usage(),
      once.map((count) => 2 * count)
    )
  }
})

test('an event is at the client before the provider sends the next', async (t) => {
  for (const kind of KINDS) {
    const { says, ask } = await started(t, kind)
    const goOn = Promise.withResolvers<void>()
    says((response, { path, body }) => {
      const events = mockAnswer(path, body)!.events!.map(eventText)
      const first = events.findIndex((text) => text.includes('Hello, ')) + 1
      response.write(events.slice(0, first).join(''))
      void goOn.promise.then(() => response.end(events.slice(first).join('')))
    })
    let text = ''
    for await (const piece of (await ask(LIST, ASK)).body!) {
      text += Buffer.from(piece).toString()
      if (/Hello, .*\n$/s.test(text)) goOn.resolve()
    }
    match(textIn(JSON.parse(text)), /Hello, .*world/s)
  }
})

test('a stream that goes wrong is a list that ends with an error', async (t) => {
  const { says, ask } = await started(t, 'gemini')
  const error = /^\{"error":\{"code":502,/
  const cases: Record<string, [write: (response: ServerResponse) => void, elements: number, last: RegExp]> = {
    'says nothing': [(response) => response.end(), 1, error],
    'hangs up behind its head': [(response) => response.write(':\n\n', () => response.socket!.destroy()), 1, error],
    'hangs up in the middle': [
      (response) => response.write(`${sse(candidate('a'))}data: {"half`, () => response.socket!.destroy()),
      2,
      error
    ],
    'is refused in the middle': [
      (response) => response.end(sse(candidate('a'), { error: { code: 429, message: 'slow down' } })),
      2,
      /^\{"error":\{"code":429,"message":"slow down"\}\}$/
    ],
    'says what is no JSON': [(response) => response.end(`data: ],[\n\ndata: [DONE]\n\n${sse(END)}`), 1, /"STOP"/],
    'hangs up behind its end': [
      (response) => response.write(sse(candidate('a'), END), () => response.socket!.destroy()),
      2,
      /"STOP"/
    ],
    'ends without an empty line': [(response) => response.end(sse(candidate('a'), END).trimEnd()), 2, /"STOP"/],
    'writes over several lines': [
      (response) => response.end(`data: {\r\ndata:  "text": 1}\r\n\r\n${sse(END)}`),
      2,
      /"STOP"/
    ]
  }
  for (const [name, [write, elements, last]] of Object.entries(cases)) {
    says(write)
    const list = JSON.parse(await (await ask(LIST, ASK)).text()) as Body[]
    equal(list.length, elements, name)
    match(JSON.stringify(list.at(-1)), last, name)
  }
  const { says: saysOpenai, ask: askOpenai } = await started(t, 'openai')
  saysOpenai((response) => response.end('data: {"choices":7}\n\n'))
  const list = (await (await askOpenai(LIST, ASK)).json()) as Body[]
  deepEqual([list.length, list[0].error.code], [1, 502])
})

test('an event that is too long ends the list', async (t) => {
  const { says, ask } = await started(t, 'gemini')
  const lines = Buffer.from('data:\n'.repeat(200_000))
  says((response) => {
    const more = () => {
      while (!response.destroyed && response.write(lines));
    }
    response.on('drain', more)
    response.write(sse(candidate('a')), more)
  })
  const list = (await (await ask(LIST, ASK)).json()) as Body[]
  equal(list.length, 2)
  match(list[1].error.message, /the event is too long/)
})

test('silence: white space for the client, and an error when the provider stays silent', async (t) => {
  const { says, ask } = await started(t, 'gemini', { streams: { keepalive: '50ms', stall: '400ms' } })
  says((response) => response.write(sse(candidate('a'))))
  const text = await (await ask(LIST, ASK)).text()
  match(text, /^\[\{.*\}\n\n\n+,\r\n\{"error":.*\}\n\]\n$/)
  doesNotMatch(text, /keepalive/)
  match((JSON.parse(text) as Body[])[1].error.message, /did not answer in time/)
})

test('guards mask from element to element, and a service judges the whole list', async (t) => {
  const regex = { regex: { builtins: ['Ssn'] } }
  const webhook = await service(t)
  for (const response of [[regex], [regex, hook(webhook.port)]]) {
    const { says, ask } = await started(t, 'gemini', { promptGuard: { response } })
    says((one) => one.end(sse(candidate('It is 123-45'), candidate('-6789, ok'), END)))
    const answer = await ask(LIST, ASK)
    equal(answer.headers.get('content-type'), 'application/json')
    equal(textIn((await answer.json()) as Body[]), 'It is <SSN>, ok')
  }
  equal(webhook.seen.length, 1)
})

test('losses of a list, which has no comments, stand in its last element', async (t) => {
  const { says, ask } = await started(t, 'anthropic')
  const block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const message = { id: 'm', model: 'm', content: [], usage: { input_tokens: 1, output_tokens: 1 } }
  says((response) =>
    response.end(
      sse(
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' }
      )
    )
  )
  const list = (await (await ask(LIST, ASK)).json()) as Body[]
  equal(list.at(-1)!['x-weir-dropped'], 'choices[0].server_tool_use')
})

test('a native request keeps its query, but for framing and identity', async (t) => {
  const { models, ask } = await started(t, 'gemini')
  const query = '?alt=json&a=1&key=k&%6Bey=k&access_token=t&%24userProject=p&callback=f&b=%26'
  await (await ask(`${LIST}${query}`, ASK)).text()
  await (await ask(`${LIST.replace('streamG', 'g')}${query}`, ASK)).text()
  await (await ask(LIST, ASK)).text()
  deepEqual(
    models.requests.map(({ path }) => path),
    [
      '/v1beta/models/m:streamGenerateContent?alt=sse&a=1&b=%26',
      '/v1beta/models/m:generateContent?a=1&b=%26',
      '/v1beta/models/m:streamGenerateContent?alt=sse'
    ]
  )
  const path = { path: '/own/m:streamGenerateContent' }
  const own = await started(t, 'gemini', { provider: at('gemini', models, path) })
  await (await own.ask(`${LIST}?a=1`, ASK)).text()
  equal(models.requests.at(-1)!.path, '/own/m:streamGenerateContent?alt=sse&a=1')
})

test('a request for some fields of the answer is extended by the fields of its cost', async (t) => {
  const { models, ask } = await started(t, 'gemini')
  const query = '?fields=candidates&%24%66ields=a(b),usageMetadata&fields='
  await (await ask(`${LIST}${query}`, ASK)).text()
  equal(
    models.requests.at(-1)!.path,
    '/v1beta/models/m:streamGenerateContent?alt=sse&fields=candidates,usageMetadata&%24%66ields=a(b),usageMetadata&fields='
  )
  await (await ask(LIST, ASK, { 'x-goog-fieldmask': 'candidates' })).text()
  equal(models.requests.at(-1)!.headers['x-goog-fieldmask'], 'candidates,usageMetadata')
})

test('only a client that asks for events gets events', () => {
  const asks = (query: string, isStreamed = true) => wantsList({ client: 'gemini', isStreamed, query })
  deepEqual(
    ['', '?alt=json', '?a=alt=sse', '?alt=ssee'].map((query) => asks(query)),
    [true, true, true, true]
  )
  deepEqual(
    ['?alt=sse', '?a=1&alt=sse', '?%24alt=sse', '?alt=%73se'].map((query) => asks(query)),
    [false, false, false, false]
  )
  equal(asks('', false), false)
  equal(wantsList({ client: 'completions', isStreamed: true, query: '' }), false)
})
