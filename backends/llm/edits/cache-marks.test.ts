/** Where cache marks are put, and where they are not. */

import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import type { Body } from '#backends/demo/models/wire.ts'
import { backends } from '#backends/index.ts'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { assertLinear } from '#engine/testing/cpu.ts'
import { policies } from '#policies/index.ts'
import { withCacheMarks } from './cache-marks.ts'

const ALL = { cacheSystem: true, cacheMessages: true, cacheTools: true, minTokens: 0 }
const MARK = { type: 'ephemeral' }
const words = (n: number) => 'word '.repeat(n)
const onMessages = (body: JsonObject, caching = ALL): Body => withCacheMarks('messages', 'claude', body, caching)
const onConverse = (model: string, body: JsonObject, caching = ALL): Body =>
  withCacheMarks('converse', model, body, caching)

test("Claude's tools, instructions and all but the last message are marked at their ends", () => {
  const body = {
    tools: [{ name: 'a' }, { name: 'b' }],
    system: 'Be brief.',
    messages: [
      { role: 'user', content: 'One' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Two' },
          { type: 'thinking', thinking: 'x' }
        ]
      },
      { role: 'user', content: 'Three' }
    ]
  }
  const text = JSON.stringify(body)
  const { tools, system, messages } = onMessages(body)
  deepEqual(tools, [{ name: 'a' }, { name: 'b', cache_control: MARK }])
  deepEqual(system, [{ type: 'text', text: 'Be brief.', cache_control: MARK }])
  deepEqual(messages[1].content[0], { type: 'text', text: 'Two', cache_control: MARK })
  deepEqual([messages[0], messages[2]], [body.messages[0], body.messages[2]])
  equal(JSON.stringify(body), text, 'what came is not changed')
  deepEqual(onMessages(body, { ...ALL, cacheTools: false, cacheSystem: false, cacheMessages: false }), body)
})

test('a beginning of fewer than minTokens, 1.3 to a word, is not marked; longer ones behind it are', () => {
  const body = {
    system: words(100),
    messages: [
      { role: 'user', content: words(100) },
      { role: 'user', content: 'Last' }
    ]
  }
  const marks = (minTokens: number) => {
    const { system, messages } = onMessages(body, { ...ALL, minTokens })
    return [typeof system !== 'string', typeof messages[0].content !== 'string']
  }
  deepEqual(
    [marks(130), marks(131), marks(260), marks(261)],
    [
      [true, true],
      [false, true],
      [false, true],
      [false, false]
    ]
  )
})

test('a request with marks of its own gets none', () => {
  const marked = { type: 'text', text: 'x', cache_control: MARK }
  const messages = [
    { role: 'user', content: 'One' },
    { role: 'user', content: 'Two' }
  ]
  for (const own of [
    { cache_control: MARK },
    { system: [marked] },
    { tools: [{ name: 'a', cache_control: MARK }] },
    { messages: [{ role: 'user', content: [marked] }, ...messages] },
    { messages: [{ role: 'user', content: [{ type: 'tool_result', content: [marked] }] }, ...messages] }
  ]) {
    const body = { system: 'Be brief.', messages, ...own } as JsonObject
    equal(onMessages(body), body)
  }
})

test('bodies that are nothing of the kind stay as they are', () => {
  for (const body of [
    {},
    { messages: 7, system: 7, tools: 7 },
    { messages: [null, null], system: [null, 7], tools: [[]] },
    { messages: [{ content: '' }, {}], system: [{ type: 'text', text: '' }] },
    { messages: [{ content: [{ type: 'thinking' }] }, {}] }
  ] as JsonObject[]) {
    deepEqual(onMessages(body), body)
  }
})

test('Converse gets cache points, for models that have them', () => {
  const body = {
    toolConfig: { tools: [{ toolSpec: { name: 'a' } }] },
    system: [{ text: 'Be brief.' }],
    messages: [
      { role: 'user', content: [{ text: 'One' }] },
      { role: 'user', content: [{ text: 'Two' }] }
    ]
  }
  const point = { cachePoint: { type: 'default' } }
  const { toolConfig, system, messages } = onConverse('eu.anthropic.claude-sonnet-4-v1:0', body)
  deepEqual(toolConfig.tools, [{ toolSpec: { name: 'a' } }, point])
  deepEqual([system[1], messages[0].content[1], messages[1].content.length], [point, point, 1])
  deepEqual(onConverse('amazon.nova-pro-v1:0', body).toolConfig, body.toolConfig)
  for (const model of ['anthropic.claude-v2:1', 'anthropic.claude-instant-v1', 'meta.llama3']) {
    equal(onConverse(model, body), body)
  }
  const own = { ...body, system: [{ text: 'x' }, point] }
  equal(onConverse('anthropic.claude-sonnet-4', own), own)
})

test('counting is linear, and ends with what is wanted', () => {
  assertLinear('words and depth', 2_000, (size) => {
    let deep: Body = 'word'
    for (let i = 0; i < size; i++) deep = [deep]
    onMessages({ system: words(100 * size), messages: [{ content: deep }, {}] })
  })
})

test('requests are marked for Claude, native and translated, and for no other model', async (t) => {
  const models = await provider(t)
  const caching = { minTokens: 3 }
  const ask = {
    model: 'm1',
    messages: [
      { role: 'system' as const, content: 'Be brief and to the point.' },
      { role: 'user' as const, content: 'Hi' }
    ]
  }
  for (const kind of ['anthropic', 'openai', 'gemini']) {
    const { base } = await gateway(t, { provider: at(kind, models), promptCaching: caching })
    await new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 }).chat.completions.create(ask)
    equal(JSON.stringify(models.requests.at(-1)!.body).includes('cache_control'), kind === 'anthropic', kind)
  }
  const vertexai = { projectId: 'p', region: 'r', model: 'claude-x' }
  const there = { host: '127.0.0.1', port: models.port, policies: { auth: { key: 'k' } } }
  const vertex = await gateway(t, { provider: { vertexai, ...there }, promptCaching: caching })
  await new OpenAI({ baseURL: `${vertex.base}/v1`, apiKey: 'k', maxRetries: 0 }).chat.completions.create(ask)
  const { path, body: onVertex } = models.requests.at(-1)!
  deepEqual([path.endsWith('/claude-x:rawPredict'), onVertex.system[0].cache_control], [true, MARK])
  const { ask: post } = await gateway(t, {
    provider: at('anthropic', models),
    promptCaching: caching,
    routes: { '*': 'Messages' }
  })
  const body = {
    model: 'm1',
    max_tokens: 5,
    system: 'Be brief and to the point.',
    messages: [{ role: 'user', content: 'x' }]
  }
  await post('/v1/messages', { ...body, odd: 1 })
  const seen = models.requests.at(-1)!.body
  deepEqual([seen.odd, seen.system[0].cache_control], [1, MARK])
  await post('/v1/messages', { ...body, system: 'Short' })
  deepEqual(models.requests.at(-1)!.body, { ...body, system: 'Short' })
})

test('a configuration whose marks no provider would read is warned of', () => {
  const warnings = (file: object): string[] => {
    const result = loadConfig(JSON.stringify(file), {
      file: 'f',
      env: {},
      policies,
      backends,
      folder: '.',
      processors: 1
    })
    ok(result.ok)
    return result.warnings.filter((text) => text.includes('promptCaching')).map((text) => text.replace(/^\S+ /, ''))
  }
  const backend = (ai: object) => warnings({ backends: [{ name: 'b', ai: { promptCaching: {}, ...ai } }] })
  deepEqual(backend({ provider: { anthropic: {} } }), [])
  deepEqual(backend({ provider: { custom: { formats: ['completions', 'messages'] }, host: 'a' } }), [])
  match(
    backend({ provider: { openai: {} } })[0]!,
    /^backends\[0\].ai.promptCaching: has no effect: openai has no marks/
  )
  match(backend({ provider: { custom: {}, host: 'a' } })[0]!, /custom without messages/)
  const groups = (...kinds: string[]) => ({
    groups: kinds.map((kind) => ({ providers: [{ name: kind, [kind]: {} }] }))
  })
  deepEqual([backend(groups('gemini', 'anthropic')).length, backend(groups('gemini', 'openai')).length], [0, 1])
  const own = { policies: { ai: { promptCaching: {} } } }
  const providers = [
    { name: 'a', gemini: {}, ...own },
    { name: 'b', anthropic: {}, ...own }
  ]
  const listeners = [{ routes: [{ backends: [{ ai: { groups: [{ providers }] } }] }] }]
  match(
    warnings({ binds: [{ port: 1, listeners }] }).join(),
    /providers\[0\].policies.ai.promptCaching: has no effect: gemini/
  )
  const model = (provider: string) => ({ name: provider, provider, promptCaching: {} })
  const messages = warnings({ llm: { models: [model('anthropic'), model('groq'), model('bedrock')] } })
  equal(messages.length === 1 && messages[0]!.startsWith('llm.models[1].promptCaching: has no effect: groq'), true)
})
