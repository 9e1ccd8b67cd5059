/** Prompt guards over what clients ask: what the provider gets to see. */

import { deepEqual, equal, fail, match, ok, rejects } from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { translateGuards } from '#backends/llm/config/guards.ts'
import { redact } from '#engine/admin/redact.ts'
import { keyAuth } from '#engine/contract/backend-auth/schema.ts'
import { NO_SECRETS } from '#engine/contract/secrets.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Body } from '#engine/testing/models.ts'
import { CHAT, chat, regex, SSN, stand } from './guards.fixture.ts'

const input = { to: SSN, n: 123456789, list: ['a@b.de'] }
const masked = { to: '<SSN>', n: '<SSN>', list: ['<EMAIL_ADDRESS>'] }
const args = (value: object) => JSON.stringify(value)
const CASES: [string, object, (text: string, mail: string, value: object) => Body][] = [
  [
    CHAT,
    { openai: {} },
    (text, mail, value) => ({
      model: 'm',
      unknown: { deep: [1, text] },
      user: SSN,
      messages: [
        { role: 'system', content: text, name: 'ann' },
        {
          role: 'user',
          content: [
            { type: 'text', text: mail, odd: text },
            { type: 'image_url', image_url: { url: `data:,${SSN}` } }
          ]
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: SSN, type: 'function', function: { name: 'f', arguments: args(value) } }]
        },
        { role: 'tool', tool_call_id: SSN, content: text }
      ]
    })
  ],
  [
    '/v1/messages',
    { anthropic: {} },
    (text, mail, value) => ({
      model: 'm',
      max_tokens: 5,
      system: [{ type: 'text', text, cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: text },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: text, signature: SSN },
            { type: 'tool_use', id: SSN, name: 'f', input: value }
          ]
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: SSN, content: [{ type: 'text', text: mail }] }]
        },
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: '123456789' } }
          ]
        }
      ]
    })
  ],
  [
    '/v1beta/models/m:generateContent',
    { gemini: {} },
    (text, mail, value) => ({
      systemInstruction: { parts: [{ text }] },
      contents: [
        { role: 'user', parts: [{ text: mail }, { inlineData: { mimeType: 'image/png', data: '123456789' } }] },
        { role: 'model', parts: [{ functionCall: { name: 'f', args: value }, thoughtSignature: SSN }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: value } }] }
      ]
    })
  ],
  [
    '/v1/responses',
    { openai: {} },
    (text, mail, value) => ({
      model: 'm',
      instructions: text,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: mail }] },
        { type: 'function_call', call_id: SSN, name: 'f', arguments: args(value) },
        { type: 'function_call_output', call_id: SSN, output: text }
      ]
    })
  ]
]
const nowhere = () => fail('nothing is read')
const NO_DOCUMENTS = { readFile: nowhere, readLarge: nowhere, readUrl: nowhere, readYaml: nowhere, secrets: NO_SECRETS }

test('requests of every format: every text is masked, and nothing else is touched', async (t) => {
  for (const [path, provider, body] of CASES) {
    const { models, ask } = await stand(t, { request: [regex()] }, provider)
    await ask(path, body(`I am ${SSN}.`, 'mail a@b.de', input))
    deepEqual(models.requests.at(-1)!.body, body('I am <SSN>.', 'mail <EMAIL_ADDRESS>', masked), path)
    const clean = body('I am.', 'mail', { a: 1 })
    await ask(path, clean)
    deepEqual(models.requests.at(-1)!.body, clean, path)
  }
})

test('arguments are looked through where a server has them as a value, whatever the names in it', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] })
  const called = (callArgs: unknown) => ({
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: callArgs } }]
  })
  for (const [callArgs, wanted] of [
    [
      { name: SSN, id: [SSN] },
      { name: '<SSN>', id: ['<SSN>'] }
    ],
    [[{ url: SSN }], [{ url: '<SSN>' }]]
  ]) {
    await ask(CHAT, { model: 'm', messages: [called(callArgs)] })
    deepEqual(models.requests.at(-1)!.body.messages, [called(wanted)])
  }
})

test('a rejected request is an error of its format, and no provider is asked', async (t) => {
  const { models, ask } = await stand(t, { request: [regex({ action: 'Reject' })] })
  for (const [path, wanted] of [
    [CHAT, /^\{"error":\{"message":"The request was rejected due to inappropriate content"/],
    ['/v1/messages', /^\{"type":"error"/],
    ['/v1beta/models/m:generateContent', /"status":/]
  ] as const) {
    const body = path.includes('models') ? { contents: [{ parts: [{ text: SSN }] }] } : chat(SSN)
    const answer = await ask(path, body)
    equal(answer.status, 403)
    const text = await answer.text()
    match(text, wanted)
    ok(!text.includes(SSN))
  }
  equal(models.requests.length, 0)
  const own = await stand(t, {
    request: [{ ...regex({ action: 'Reject' }), response: { message: 'no!', statusCode: 422 } }]
  })
  const answer = await own.ask(CHAT, chat(SSN))
  deepEqual([answer.status, ((await answer.json()) as { error: { message: string } }).error.message], [422, 'no!'])
})

test('guards act in order: what the first masks the second does not see', async (t) => {
  const { ask } = await stand(t, { request: [regex(), regex({ action: 'Reject' })] })
  equal((await ask(CHAT, chat(SSN))).status, 200)
  const other = await stand(t, { request: [regex({ action: 'Reject' }), regex()] })
  equal((await other.ask(CHAT, chat(SSN))).status, 403)
})

test('a body that is read in two ways, or in none, does not get past a guard', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] })
  const twice = await ask(CHAT, `{"model":"m","messages":[{"role":"user","content":"${SSN}"}],"messages":[]}`)
  deepEqual([twice.status, models.requests.length], [400, 0])
  match(await twice.text(), /comes twice/)
  equal((await ask(CHAT, '{"model":')).status, 400)
  const deep = await ask(CHAT, `{"model":"m","messages":${'['.repeat(200_000)}${']'.repeat(200_000)}}`)
  equal(deep.status, 400)
  const escaped = `{"model":"m","messages":[{"role":"user","cont\\u0065nt":"\\u0031${SSN.slice(1)}"}]}`
  await ask(CHAT, escaped)
  equal(models.requests.at(-1)!.body.messages[0].content, '<SSN>')
  await ask(CHAT, '{"model":"m","messages":[{"role":"user","__proto__":"123-45-6789","content":"x"}]}')
  ok(!JSON.stringify(models.requests.at(-1)!.body).includes(SSN))
})

test('a big prompt is looked through in another thread', async (t) => {
  const { models, ask } = await stand(t, { request: [{ regex: { builtins: ['Ssn'], matches: ['sk-[a-z]{4,}'] } }] })
  const filler = 'Nothing to see here, move along. '.repeat(4000)
  await ask(CHAT, chat(`${filler}${SSN} sk-abcdef`))
  equal(models.requests.at(-1)!.body.messages[0].content, `${filler}<SSN> <masked>`)
})

test('a 10 MB prompt does not hold the event loop', async (t) => {
  const filler = 'Nothing to see here, move along. '.repeat(300_000)
  const body = JSON.stringify(chat(`${filler}${SSN}`))
  for (const [name, guards] of [
    ['guarded', { request: [regex()] }],
    ['not guarded', { response: [regex()] }]
  ] as const) {
    const { models, ask } = await stand(t, guards)
    models.instead = (_, response) => {
      response.setHeader('content-type', 'application/json').end('{"choices":[]}')
      return true
    }
    // The client and the provider are in this process too: the difference is what tells.
    await ask(CHAT, body)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    await ask(CHAT, body)
    delay.disable()
    equal(models.requests.at(-1)!.body.messages[0].content.endsWith(name === 'guarded' ? '<SSN>' : SSN), true)
    t.diagnostic(`${name}: longest delay ${(delay.max / 1e6).toFixed(1)} ms`)
  }
})

test('a guard that would see nothing is a mistake of the configuration', async () => {
  const file = (ai: object) =>
    JSON.stringify({
      binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai: { provider: { openai: {} }, ...ai } }] }] }] }]
    })
  await rejects(
    startGateway(file({ routes: { '/x': 'Passthrough' }, promptGuard: { request: [regex()] } })),
    /promptGuard.*Passthrough \(route \/x\)/s
  )
  await rejects(startGateway(file({ promptGuard: {} })), /at least one of request, response/)
  await rejects(startGateway(file({ promptGuard: { response: [{ openAIModeration: {} }] } })), /openAIModeration/)
  await rejects(startGateway(file({ promptGuard: { request: [{ regex: { matches: ['(?<=a)b'] } }] } })), /RE2/)
  await rejects(startGateway(file({ promptGuard: { request: [{ regex: {} }] } })), /builtins, matches/)
  await rejects(startGateway(file({ promptGuard: { request: Array(9).fill(regex()) } })), /1 to 8/)
})

test('the key of a moderation is not shown with the configuration', () => {
  const auth = { key: 'sk-canary' }
  const guards = translateGuards({ request: [{ openAIModeration: { policies: { auth } } }] }, NO_DOCUMENTS)
  const [guard] = guards.request
  const server = guard?.kind === 'moderation' && 'host' in guard.server ? guard.server : null
  deepEqual([server?.host, server?.port, server?.auth], ['api.openai.com', 443, keyAuth('sk-canary')])
  ok(!JSON.stringify(redact(guards)).includes('canary'))
})

test('a field that is another one to servers that do not look at the case is refused', async (t) => {
  const messages = [{ role: 'user', content: SSN }]
  for (const action of ['Mask', 'Reject']) {
    const { models, ask } = await stand(t, { request: [regex({ action })] })
    for (const more of [
      { Messages: messages },
      { meſſages: messages },
      { Response_Format: { json_schema: SSN } },
      { response_format: { JSON_schema: SSN } }
    ]) {
      const refused = await ask(CHAT, chat('hi', more))
      deepEqual([refused.status, models.requests.length], [400, 0], JSON.stringify(more))
      match(await refused.text(), /is written in another case/)
    }
    equal((await ask(CHAT, chat('hi', { Model: 'x', response_format: { type: 'text', Type: 'x' } }))).status, 200)
  }
})
