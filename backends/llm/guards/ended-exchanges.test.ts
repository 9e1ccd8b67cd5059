/** Guards of an exchange that is over: nothing more is looked at, asked or sent. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { AiGuard } from '#backends/llm/config/snapshot.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { guardBody, type Run } from './guard-body.ts'
import { CHAT, chat, regex, sse, stand } from './guards.fixture.ts'
import { hook, service } from './service.fixture.ts'

const delta = (content: string) => ({ index: 0, delta: { content }, finish_reason: null })
const reply = { status: 403, message: 'no' }
const rules: AiGuard = { kind: 'regex', rules: { builtins: ['Ssn'], patterns: [] }, action: 'mask', reply }
const webhook = (port: number): AiGuard => {
  return { kind: 'webhook', server: `http://127.0.0.1:${port}`, forward: [], failOpen: true, timeoutMs: 10_000, reply }
}

test('the guard that follows is not begun, whether the service was asked, or was to be', async (t) => {
  const server = await service(t)
  for (const when of ['scan', 'service'] as const) {
    const controller = new AbortController()
    const scans: string[] = []
    server.seen.length = 0
    server.answer = () => controller.abort()
    const run: Run = async ({ step }) => {
      scans.push(step.kind)
      if (when === 'scan') controller.abort()
      return { kind: 'questions', questions: [{ part: '', bytes: Buffer.from('{}') }], count: 1 }
    }
    const shape = { kind: 'json', reach: FORMATS.completions.requestTexts, role: 'user' } as const
    const body = { bytes: Buffer.from('{}'), shape, side: 'request' } as const
    const call = { ex: fakeExchange(), services: new Map(), fields: new HeaderBlock(), signal: controller.signal }
    const outcome = await guardBody([webhook(server.port), rules, webhook(server.port)], body, run, call)
    deepEqual([outcome.kind, scans, server.seen.length], ['over', ['ask'], when === 'scan' ? 0 : 1], when)
  }
})

test('a client that has left, and a timeout: the service is left, no provider and no other guard is asked', async (t) => {
  const [first, second] = [await service(t), await service(t)]
  const open = { failureMode: 'FailOpen' }
  const guards = { request: [hook(first.port, open), regex(), hook(second.port, open)] }
  for (const how of ['left', 'late']) {
    const policies = how === 'late' ? { timeouts: { request: '100ms' } } : {}
    const { models, ask } = await stand(t, guards, { openai: {} }, policies)
    const patient = await stand(t, guards)
    const controller = new AbortController()
    let wasCalled = false
    const left = new Promise<unknown>((resolve) => {
      first.answer = (_, response) => {
        wasCalled = true
        resolve(once(response, 'close'))
        if (how === 'left') controller.abort()
      }
    })
    if (how === 'left') await rejects(ask(CHAT, chat('of nobody'), {}, controller.signal))
    // On a busy machine the time may be over before the service is asked.
    else while (!wasCalled) equal((await ask(CHAT, chat('of nobody'))).status, 504)
    await left
    second.seen.length = 0
    // Whatever the one before still did has been done when the next has been answered.
    first.answer = (_, response) => response.end('{"action":{}}')
    equal((await patient.ask(CHAT, chat('next'))).status, 200)
    const prompts = second.seen.map(({ body }) => body.body.messages[0].content)
    deepEqual([prompts, models.requests.length, patient.models.requests.length], [['next'], 0, 1], how)
  }
})

test('an answer that a service still judges when its client leaves has been paid for, and once', async (t) => {
  for (const which of ['whole', 'streamed', 'a long stream']) {
    const isStreamed = which !== 'whole'
    const server = await service(t)
    const policies = { rateLimit: { local: [{ tokens: 30, unit: 'Hours' }] } }
    const { models, ask } = await stand(t, { response: [hook(server.port)] }, { openai: {} }, policies)
    const controller = new AbortController()
    const left = new Promise<unknown>((resolve) => {
      server.answer = (_, response) => {
        resolve(once(response, 'close'))
        controller.abort()
      }
    })
    const more = isStreamed ? { stream: true } : {}
    if (which === 'a long stream') {
      const usage = { prompt_tokens: 7, completion_tokens: 12, total_tokens: 19 }
      const events = [
        ...Array.from({ length: 2000 }, () => ({ choices: [delta('words '.repeat(20))] })),
        { choices: [], usage }
      ]
      models.instead = (_, response) => {
        const wire = sse([...events.map((event) => [null, event] as const), [null, '[DONE]']])
        response.setHeader('content-type', 'text/event-stream').end(wire)
        return true
      }
    }
    await rejects(ask(CHAT, chat('hi', more), {}, controller.signal))
    await left
    // A long one is read in several turns. What is no request costs nothing.
    const remaining = async () => (await ask(CHAT, 'none')).headers.get('x-ratelimit-remaining')
    let now = await remaining()
    while (now === '30') now = await remaining()
    equal(now, '11')
    server.answer = (_, response) => response.end('{"action":{}}')
    const statuses: number[] = []
    while (statuses.at(-1) !== 429 && statuses.length < 5) statuses.push((await ask(CHAT, chat('hi', more))).status)
    deepEqual([statuses, models.requests.length], [[200, 429], 2], which)
  }
})
