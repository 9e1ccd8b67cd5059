/** Errors of providers, which may say again what was asked or answered, pass the guards of answers as answers do. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CHAT, chat, regex, SSN, stand } from './guards.fixture.ts'
import { hook, says, service } from './service.fixture.ts'

const GEMINI = '/v1beta/models/m:generateContent'
const moderationAt = (path: string): object => {
  if (path.startsWith('/v1beta')) return { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  if (path.endsWith('/embeddings') || path.endsWith('/responses')) return { model: 'm', input: 'hi' }
  return path.endsWith('/messages') ? chat('hi', { max_tokens: 5 }) : chat('hi')
}
/** By what providers and servers of their formats answer. */
const ERRORS: readonly (readonly [number, unknown])[] = [
  [400, { error: { message: `bad value: ${SSN}`, type: 'invalid_request_error', param: null, code: null } }],
  [400, { type: 'error', error: { type: 'invalid_request_error', message: `messages.0: ${SSN}` } }],
  [400, { error: { code: 400, message: `not ${SSN}`, status: 'INVALID_ARGUMENT', details: [{ field: SSN }] } }],
  [422, { detail: [{ loc: ['body'], msg: 'bad', input: { name: SSN, id: SSN } }] }],
  [400, { detail: `odd: ${SSN}` }],
  [400, { message: `ValidationException: ${SSN}` }],
  [500, [{ error: { message: SSN } }]],
  [503, `upstream said ${SSN}`],
  [503, `${SSN.replaceAll('-', ' ')} is nobody`],
  [400, SSN]
]
const PATHS: readonly (readonly [string, object])[] = [
  [CHAT, { openai: {} }],
  ['/v1/messages', { anthropic: {} }],
  ['/v1/responses', { openai: {} }],
  [GEMINI, { gemini: {} }],
  // Converted.
  [CHAT, { anthropic: {} }],
  ['/v1/messages', { openai: {} }],
  ['/v1/responses', { gemini: {} }],
  [GEMINI, { openai: {} }]
]
const OTHERS = { '/embeddings': 'Embeddings', '/count_tokens': 'AnthropicTokenCount', '/models': 'Models' }

test('in every format, as they are and converted, streamed requests too', async (t) => {
  for (const [path, provider] of PATHS) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    for (const [status, error] of ERRORS) {
      for (const stream of [false, true]) {
        models.instead = (_, response) => {
          response.writeHead(status, { 'content-type': typeof error === 'string' ? 'text/plain' : 'application/json' })
          response.end(typeof error === 'string' ? error : JSON.stringify(error))
          return true
        }
        const before = models.requests.length
        const answer = await ask(path, path === GEMINI ? moderationAt(path) : { ...moderationAt(path), stream })
        const text = await answer.text()
        equal(models.requests.length, before + 1, text)
        ok(!text.includes(SSN), `${path} ${JSON.stringify(provider)}: ${text}`)
        ok(answer.status >= 400, text)
      }
    }
  }
})

test('and nothing else of them is changed', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  const error = `{ "error": {"message":"It is ${SSN}","type":"x","id":"req_1" } }\n`
  models.instead = (_, response) => {
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7', 'x-request-id': 'r1' }).end(error)
    return true
  }
  const answer = await ask(CHAT, chat('hi'))
  deepEqual(
    [answer.status, answer.headers.get('retry-after'), answer.headers.get('x-request-id'), await answer.text()],
    [429, '7', 'r1', error.replace(SSN, '<SSN>')]
  )
})

test('of embeddings and token counts', async (t) => {
  for (const [path, provider] of [
    ['/v1/embeddings', { openai: {} }],
    ['/v1/embeddings', { gemini: {} }],
    ['/v1/messages/count_tokens', { anthropic: {} }]
  ] as const) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider, {}, OTHERS)
    models.instead = (_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { type: 'x', message: `Not ${SSN}` } }))
      return true
    }
    const answer = await ask(path, moderationAt(path))
    const text = await answer.text()
    equal(answer.status, 400, path)
    ok(text.includes('<SSN>') && !text.includes(SSN), `${path}: ${text}`)
  }
})

test('in a stream, as an event', async (t) => {
  for (const [path, provider, event] of [
    [CHAT, { openai: {} }, { error: { message: SSN, detail: `of ${SSN}` } }],
    ['/v1/messages', { anthropic: {} }, { type: 'error', error: { type: 'overloaded_error', message: SSN } }],
    ['/v1/messages', { openai: {} }, { error: { message: SSN } }],
    ['/v1/responses', { openai: {} }, { type: 'error', message: SSN, code: 'x', param: SSN }],
    [`${GEMINI.replace('generate', 'streamGenerate')}?alt=sse`, { gemini: {} }, { error: { code: 500, message: SSN } }]
  ] as const) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    models.instead = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(event)}\n\n`)
      return true
    }
    const body = path.startsWith(GEMINI.slice(0, 8)) ? moderationAt(path) : { ...moderationAt(path), stream: true }
    const text = await (await ask(path, body)).text()
    ok(text.includes('<SSN>') && !text.includes(SSN), `${path}: ${text}`)
  }
})

test('a service judges error bodies, and unreadable ones do not pass', async (t) => {
  const state = await service(t)
  const { models, ask } = await stand(t, { response: [hook(state.port)] })
  models.instead = (_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: 'bad' } }))
    return true
  }
  const content = '{"error":{"message":"no"}}'
  state.answer = says({ action: { body: { choices: [{ message: { role: 'assistant', content } }] } } })
  equal(await (await ask(CHAT, chat('hi'))).text(), content)
  state.answer = says({ action: { body: 'rejected', status_code: 403 } })
  equal((await ask(CHAT, chat('hi'))).status, 403)
  models.instead = (_, response) => {
    response.writeHead(400, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(gzipSync(JSON.stringify({ error: { message: SSN } })))
    return true
  }
  const coded = await ask(CHAT, chat('hi'))
  equal(coded.status, 502)
  ok((await coded.text()).includes('compressed'))
})
