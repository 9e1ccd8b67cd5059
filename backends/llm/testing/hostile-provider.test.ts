/** A provider that does everything wrong, for clients of every format: each is told in its own words, and served. */
import { equal, match, throws } from 'node:assert/strict'
import { request, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { eventText, mockAnswer } from '#backends/demo/models/answers.ts'
import type { Json } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { MockRequest } from '#engine/testing/models.ts'
import { parseEvents } from '#engine/testing/sse.ts'
import { at, gateway, provider } from './llm-gateway.ts'

const ROUTES = {
  '/messages': 'Messages',
  '/completions': 'Completions',
  '/responses': 'Responses',
  '*': 'GenerateContent'
}
const KINDS = ['openai', 'anthropic', 'gemini'] as const
const messages = [{ role: 'user', content: 'Hi' }]

/** How a client of each format asks for a stream, and what an error looks like in it: the data of its last event. */
const CLIENTS = {
  completions: {
    path: '/v1/chat/completions',
    body: { model: 'm', messages, stream: true },
    error: /^\{"error":\{"message":/
  },
  messages: {
    path: '/v1/messages',
    body: { model: 'm', max_tokens: 9, messages, stream: true },
    error: /^\{"type":"error","error":\{"type":"\w+","message":/
  },
  responses: {
    path: '/v1/responses',
    body: { model: 'm', input: 'Hi', stream: true },
    error: /^\{"type":"error",|"status":"failed"/
  },
  gemini: {
    path: '/v1beta/models/m:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    error: /^\{"error":\{"code":\d+,"message":/
  }
} as const
type ClientName = keyof typeof CLIENTS
/** Clients whose format a provider speaks itself. */
const NATIVE: Readonly<Record<(typeof KINDS)[number], readonly ClientName[]>> = {
  openai: ['completions', 'responses'],
  anthropic: ['messages'],
  gemini: ['gemini']
}
const GUARDS = { response: [{ regex: { builtins: ['Ssn', 'CreditCard', 'PhoneNumber', 'Email'] } }] }
const NAMES = Object.keys(CLIENTS) as ClientName[]

/** What the mock says to this request, event by event. */
const eventsOf = ({ path, body }: MockRequest): string[] => mockAnswer(path, body)!.events!.map(eventText)

async function* piecesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of response.body!) yield decoder.decode(chunk, { stream: true })
}

/** Up to the end; '' and broken when the connection breaks. */
async function textOf(response: Response): Promise<{ readonly text: string; readonly isBroken: boolean }> {
  let text = ''
  try {
    for await (const piece of piecesOf(response)) text += piece
    return { text, isBroken: false }
  } catch {
    return { text, isBroken: true }
  }
}

type Fault = (response: ServerResponse, received: MockRequest) => void
const stream = (response: ServerResponse, more: object = {}) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', ...more })

const FAULTS: Readonly<Record<string, Fault>> = {
  'hangs up ahead of its head': (response) => response.socket!.destroy(),
  'hangs up behind its head': (response) => {
    stream(response).flushHeaders()
    setImmediate(() => response.socket!.destroy())
  },
  'says nothing': (response) => stream(response).end(),
  'hangs up behind its first event': (response, received) => {
    stream(response).write(eventsOf(received)[0], () => response.socket!.destroy())
  },
  'hangs up within an event': (response, received) => {
    const text = eventsOf(received).join('')
    stream(response).write(text.slice(0, text.indexOf('Hello') + 3), () => response.socket!.destroy())
  },
  'ends within a character': (response, received) => {
    const text = eventsOf(received).join('').replace('Hello', '\u{1f600}')
    const bytes = Buffer.from(text)
    stream(response).end(bytes.subarray(0, bytes.indexOf('\u{1f600}') + 2))
  },
  'says what is no JSON': (response) => stream(response).end('data: {"half\n\n'),
  'says what is no event of its format': (response) => stream(response).end('event: x\ndata: [1,"a",null]\n\n'),
  'says wrong types': (response) => {
    stream(response).end('data: {"type":7,"choices":{"0":[]},"candidates":"x","delta":[],"message":null}\n\n')
  },
  'nests without bottom': (response) => stream(response).end(`data: ${'['.repeat(200_000)}\n\n`),
  'breaks its chunks': (response, received) => {
    stream(response).write(eventsOf(received)[0], () => response.socket!.end('zz\r\nnot a chunk\r\n'))
  },
  'says gzip and sends none': (response) => stream(response, { 'content-encoding': 'gzip' }).end('data: {}\n\n'),
  'answers with a page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>'),
  'fails with a page': (response) => response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>500</h1>'),
  'limits without a word': (response) => response.writeHead(429).end(),
  redirects: (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
}

/** What a client of the provider's own format gets as it came: it may understand what the gateway does not. */
const AS_IT_CAME = new Set([
  'says what is no event of its format',
  'says wrong types',
  'says gzip and sends none',
  'answers with a page',
  'fails with a page',
  'limits without a word'
])

/** What is wrong with how the client was told; null: nothing. */
async function judge(response: Response, client: ClientName): Promise<string | null> {
  const { text, isBroken } = await textOf(response)
  const outcome = `${response.status}${isBroken ? ', broken' : ''}: ${text.slice(0, 300)}`
  if (isBroken) return outcome
  if (response.status !== 200) return isError(text) ? null : outcome
  const all = parseEvents(text).map(({ data }) => data)
  const last = all.filter((data) => data !== '[DONE]').at(-1) ?? ''
  return CLIENTS[client].error.test(last) ? null : outcome
}

function isError(text: string): boolean {
  try {
    return typeof JSON.parse(text).error.message === 'string'
  } catch {
    return false
  }
}

async function started(t: TestContext, kind: string, more: object = {}) {
  const models = await provider(t)
  return { models, ...(await gateway(t, { provider: at(kind, models), routes: ROUTES, ...more })) }
}

for (const kind of KINDS) {
  test(`${kind} does everything wrong, and every client gets errors in its own format`, async (t) => {
    const { models, ask } = await started(t, kind)
    for (const [name, fault] of Object.entries(FAULTS)) {
      for (const client of NAMES) {
        const { path, body } = CLIENTS[client]
        models.instead = (received, response) => {
          fault(response, received)
          return true
        }
        const wrong = await judge(await ask(path, body), client)
        if (!(NATIVE[kind].includes(client) && AS_IT_CAME.has(name)))
          equal(wrong, null, `${name}, to ${client}: ${wrong}`)
        models.instead = null
        const { text } = await textOf(await ask(path, body))
        match(text, /Hello, /, `behind what ${name}, to ${client}`)
      }
    }
  })

  test(`${kind}: what it has said is at the client before it says more`, async (t) => {
    for (const more of [{}, { promptGuard: GUARDS }]) {
      const { models, ask } = await started(t, kind, more)
      let goOn = Promise.withResolvers<void>()
      models.instead = (received, response) => {
        const events = eventsOf(received)
        const first = events.findIndex((text) => text.includes('Hello, ')) + 1
        stream(response).write(events.slice(0, first).join(''))
        void goOn.promise.then(() => response.end(events.slice(first).join('')))
        return true
      }
      for (const client of NAMES) {
        goOn = Promise.withResolvers()
        let text = ''
        for await (const piece of piecesOf(await ask(CLIENTS[client].path, CLIENTS[client].body))) {
          text += piece
          // A gateway that waits for more would wait for ever.
          if (text.includes('Hello, ')) goOn.resolve()
        }
        match(text, /Hello, .*world/s, client)
      }
    }
  })

  test(`${kind}: a client that leaves before the answer ends the provider's work, streamed or not`, async (t) => {
    const { models, port } = await started(t, kind)
    for (const client of NAMES) {
      for (const isStreamed of [true, false]) {
        const { path, body } = CLIENTS[client]
        const target = isStreamed ? path : path.replace('streamGenerateContent?alt=sse', 'generateContent')
        const arrived = Promise.withResolvers<void>()
        const left = Promise.withResolvers<void>()
        models.instead = (_, response) => {
          response.on('close', left.resolve)
          arrived.resolve()
          return true
        }
        const sent = request({ port, host: '127.0.0.1', method: 'POST', path: target, agent: false })
        // It is destroyed below: that is no news.
        sent.on('error', () => sent.destroy())
        sent.end(JSON.stringify(isStreamed ? body : { ...body, stream: undefined }))
        await arrived.promise
        sent.destroy()
        await left.promise
      }
    }
  })
}

test('the cost of an answer that is no object is a format error', () => {
  for (const format of Object.values(FORMATS)) {
    for (const body of [null, 7, 'x', [], true] as Json[]) throws(() => format.readSummary(body as never), FormatError)
  }
})
