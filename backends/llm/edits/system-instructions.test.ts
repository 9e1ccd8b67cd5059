/** Instructions that the configuration says once, before every provider and for every client. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { isForeignSystem, withSystem } from './system-instructions.ts'

const ROUTES = { '/messages': 'Messages', '/responses': 'Responses', ':generateContent': 'GenerateContent' }
const ASKS: readonly (readonly [path: string, body: object, own: object])[] = [
  [
    '/v1/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
    {
      messages: [
        { role: 'system', content: 'Own.' },
        { role: 'user', content: 'Hi' }
      ]
    }
  ],
  ['/v1/messages', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }, { system: 'Own.' }],
  ['/v1/responses', { model: 'm', input: 'Hi' }, { instructions: 'Own.' }],
  [
    '/v1beta/models/m:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    { systemInstruction: { parts: [{ text: 'Own.' }] } }
  ]
]

/** Of what a provider was sent. */
function systemOf(body: Record<string, unknown>): string {
  const { system, systemInstruction, instructions, messages, input } = body
  return (
    JSON.stringify([system, systemInstruction, instructions, messages, input])
      .match(/Be brief\.|Own\./g)
      ?.join() ?? ''
  )
}

for (const field of ['system', 'systemInstruction', 'instructions']) {
  test(`${field} in defaults and overrides, from every format to every provider`, async (t) => {
    const models = await provider(t)
    for (const kind of ['openai', 'anthropic', 'gemini']) {
      const value = field === 'systemInstruction' ? { parts: [{ text: 'Be brief.' }] } : 'Be brief.'
      const ai = { provider: at(kind, models), routes: ROUTES }
      const filled = await gateway(t, { ...ai, defaults: [{ field, value }] })
      const forced = await gateway(t, { ...ai, overrides: [{ field, value }] })
      const seen = async (ask: typeof filled.ask, path: string, body: object) => {
        const { status } = await ask(path, body)
        return `${status} ${systemOf(models.requests.at(-1)!.body)}`
      }
      for (const [path, body, own] of ASKS) {
        equal(await seen(filled.ask, path, body), '200 Be brief.', `${kind} ${path}`)
        equal(await seen(filled.ask, path, { ...body, ...own }), '200 Own.', `${kind} ${path}`)
        equal(await seen(forced.ask, path, { ...body, ...own }), '200 Be brief.', `${kind} ${path}`)
      }
    }
  })
}

test("a client's own instructions stand before turns that the configuration puts first", async (t) => {
  const models = await provider(t)
  const prompt = { prepend: [{ role: 'user', content: 'Before.' }], append: [{ role: 'system', content: 'Be brief.' }] }
  const { ask } = await gateway(t, { provider: at('anthropic', models), prompt })
  const { status } = await ask(ASKS[0]![0], { ...ASKS[0]![1], ...ASKS[0]![2] })
  const { system, messages } = models.requests[0]!.body
  equal(status, 200)
  deepEqual(
    system.map(({ text }: { text: string }) => text),
    ['Own.', 'Be brief.']
  )
  deepEqual(messages.length, 1)
})

test('values of any shape, and bodies of any shape, break nothing', () => {
  deepEqual([isForeignSystem('messages', 'system'), isForeignSystem('completions', 'system')], [false, true])
  for (const value of [null, 7, [], {}, [7], [null], { parts: 7 }, { parts: [] }]) {
    equal(withSystem('completions', {}, value, true), null)
  }
  for (const messages of [null, 7, 'a', {}]) withSystem('completions', { messages }, 'x', true)
  const body = JSON.parse('{"__proto__": {"a": 1}, "messages": [null, 7]}')
  const made = withSystem('completions', body, ['a', { text: 'b' }], true)!
  deepEqual([Object.hasOwn(made, '__proto__'), made.messages], [true, [{ role: 'system', content: 'a\n\nb' }, null, 7]])
})
