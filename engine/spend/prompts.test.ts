/** Prompts and answers in records of calls: only where they are asked for, and as the guards have left them. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { hook, says, service } from '#backends/llm/guards/service.fixture.ts'
import type { KeptContent } from '#engine/contract/kept-content.ts'
import type { Models } from '#engine/testing/models.ts'
import { ANSWER, answerWith, chat, choice, one, params, type SpendRecord, stand } from './calls.fixture.ts'

const CONFIG = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }
const keeping = (prompts: object = {}) => ({ config: { ...CONFIG, spendLog: { path: 'unused', prompts } } })
const contents = (records: readonly SpendRecord[]) => records.map(({ content }) => content as KeptContent | undefined)
const regex = (action: string, pattern: string) => ({ regex: { action, matches: [pattern] } })

function streamWith(models: Models, texts: readonly string[], isWhole = true): void {
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const content of texts) {
      const event = { ...ANSWER, usage: null, choices: [{ index: 0, delta: { content }, finish_reason: null }] }
      response.write(`data: ${JSON.stringify(event)}\n\n`)
    }
    if (isWhole) response.end('data: [DONE]\n\n')
    else setImmediate(() => response.destroy())
    return true
  }
}

test('nothing of what is said is in a record unless the configuration asks for it', async (t) => {
  const { ask, ended } = await stand(t, one(), { config: { ...CONFIG, spendLog: { path: 'unused' } } })
  equal(await ask(chat('CANARY-17')), 200)
  const { records } = await ended()
  equal(records.length, 1)
  equal('content' in records[0]!, false)
  equal(/CANARY|Hello/.test(JSON.stringify(records)), false)
})

test('prompts, answers and calls of tools, of whole answers and of streams', async (t) => {
  const { ask, ended, models } = await stand(t, one(), keeping())
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' }
  ]
  equal(await ask({ model: 'm', messages }), 200)
  streamWith(models, ['Hel', 'lo'])
  equal(await ask({ model: 'm', messages, stream: true }), 200)
  const call = { id: 'c1', type: 'function', function: { name: 'now', arguments: '{"zone":"UTC"}' } }
  const asks = { role: 'assistant', content: null, tool_calls: [call] }
  answerWith(models, { choices: [{ index: 0, message: asks, finish_reason: 'tool_calls' }] })
  equal(await ask({ model: 'm', messages }), 200)
  const { records } = await ended()
  const kept = { prompt: messages, answer: ['Hello'], toolCalls: [], isCut: false }
  const tool = { ...kept, answer: [''], toolCalls: [{ id: 'c1', name: 'now', arguments: '{"zone":"UTC"}' }] }
  deepEqual(contents(records), [kept, kept, tool])
})

/** Client formats beside the provider's own: native, and translated. */
const PROVIDERS = ['openai', 'anthropic'] as const

test('a word that a guard masks is in no record: prompts, whole answers, streams, translated or not', async (t) => {
  const promptGuard = { request: [regex('Mask', 'CANARY-\\d+')], response: [regex('Mask', 'SPARROW-\\d+')] }
  for (const provider of PROVIDERS) {
    const llm = (port: number) => ({ models: [{ name: 'm', provider, params: params(port), promptGuard }] })
    const { ask, ended, models } = await stand(t, llm, keeping({ traces: true }))
    const bodies = provider === 'openai' ? choice('a SPARROW-34 flies') : MESSAGE
    answerWith(models, bodies)
    equal(await ask({ ...chat('the CANARY-17 sings'), max_tokens: 9 }), 200)
    if (provider === 'openai') streamWith(models, ['a SPAR', 'ROW-', '34', ' flies'])
    else streamMessages(models, ['a SPAR', 'ROW-', '34', ' flies'])
    equal(await ask({ ...chat('the CANARY-17 sings'), max_tokens: 9, stream: true }), 200)
    const { records } = await ended()
    equal(/CANARY-|SPARROW-/.test(JSON.stringify(records)), false, provider)
    deepEqual(
      contents(records).map((kept) => kept && /^the <\w+> sings$/.test(kept.prompt[0]!.content)),
      [true, true]
    )
    deepEqual(
      contents(records).map((kept) => kept && /^a <\w+> flies$/.test(kept.answer[0]!)),
      [true, true]
    )
  }
})

const MESSAGE = {
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'm-2', stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'a SPARROW-34 flies' }],
  usage: { input_tokens: 5, output_tokens: 5 }
}

function streamMessages(models: Models, texts: readonly string[]): void {
  const delta = (text: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
  const events = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...texts.map(delta),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' }
  ]
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.end()
    return true
  }
}

test('what a guard has refused is in no record, nor what a refused request has said', async (t) => {
  const judge = await service(t)
  judge.answer = says({ action: { body: 'no', status_code: 403 } })
  const promptGuard = { request: [regex('Reject', 'CANARY')], response: [hook(judge.port)] }
  const { ask, ended, models } = await stand(t, one({ promptGuard }), keeping())
  equal(await ask(chat('a CANARY')), 403)
  answerWith(models, choice('a SPARROW'))
  equal(await ask(chat('a bird')), 403)
  const { records } = await ended()
  equal(/CANARY|SPARROW/.test(JSON.stringify(records)), false)
  const [request, answer] = contents(records)
  equal(request, undefined)
  deepEqual([answer!.prompt, answer!.answer], [[{ role: 'user', content: 'a bird' }], []])
})

test('a copy of a call has a record without what was said: no guard has seen its answer', async (t) => {
  const llm = (port: number) => ({
    models: ['a', 'b'].map((name) => ({ name, provider: 'openai', params: { ...params(port), model: `m-${name}` } })),
    virtualModels: [
      {
        ...{ name: 'v', routing: { failover: { targets: [{ model: 'a' }] } } },
        shadow: { model: 'b', percent: 100 }
      }
    ]
  })
  const { ask, ended, gateway } = await stand(t, llm, keeping())
  equal(await ask(chat('Hi', 'v')), 200)
  while (!/weir_llm_side_call_duration_seconds/.test(gateway.metrics())) await turn()
  const { records } = await ended()
  const shadow = records.filter(({ purpose }) => purpose === 'shadow')
  equal(shadow.length, 1)
  equal('content' in shadow[0]!, false)
})

test('of a stream that breaks the record has what came', async (t) => {
  const { ask, ended, models } = await stand(t, one(), keeping())
  streamWith(models, ['Hel'], false)
  await ask({ ...chat('Hi'), stream: true }).catch(() => 'it broke')
  const { records } = await ended()
  deepEqual(contents(records)[0]?.prompt, [{ role: 'user', content: 'Hi' }])
  deepEqual(contents(records)[0]?.answer, ['Hel'])
})

test('a large prompt is looked into elsewhere, and its record is as small as others', async (t) => {
  const { ask, ended } = await stand(t, one(), keeping({ maxBytes: 1024 }))
  const long = 'x'.repeat(400_000)
  const messages = [
    { role: 'user', content: long },
    { role: 'user', content: 'and now?' }
  ]
  equal(await ask({ model: 'm', messages }), 200)
  const { records } = await ended()
  const [kept] = contents(records)
  equal(kept!.isCut, true)
  equal(kept!.prompt.at(-1)!.content, 'and now?')
  deepEqual(kept!.answer, ['Hello'])
  ok(Buffer.byteLength(JSON.stringify(kept!.prompt)) <= 1024)
})
