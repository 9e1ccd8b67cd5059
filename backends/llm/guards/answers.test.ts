/** Prompt guards over whole answers. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { CHAT, chat, regex, SSN, stand } from './guards.fixture.ts'

const ANSWERS: readonly (readonly [string, object, object])[] = [
  [
    CHAT,
    { openai: {} },
    {
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: `It is ${SSN}`,
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: `{"a":"${SSN}"}` } }]
          },
          logprobs: { content: [{ token: SSN }] },
          finish_reason: 'stop'
        }
      ],
      model: 'm',
      id: 'x'
    }
  ],
  [
    '/v1/messages',
    { anthropic: {} },
    {
      id: 'x',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'text', text: `It is ${SSN}` },
        { type: 'tool_use', id: 't', name: 'f', input: { a: SSN } }
      ],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 }
    }
  ],
  [
    '/v1beta/models/m:generateContent',
    { gemini: {} },
    {
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          content: {
            role: 'model',
            parts: [{ text: `It is ${SSN}` }, { functionCall: { name: 'f', args: { a: SSN } } }]
          }
        }
      ]
    }
  ],
  [
    '/v1/responses',
    { openai: {} },
    {
      id: 'x',
      object: 'response',
      model: 'm',
      status: 'completed',
      output: [
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `It is ${SSN}` }] },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: `{"a":"${SSN}"}` }
      ]
    }
  ]
]

test('answers of every format are masked, also where the configuration says Reject', async (t) => {
  for (const [path, provider, answer] of ANSWERS) {
    for (const action of ['Mask', 'Reject']) {
      const { models, ask } = await stand(t, { response: [regex({ action })] }, provider)
      models.instead = (_, response) => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
        return true
      }
      const got = await ask(path, {
        ...chat('hi'),
        max_tokens: 5,
        input: 'hi',
        contents: [{ parts: [{ text: 'hi' }] }]
      })
      const text = await got.text()
      ok(!text.includes(SSN), text)
      equal(text.match(/<SSN>/g)?.length, 2, text)
      deepEqual([got.status, JSON.parse(text).model ?? null], [200, (answer as { model?: string }).model ?? null])
    }
  }
})

test("Gemini's stream as a list is a stream: masked from item to item", async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] }, { gemini: {} })
  const item = (text: string) => ({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }] })
  models.instead = (_, response) => {
    const list = JSON.stringify([item('It is 123-45'), item('-6789, ok')])
    response.setHeader('content-type', 'application/json').end(list)
    return true
  }
  const got = await ask('/v1beta/models/m:streamGenerateContent', { contents: [{ parts: [{ text: 'hi' }] }] })
  deepEqual(await got.json(), [item('It is <SSN>'), item(', ok')])
})

test('an answer that cannot be read does not pass a guard', async (t) => {
  const { models, ask } = await stand(t, { response: [regex()] })
  models.instead = (_, response) => {
    response.setHeader('content-type', 'application/json').end(`not JSON ${SSN}`)
    return true
  }
  const got = await ask(CHAT, chat('hi'))
  equal(got.status, 502)
  ok(!(await got.text()).includes(SSN))
})
