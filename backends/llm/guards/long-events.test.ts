/** Guards over single events that are long: they are looked through in turns, and say what short ones would. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { StreamText } from '#engine/kit/scan/stream-text.ts'
import type { MockRequest, Models } from '#engine/testing/models.ts'
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
  sse,
  stand,
  TEXT
} from './guards.fixture.ts'

const TIMES = 2500
const many = (text: string) => `${text} `.repeat(TIMES)
const list = (args: string) => `[${Array.from({ length: TIMES }, () => args).join(',')}]`
const LONG = { ...chat('hi', { stream: true }), max_tokens: 5, input: 'hi', contents: [{ parts: [{ text: 'hi' }] }] }

/** Most units that were looked through between two turns. */
function watchTurns(t: TestContext) {
  const seen = { most: 0 }
  const { push } = StreamText.prototype
  let units = 0
  let isOn = true
  const turn = () => {
    units = 0
    if (isOn) setImmediate(turn)
  }
  turn()
  t.after(() => {
    isOn = false
  })
  t.mock.method(StreamText.prototype, 'push', function (this: StreamText, piece: string) {
    units += piece.length
    seen.most = Math.max(seen.most, units)
    push.call(this, piece)
  })
  return seen
}

const streaming = (models: Models, send: (response: ServerResponse, request: MockRequest) => void) => {
  models.instead = (request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    send(response, request)
    return true
  }
}

for (const { path, provider, events, read } of DIALECTS) {
  test(`long events are masked in turns: ${path}`, async (t) => {
    const { models, ask } = await stand(t, { response: [regex()] }, provider)
    // The small ones before and behind them stay in order.
    const sent = events(['Hm. ', many(TEXT), 'Bye.'], [list(ARGS)])
    streaming(models, (response) => response.end(sse(sent)))
    const seen = watchTurns(t)
    const data = dataOf(await (await ask(path, LONG)).text())
    const [text, args] = read(data)
    ok(text === `Hm. ${many(MASKED)}Bye.`, 'text')
    ok(args === list(MASKED_ARGS), 'arguments')
    equal(data.length, sent.filter(([, one]) => one !== '[DONE]').length)
    // What is looked at twice counts twice: a text, and what a match goes on into.
    // These have arguments or texts once more, as whole values, which are looked through in one turn.
    const isWhole = /responses|GenerateContent/.test(path)
    ok(isWhole || (seen.most > 0 && seen.most <= 3 * 4096), `${seen.most}`)
  })
}

const [OPENAI] = DIALECTS
const LONG_TEXT = sse(OPENAI!.events([many(TEXT)], [])).replaceAll(`"odd":"${SSN}",`, '')

test('a long event without an end, and bytes that come while it is searched', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  const [first, ...rest] = LONG_TEXT.split('\n\n')
  streaming(models, (response) => response.end(first))
  const cut = await (await ask(CHAT, LONG)).text()
  ok(!cut.includes(SSN) && cut.includes('<SSN>') && cut.includes('before it was complete'), cut.slice(-300))
  streaming(models, (response) => {
    response.write(`${first}\n\n`)
    for (const one of rest.slice(0, -1)) response.write(`${one}\n\n`)
    response.end()
  })
  ok((await (await ask(CHAT, LONG)).text()) === (await (await again(ask, models)).text()))
})

/** The same in one piece. */
function again(ask: (path: string, body: unknown) => Promise<Response>, models: Models) {
  streaming(models, (response) => response.end(LONG_TEXT))
  return ask(CHAT, LONG)
}

test('after a long event, an unreadable one ends the stream, and the text before it is sent', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  streaming(models, (response) => response.end(`${LONG_TEXT.split('data: [DONE]')[0]}data: "odd"\n\n`))
  const text = await (await ask(CHAT, LONG)).text()
  ok(text.includes('<SSN>') && !text.includes(SSN))
  ok(text.includes('an event is no JSON object'), text.slice(-300))
})

test('clients that leave while a long event is looked through, and providers that do', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  let calls = 0
  streaming(models, (response) => {
    calls++
    response.write(LONG_TEXT)
  })
  const cancel = new AbortController()
  const reading = await ask(CHAT, LONG, {}, cancel.signal)
  cancel.abort()
  await reading.text().catch(() => '')
  streaming(models, (response) => {
    calls++
    response.write(LONG_TEXT.split('data: [DONE]')[0]!, () => response.destroy())
  })
  const text = await (await ask(CHAT, LONG)).text().catch(() => '')
  ok(!text.includes(SSN))
  streaming(models, (response) => response.end(LONG_TEXT))
  deepEqual([calls, (await ask(CHAT, LONG)).status], [2, 200])
})
