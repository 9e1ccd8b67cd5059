/** Streams that are kept for a service: how their providers may fail. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { gateway } from '#backends/llm/testing/llm-gateway.ts'
import { startModels } from '#engine/testing/models.ts'
import { CHAT, chat, sse } from './guards.fixture.ts'
import { hook, service } from './service.fixture.ts'

const EVENT = sse([[null, { choices: [{ index: 0, delta: { content: 'a' } }] }]])

test('a provider that falls silent in a stream that is kept is given up, and one that is only slow is not', async (t) => {
  const [models, webhook] = [await startModels(), await service(t)]
  t.after(() => models.close())
  const provider = { openai: {}, host: '127.0.0.1', port: models.port }
  const promptGuard = { response: [hook(webhook.port)] }
  const { ask } = await gateway(t, { provider, promptGuard, streams: { stall: '600ms' } })
  const gone = Promise.withResolvers<unknown>()
  models.instead = (_, response) => {
    gone.resolve(once(response, 'close'))
    response.setHeader('content-type', 'text/event-stream').write(EVENT)
    return true
  }
  const silent = await ask(CHAT, chat('hi', { stream: true }))
  equal(silent.status, 504)
  match(await silent.text(), /the backend did not answer in time/)
  await gone.promise
  equal(webhook.seen.length, 0)

  // Longer in all than a silence may be.
  models.instead = (_, response) => {
    response.setHeader('content-type', 'text/event-stream').write(EVENT)
    let left = 20
    const timer = setInterval(() => {
      if (left-- > 0) return response.write(EVENT)
      clearInterval(timer)
      return response.end(sse([[null, '[DONE]']]))
    }, 50)
    return true
  }
  const slow = await ask(CHAT, chat('hi', { stream: true }))
  deepEqual([slow.status, (await slow.text()).split('"a"').length], [200, 22])
})
