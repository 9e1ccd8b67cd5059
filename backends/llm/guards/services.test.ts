/** Guards that are services: real HTTP servers that pass, mask, reject, are slow, dead or talk nonsense. */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import type { Body } from '#engine/testing/models.ts'
import { CHAT, chat, DIALECTS, dataOf, sse, stand } from './guards.fixture.ts'
import { hook, type Service, says, service } from './service.fixture.ts'

test('webhook on requests: pass, mask, reject, and the headers it may see', async (t) => {
  const webhook = await service(t)
  const forward = [
    { name: 'X-Team', value: { exact: 'blue' } },
    { name: 'x-user', value: { regex: 'a.*' } }
  ]
  const { models, ask } = await stand(t, { request: [hook(webhook.port, { forwardHeaderMatches: forward })] })
  await ask(CHAT, chat('hello'), { 'x-team': 'blue', 'x-user': 'bob', authorization: 'Bearer secret' })
  const { path, headers, body } = webhook.seen[0]!
  deepEqual(
    [path, body, headers['x-team'], headers['x-user'], headers.authorization],
    ['/request', { body: { messages: [{ role: 'user', content: 'hello' }] } }, 'blue', undefined, undefined]
  )
  equal(models.requests.at(-1)!.body.messages[0].content, 'hello')

  webhook.answer = (request, response) =>
    response.end(
      JSON.stringify({
        action: {
          body: { messages: request.body.messages.map(({ role }: Body) => ({ role, content: 'XX' })) },
          reason: 'r'
        }
      })
    )
  await ask(CHAT, {
    model: 'm',
    odd: 1,
    messages: [
      { role: 'system', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'b' }] }
    ]
  })
  deepEqual(models.requests.at(-1)!.body, {
    model: 'm',
    odd: 1,
    messages: [
      { role: 'system', content: 'XX' },
      { role: 'user', content: [{ type: 'text', text: 'XX' }] }
    ]
  })

  const before = models.requests.length
  webhook.answer = says({ action: { body: 'go away', status_code: 451, reason: 'r' } })
  const rejected = await ask(CHAT, chat('hello'))
  equal(rejected.status, 451)
  match(await rejected.text(), /go away/)
  equal(models.requests.length, before)
})

test('a webhook on answers gets what the client sent, and no key of a provider', async (t) => {
  const webhook = await service(t)
  const all = { value: { regex: '.*' } }
  const names = ['authorization', 'x-api-key', 'anthropic-version', 'x-team', 'cookie']
  const forward = names.map((name) => ({ name, ...all }))
  const provider = { anthropic: {}, policies: { auth: { key: 'canary-of-provider' } } }
  const { ask } = await stand(t, { response: [hook(webhook.port, { forwardHeaderMatches: forward })] }, provider)
  const sent = { authorization: 'Bearer of-the-client', 'x-team': 'blue', cookie: 'a=b' }
  equal((await ask(CHAT, chat('hi', { max_tokens: 5 }), sent)).status, 200)
  const { headers } = webhook.seen[0]!
  deepEqual(Object.fromEntries(names.flatMap((name) => (name in headers ? [[name, headers[name]]] : []))), sent)
})

test('webhook on answers, whole and streamed', async (t) => {
  const webhook = await service(t)
  for (const { path, provider, events, read } of DIALECTS) {
    const { models, ask } = await stand(t, { response: [hook(webhook.port)] }, provider)
    models.instead = (_, response) => {
      response.setHeader('content-type', 'text/event-stream').end(sse(events(['Hel', 'lo'], ['{"a"', ':1}'])))
      return true
    }
    const body = {
      ...chat('hi', { stream: true }),
      max_tokens: 5,
      input: 'hi',
      contents: [{ parts: [{ text: 'hi' }] }]
    }
    webhook.answer = says({ action: { reason: 'fine' } })
    const passed = await ask(path, body)
    deepEqual(read(dataOf(await passed.text())), ['Hello', '{"a":1}'], path)
    match(passed.headers.get('content-type') ?? '', /event-stream/)
    const last = webhook.seen.at(-1)!
    deepEqual(
      [last.path, last.body.body.choices.map(({ message }: Body) => message.content).sort()],
      ['/response', ['Hello', '{"a":1}']]
    )
    webhook.answer = (request, response) =>
      response.end(
        JSON.stringify({
          action: {
            body: {
              choices: request.body.choices.map(({ message }: Body) => ({
                message: { ...message, content: message.content === 'Hello' ? 'Bye' : message.content }
              }))
            }
          }
        })
      )
    const text = await (await ask(path, body)).text()
    deepEqual(read(dataOf(text)), ['Bye', '{"a":1}'], path)
    doesNotMatch(text, /Hel|lo"/)
    webhook.answer = says({ action: { body: 'no', status_code: 403 } })
    const rejected = await ask(path, body)
    deepEqual([rejected.status, rejected.headers.get('content-type')], [403, 'application/json'])
  }
  const { ask } = await stand(t, { response: [hook(webhook.port)] })
  webhook.answer = says({ action: { body: { choices: [{ message: { role: 'assistant', content: 'other' } }] } } })
  const whole = (await (await ask(CHAT, chat('hi'))).json()) as Body
  equal(whole.choices[0].message.content, 'other')
})

test('a guard that is slow, dead or talks nonsense: closed by default, open on demand', async (t) => {
  const webhook = await service(t)
  const gone = await service(t)
  const answers: [string, Service['answer']][] = [
    ['slow', () => {}],
    ['dead', (_, response) => response.destroy()],
    ['garbage', (_, response) => response.end('{{{')],
    ['no action', says({})],
    ['error', (_, response) => response.writeHead(500).end('{"action":{}}')],
    ['redirect', (_, response) => response.writeHead(302, { location: '/other' }).end()],
    ['wrong type', says({ action: { body: 7 } })],
    ['fewer', says({ action: { body: { messages: [] } } })],
    ['wrong message', says({ action: { body: { messages: [{ content: 7 }] } } })]
  ]
  for (const [failureMode, status] of [
    ['FailClosed', 503],
    ['FailOpen', 200]
  ] as const) {
    const { ask } = await stand(t, { request: [hook(webhook.port, { timeout: '100ms', failureMode })] })
    for (const [name, answer] of answers) {
      webhook.answer = answer
      const got = await ask(CHAT, chat('hello'))
      equal(got.status, status, name)
      await got.text()
    }
  }
  ok(gone.port > 0)
})

test('a client that leaves takes its question to the guard along', async (t) => {
  const webhook = await service(t)
  const { ask } = await stand(t, { request: [hook(webhook.port)] })
  const controller = new AbortController()
  const closed = new Promise<void>((resolve) => {
    webhook.answer = (_, response) => {
      response.on('close', resolve)
      controller.abort()
    }
  })
  await rejects(ask(CHAT, chat('hello'), {}, controller.signal))
  await closed
})

test("OpenAI's moderation: all texts are sent with the key, what is flagged is rejected", async (t) => {
  const webhook = await service(t)
  const key = 'sk-canary'
  const guard = { openAIModeration: { host: '127.0.0.1', port: webhook.port, policies: { auth: { key } } } }
  const { models, ask } = await stand(t, { request: [guard] })
  const judge = (flagged: readonly boolean[]): Service['answer'] =>
    says({
      id: 'modr-1',
      model: 'omni-moderation-latest',
      results: flagged.map((one) => ({ flagged: one, categories: {}, category_scores: {} }))
    })
  webhook.answer = judge([false, false])
  const body = {
    model: 'm',
    messages: [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'b' }
    ]
  }
  equal((await ask(CHAT, body)).status, 200)
  const { path, headers, body: sent } = webhook.seen[0]!
  deepEqual(
    [path, headers.authorization, sent],
    ['/v1/moderations', `Bearer ${key}`, { model: 'omni-moderation-latest', input: ['a', 'b'] }]
  )
  webhook.answer = judge([false, true])
  const rejected = await ask(CHAT, body)
  equal(rejected.status, 403)
  ok(!(await rejected.text()).includes(key))
  for (const answer of [judge([false]), says({ results: [{}, {}] }), says([])]) {
    webhook.answer = answer
    equal((await ask(CHAT, body)).status, 503)
  }
  equal(models.requests.length, 1)
})

test('a timeout that comes first has the last word', async (t) => {
  const webhook = await service(t)
  const late: ServerResponse[] = []
  webhook.answer = (_, response) => late.push(response)
  for (const side of ['request', 'response']) {
    const { ask } = await stand(t, { [side]: [hook(webhook.port)] }, { openai: {} }, { timeouts: { request: '100ms' } })
    const got = await ask(CHAT, chat('hello'))
    equal(got.status, 504, side)
    late.pop()!.end('{"action":{"body":"no","status_code":403}}')
    match(await got.text(), /took longer/)
  }
})
