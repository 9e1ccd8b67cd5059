/** Prompt guards over streams of every format, at every split. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import {
  ARGS,
  CHAT,
  chat,
  DIALECTS,
  dataOf,
  MASKED,
  MASKED_ARGS,
  regex,
  SSN,
  split,
  sse,
  stand,
  TEXT
} from './guards.fixture.ts'

test('streams of every format, at every split of text and arguments: masked, and every event is there', async (t) => {
  for (const { path, provider, events, read } of DIALECTS) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    for (let at = 0; at <= Math.max(TEXT.length, ARGS.length); at += 1) {
      const sent = events(split(TEXT, at), split(ARGS, at))
      models.instead = (_, response) => {
        response.setHeader('content-type', 'text/event-stream').end(sse(sent))
        return true
      }
      const got = await ask(path, {
        ...chat('hi', { stream: true }),
        max_tokens: 5,
        input: 'hi',
        contents: [{ parts: [{ text: 'hi' }] }]
      })
      const text = await got.text()
      const data = dataOf(text)
      deepEqual(read(data), [MASKED, MASKED_ARGS], `${path} ${at}`)
      equal(data.length, sent.filter(([, one]) => one !== '[DONE]').length)
      for (const leak of [SSN, '6789', 'a@b']) ok(!text.includes(leak), `${path} ${at}: ${text}`)
      ok(!path.endsWith('completions') || text.endsWith('data: [DONE]\n\n'))
    }
  }
})

test('at every split of the bytes', async (t) => {
  for (const { path, provider, events, read } of DIALECTS) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    const bytes = Buffer.from(sse(events(split(TEXT, 14), split(ARGS, 12))))
    for (let at = 1; at < bytes.length; at += 13) {
      models.instead = (_, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.write(bytes.subarray(0, at), () => response.end(bytes.subarray(at)))
        return true
      }
      const got = await ask(path, {
        ...chat('hi', { stream: true }),
        max_tokens: 5,
        input: 'hi',
        contents: [{ parts: [{ text: 'hi' }] }]
      })
      deepEqual(read(dataOf(await got.text())), [MASKED, MASKED_ARGS], `${path} ${at}`)
    }
  }
})

test('translated streams are masked too', async (t) => {
  const [completions, messages] = DIALECTS
  for (const [from, to] of [
    [completions!, messages!],
    [messages!, completions!]
  ] as const) {
    const { models, ask } = await stand(t, { response: [regex()] }, from.provider)
    models.instead = (_, response) => {
      response.setHeader('content-type', 'text/event-stream').end(sse(from.events(split(TEXT, 13), split(ARGS, 13))))
      return true
    }
    const got = await ask(to.path, { ...chat('hi', { stream: true }), max_tokens: 5 })
    deepEqual(to.read(dataOf(await got.text())), [MASKED, MASKED_ARGS])
  }
})

test('a stream with nothing in it has the bytes that the provider sent', async (t) => {
  for (const { path, provider, events } of DIALECTS) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    const text = sse(events(['Hello, ', '1234 wörld'], ['{"a":', '1.0}']))
    models.instead = (_, response) => {
      response.setHeader('content-type', 'text/event-stream').end(text)
      return true
    }
    const got = await ask(path, {
      ...chat('hi', { stream: true, stream_options: { include_usage: true } }),
      max_tokens: 5,
      input: 'hi',
      contents: [{ parts: [{ text: 'hi' }] }]
    })
    equal(await got.text(), text, path)
  }
})

test('matches in a stream are masked, even with the action Reject', async (t) => {
  for (const { path, provider, events, read } of DIALECTS) {
    const guard = { ...regex({ action: 'Reject' }), response: { message: 'not this' } }
    const { models, ask } = await stand(t, { response: [guard] }, provider)
    models.instead = (_, response) => {
      response.setHeader('content-type', 'text/event-stream').end(sse(events([TEXT], [ARGS])))
      return true
    }
    const got = await ask(path, {
      ...chat('hi', { stream: true }),
      max_tokens: 5,
      input: 'hi',
      contents: [{ parts: [{ text: 'hi' }] }]
    })
    const text = await got.text()
    deepEqual(read(dataOf(text)), [MASKED, MASKED_ARGS], path)
    equal(text.includes('not this'), false)
  }
})

test('text goes on at once while nothing can have begun in it', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  let more: ServerResponse | null = null
  const events = DIALECTS[0]!.events(['Hello there! ', 'bye'], ['{}'])
  models.instead = (_, response) => {
    more = response
    response.setHeader('content-type', 'text/event-stream').write(sse(events.slice(0, 1)))
    return true
  }
  const got = await ask(CHAT, chat('hi', { stream: true }))
  const reader = got.body!.getReader()
  match(new TextDecoder().decode((await reader.read()).value), /Hello there! /)
  more!.end(sse(events.slice(1)))
  await reader.cancel()
})

test('a text that may go on does not hold back another one of the same choice for long', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  const chunk = (delta: object) =>
    [
      null,
      {
        id: 'x',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason: null }]
      }
    ] as const
  let more: ServerResponse | null = null
  models.instead = (_, response) => {
    more = response
    response.setHeader('content-type', 'text/event-stream')
    response.write(sse([chunk({ reasoning_content: 'thinking of 123-45' }), chunk({ content: 'Hello there! ' })]))
    return true
  }
  const got = await ask(CHAT, chat('hi', { stream: true }))
  const reader = got.body!.getReader()
  let text = ''
  while (!text.includes('Hello there! ')) text += new TextDecoder().decode((await reader.read()).value)
  match(text, /thinking of 123-45/)
  more!.end()
  await reader.cancel()
})

const TWINS = `{"choices":[{"delta":{"content":"${SSN}","content":"x"}}]}`

test('an event that cannot be searched does not pass', async (t) => {
  for (const data of [SSN, JSON.stringify(SSN), `[{"a":"${SSN}"}]`, `{"choices":[{"delta":{"content":"${SSN}`, TWINS]) {
    for (const end of ['', '\n\n']) {
      const { models, ask } = await stand(t, { response: [regex()] })
      models.instead = (_, response) => {
        response.setHeader('content-type', 'text/event-stream').end(`data: ${data}${end}`)
        return true
      }
      const text = await (await ask(CHAT, chat('hi', { stream: true }))).text()
      equal(text.includes(SSN), false, text)
      match(text, /cannot be read|before it was complete/)
    }
  }
})

test('the last event of a guarded stream may lack its empty line', async (t) => {
  for (const { path, provider, events, read } of DIALECTS) {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    models.instead = (_, response) => {
      response.setHeader('content-type', 'text/event-stream').end(sse(events([TEXT], [ARGS])).trimEnd())
      return true
    }
    const body = {
      ...chat('hi', { stream: true }),
      max_tokens: 5,
      input: 'hi',
      contents: [{ parts: [{ text: 'hi' }] }]
    }
    const text = await (await ask(path, body)).text()
    deepEqual(read(dataOf(text)), [MASKED, MASKED_ARGS], path)
    equal(text.includes('before it was complete'), false, text)
  }
})
