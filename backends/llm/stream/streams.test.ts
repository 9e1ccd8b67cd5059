/** Streams that go wrong, and streams that are silent: what the client gets, and what becomes of the provider. */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Models, startModels } from '#engine/testing/models.ts'

const ASK = {
  model: 'm1',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: true,
  stream_options: { include_usage: true }
}
/** Silence is a matter of time: what a provider does later, it does by the clock. */
const wheel = new TimerWheel()
const MESSAGE = { model: 'm1', max_tokens: 5, messages: ASK.messages, stream: true }
const ROUTES = {
  '/messages': 'Messages',
  '/completions': 'Completions',
  '/responses': 'Responses',
  '*': 'GenerateContent'
}

async function models(t: TestContext): Promise<Models> {
  const started = await startModels()
  t.after(() => started.close())
  return started
}

async function gateway(t: TestContext, kind: string, { port: at }: Models, more: object = {}) {
  const ai = { provider: { [kind]: {}, host: '127.0.0.1', port: at }, routes: ROUTES, ...more }
  const started = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
    })
  )
  t.after(() => started.close())
  const ask = (path: string, body: unknown = ASK) =>
    fetch(`http://127.0.0.1:${started.port}${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
  return { port: started.port, url: `http://127.0.0.1:${started.port}`, ask }
}

const chunk = (delta: object, finish: string | null = null) => {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}

`
}

const says = (
  provider: Models,
  head: Record<string, string>,
  write: (response: ServerResponse) => void,
  status = 200
) => {
  provider.instead = (_, response) => {
    response.writeHead(status, { 'content-type': 'text/event-stream', ...head })
    write(response)
    return true
  }
}

for (const [name, path] of [
  ['as they are', '/v1/chat/completions'],
  ['translated', '/v1/messages']
] as const) {
  test(`silence in streams ${name}: comments for the client, and an end for a provider that stays silent`, async (t) => {
    const provider = await models(t)
    const gone = Promise.withResolvers<void>()
    says(provider, {}, (response) => {
      response.on('close', () => gone.resolve())
      // Half an event has come when the silence begins.
      response.write(`${chunk({ content: 'a' })}data: {"id":"c","cho`)
    })
    const { ask } = await gateway(t, 'openai', provider, { streams: { keepalive: '50ms', stall: '400ms' } })
    const text = await (await ask(path, path.endsWith('messages') ? MESSAGE : ASK)).text()
    match(text, /(?:: keepalive\n\n){2}/)
    match(text, /the backend did not answer in time/)
    doesNotMatch(text, /"cho[^i]/, 'half an event is for nobody')
    for (const event of text.trimEnd().split('\n\n')) match(event, /^(?:: keepalive|(?:event: .*\n)?data: \{.*\})$/)
    await gone.promise
  })
}

test('a client that does not read is not the silence of its provider', async (t) => {
  const provider = await models(t)
  const piece = chunk({ content: 'x'.repeat(60_000) })
  let isEnded = false
  says(provider, {}, (response) => {
    response.on('close', () => {
      isEnded = response.writableFinished
    })
    // More than all buffers between hold.
    for (let i = 0; i < 400; i++) response.write(piece)
    response.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
  })
  const { port } = await gateway(t, 'openai', provider, { streams: { keepalive: '20ms', stall: '2s' } })
  const client = request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat/completions' })
  client.end(JSON.stringify(ASK))
  const [response] = (await once(client, 'response')) as [IncomingMessage]
  const { promise, resolve } = Promise.withResolvers<void>()
  // Longer than a provider may be silent, which is long: a busy machine holds this process for a second, too.
  const timer = new WheelTimer(resolve)
  wheel.arm(timer, performance.now(), 4_000)
  await promise
  equal(isEnded, false)
  let [text, bytes] = ['', 0]
  for await (const part of response) {
    bytes += (part as Buffer).length
    text = (text + String(part)).slice(-200)
  }
  ok(bytes > 400 * 60_000)
  match(text, /data: \[DONE\]\n\n$/)
})

test('the official clients read on over comments', async (t) => {
  const provider = await models(t)
  const { url } = await gateway(t, 'custom', provider, { streams: { keepalive: '20ms' } })
  const slowly = () =>
    says(provider, {}, (response) => {
      response.write(chunk({ role: 'assistant', content: 'Hello, ' }))
      const rest = `${chunk({ content: 'world' })}${chunk({}, 'stop')}data: [DONE]\n\n`
      wheel.arm(new WheelTimer(() => response.end(rest)), performance.now(), 150)
    })
  const messages = [{ role: 'user' as const, content: 'Hi' }]
  slowly()
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 })
  const completion = await openai.chat.completions.stream({ model: 'm', messages }).finalChatCompletion()
  equal(completion.choices[0]?.message.content, 'Hello, world')
  const answered = await openai.responses.stream({ model: 'm', input: 'Hi' }).finalResponse()
  equal(answered.output_text, 'Hello, world')
  const anthropic = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 })
  const message = await anthropic.messages.stream({ model: 'm', max_tokens: 5, messages }).finalMessage()
  ok(message.content[0]?.type === 'text' && message.content[0].text === 'Hello, world')
  const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url } })
  let text = ''
  for await (const one of await google.models.generateContentStream({ model: 'm', contents: 'Hi' }))
    text += one.text ?? ''
  equal(text, 'Hello, world')
})

test('unknown events of its own format do not end a native stream', async (t) => {
  const provider = await models(t)
  const news = 'event: response.news\ndata: {"type":"response.output_item.added","item":{"no":"type"}}\n\n'
  const end =
    'event: response.completed\ndata: {"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}\n\n'
  says(provider, { 'content-length': '7000' }, (response) => {
    response.write(news)
    response.write('event: what\ndata: {"type":"news"}\n\n')
    // It never sends as much as it has said.
    response.write(end, () => response.socket?.destroy())
  })
  const { ask } = await gateway(t, 'openai', provider)
  const answer = await ask('/v1/responses', { model: 'm', input: 'Hi', stream: true })
  // Its length was a lie, and whatever is added would not fit into it.
  equal(answer.headers.get('content-length'), null)
  match(await answer.text(), /^event: response\.news\n/)
  // Compressed for a client of its own format: nobody adds anything to what cannot be read.
  const packed = gzipSync(chunk({ content: 'packed' }))
  says(provider, { 'content-encoding': 'gzip' }, (response) => response.end(packed))
  equal(await (await ask('/v1/chat/completions')).text(), chunk({ content: 'packed' }))
})

test('answers that cannot be read are an error of the gateway, in the words of the client', async (t) => {
  const provider = await models(t)
  const { ask } = await gateway(t, 'openai', provider)
  const cases: [status: number, head: Record<string, string>, body: string | Buffer, wanted: RegExp][] = [
    [200, { 'content-type': 'text/html' }, '<html>', /502 \{"type":"error".*cannot be read/],
    [302, { location: 'http://elsewhere.example/' }, '', /502 \{"type":"error".*elsewhere/],
    [200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, gzipSync('{}'), /502 .*compressed/],
    [200, { 'content-encoding': 'gzip' }, gzipSync(chunk({ content: 'a' })), /502 .*compressed/],
    [200, { 'content-type': 'application/json' }, '{"choices":{}}', /502 .*choices/],
    [200, { 'content-type': 'application/json' }, '[]', /502 /],
    [200, { 'content-type': 'application/json' }, '', /502 /]
  ]
  for (const [status, head, body, wanted] of cases) {
    says(provider, { 'set-cookie': 'of=provider', ...head }, (response) => response.end(body), status)
    const answer = await ask('/v1/messages', MESSAGE)
    match(`${answer.status} ${await answer.text()}`, wanted)
    deepEqual([answer.headers.get('location'), answer.headers.get('set-cookie')], [null, null])
  }
  says(provider, { location: 'http://elsewhere.example/' }, (response) => response.end(), 307)
  const native = await ask('/v1/chat/completions')
  deepEqual([native.status, native.headers.get('location')], [502, null])
})

test('after an event that cannot be read nothing is asked of the provider any more', async (t) => {
  const provider = await models(t)
  const gone = Promise.withResolvers<void>()
  says(provider, {}, (response) => {
    response.on('close', () => gone.resolve())
    response.write(`${chunk({ content: 'good' })}data: {"choices":7}\n\n${chunk({ content: 'late' })}`)
  })
  const { ask } = await gateway(t, 'openai', provider)
  const text = await (await ask('/v1/messages', MESSAGE)).text()
  match(text, /"text":"good"[\s\S]*event: error\ndata: [^\n]*\n\n$/)
  doesNotMatch(text, /late/)
  await gone.promise
})

test('streams that lose their order, or have two beginnings, or go on after their end', async (t) => {
  const provider = await models(t)
  const { ask } = await gateway(t, 'anthropic', provider)
  const event = (type: string, more: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const start = event('message_start', {
    message: { id: 'm', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } }
  })
  const open = (index: number) => event('content_block_start', { index, content_block: { type: 'text', text: '' } })
  const text = (index: number) => event('content_block_delta', { index, delta: { type: 'text_delta', text: 'a' } })
  const close = event('content_block_stop', { index: 0 })
  const stop = event('message_delta', { delta: { stop_reason: 'end_turn' } }) + event('message_stop')
  const cases: [wire: string, wanted: RegExp][] = [
    [start + start + open(0) + text(0) + close + stop, /"content":"a"[\s\S]*\[DONE\]\n\n$/],
    [open(0) + text(0), /"error":\{"message":"[^"]*before it has begun/],
    [start + open(0) + text(1e9), /"error":\{"message":"[^"]*open block/],
    [start + open(0) + text(0) + close + stop + open(1) + text(1), /"content":"a"[\s\S]*\[DONE\]\n\n$/],
    [start + open(0) + text(0), /before it was complete/],
    [(start + open(0) + text(0) + close + stop).trimEnd(), /"content":"a"[\s\S]*\[DONE\]\n\n$/]
  ]
  for (const [wire, wanted] of cases) {
    says(provider, {}, (response) => response.end(wire))
    match(await (await ask('/v1/chat/completions')).text(), wanted)
  }
})

test('an event without end, or of nothing but empty lines of data, is given up', async (t) => {
  const provider = await models(t)
  const { ask } = await gateway(t, 'openai', provider)
  const lines = Buffer.from('data:\n'.repeat(200_000))
  says(provider, {}, (response) => {
    const more = () => {
      while (!response.destroyed && response.write(lines));
    }
    response.on('drain', more)
    response.write(chunk({ content: 'a' }), more)
  })
  const text = await (await ask('/v1/messages', MESSAGE)).text()
  match(text, /the event is too long/)
})

test('losses of a stream stand in a comment before its end', async (t) => {
  const provider = await models(t)
  const of = (url: string) => gateway(t, url, provider)
  const block = (index: number, content: object) =>
    `data: ${JSON.stringify({ type: 'content_block_start', index, content_block: content })}\n\n` +
    `data: ${JSON.stringify({ type: 'content_block_stop', index })}\n\n`
  const search = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
  const blocks = [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    search,
    { type: 'text', text: 'a' }
  ]
  const whole = {
    id: 'm',
    model: 'm',
    content: blocks,
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 }
  }
  const anthropic = await of('anthropic')
  says(provider, {}, (response) => {
    response.write(`data: ${JSON.stringify({ type: 'message_start', message: { ...whole, content: [] } })}\n\n`)
    response.write(blocks.map((one, i) => block(i, one)).join(''))
    response.write('data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n')
    response.end('data: {"type":"message_stop"}\n\n')
  })
  const comment = /\n\n: x-weir-dropped: choices\[0\]\.server_tool_use, choices\[0\]\.web_search_tool_result\n\n/
  match(await (await anthropic.ask('/v1/chat/completions')).text(), comment)
  // Clients of Gemini's format do not all know comments.
  const events = await (
    await anthropic.ask('/v1beta/models/m:streamGenerateContent?alt=sse', { contents: [{ parts: [{ text: 'Hi' }] }] })
  ).text()
  match(events, /\n\ndata: \{"x-weir-dropped":"[^"]*web_search_tool_result"\}\n\n/)
  ok(!/^:/m.test(events), events)
  says(provider, { 'content-type': 'application/json' }, (response) => response.end(JSON.stringify(whole)))
  const answer = await anthropic.ask('/v1/chat/completions', { ...ASK, stream: false, stream_options: undefined })
  match(answer.headers.get('x-weir-dropped') ?? '', /content\[0\], .*content\[1\]/)
  const gemini = await of('gemini')
  const candidate = {
    content: { parts: [{ text: 'a' }] },
    finishReason: 'STOP',
    groundingMetadata: { webSearchQueries: [] }
  }
  says(provider, {}, (response) => response.end(`data: ${JSON.stringify({ candidates: [candidate] })}\n\n`))
  match(
    await (await gemini.ask('/v1/messages', MESSAGE)).text(),
    /: x-weir-dropped: candidates\[0\]\.groundingMetadata\n\n/
  )
  const usageMetadata = {
    promptTokenCount: 2,
    promptTokensDetails: [{ modality: 'IMAGE', tokenCount: 1 }],
    candidatesTokenCount: 2,
    candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 1 }]
  }
  const counted = { candidates: [{ ...candidate, groundingMetadata: undefined }], usageMetadata }
  says(provider, {}, (response) => response.end(`data: ${JSON.stringify(counted)}\n\n`))
  match(
    await (await gemini.ask('/v1/messages', MESSAGE)).text(),
    /: x-weir-dropped: usage\.input_image_tokens, usage\.output_audio_tokens\n\n/
  )
})
