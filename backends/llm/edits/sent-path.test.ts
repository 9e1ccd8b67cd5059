/** A client knows its own messages by number, not those of the configuration around them. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClientFormat, JsonObject } from '#backends/llm/conversation.ts'
import { at, gateway, jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { enrich } from './prompt-messages.ts'
import { sentPath } from './sent-path.ts'

const PROMPT = {
  prepend: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Before.' }
  ],
  append: [{ role: 'user', content: 'After.' }]
} as const

describe('places in a request with messages of the configuration', () => {
  const user = { role: 'user', content: 'Hi' }
  for (const [client, sent, pairs] of [
    [
      'completions',
      { messages: [user, { role: 'user', content: 'Hi' }] },
      { 'messages[2].content': 'messages[0].content', 'messages[3]': 'messages[1]', 'messages[0]': 'prompt' }
    ],
    ['messages', { messages: [user], system: 'S' }, { 'messages[1]': 'messages[0]', 'system[1]': 'system' }],
    ['messages', { messages: [user], system: [{ type: 'text' }] }, { 'system[1].text': 'system[0].text' }],
    ['responses', { input: 'Hi' }, { 'input[2].content': 'input', 'input[1]': 'prompt' }],
    [
      'gemini',
      { contents: [{ parts: [] }], systemInstruction: { parts: [{ text: 1 }] } },
      {
        'contents[1].parts': 'contents[0].parts',
        'systemInstruction.parts[1].text': 'systemInstruction.parts[0].text',
        'contents[2]': 'prompt',
        'generationConfig.topK': 'generationConfig.topK'
      }
    ]
  ] as const satisfies readonly (readonly [ClientFormat, JsonObject, Readonly<Record<string, string>>])[]) {
    it(`are the client's own in ${client}: ${JSON.stringify(sent).slice(0, 40)}`, () => {
      const prompted = enrich(client, 'completions', sent as JsonObject, PROMPT)
      for (const [path, own] of Object.entries(pairs)) equal(sentPath(path, prompted, sent as JsonObject), own, path)
    })
  }
})

it('mistakes and losses are told by the numbers that the client knows', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(t, { provider: at('anthropic', models), prompt: PROMPT, unsupported: 'drop' })
  const chat = (...messages: unknown[]) => ask('/v1/chat/completions', { model: 'm1', max_tokens: 9, messages })
  const refused = await chat({ role: 'user', content: 'Hi' }, { role: 'user', content: 7 })
  const { message } = (await jsonOf(refused)).error
  deepEqual([refused.status, /messages\[\d\]\S*/.exec(message)?.[0]], [400, 'messages[1].content:'])
  const dropped = await chat({ role: 'user', content: 'Hi', name: 'ann' })
  deepEqual([dropped.status, dropped.headers.get('x-weir-dropped')], [200, 'messages[0].name'])
})
