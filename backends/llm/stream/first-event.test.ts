/** Streams whose beginning is looked into, where several providers may be asked (first-event.ts). */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const ROUTES = { '/messages': 'Messages', '/responses': 'Responses', '*': 'Completions' }
const STREAM = { model: 'm', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'Hi' }] }
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', model: 'g', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const USAGE = 'data: {"id":"c","model":"g","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n'
const PIECES = [
  chunk({ role: 'assistant', content: 'Hel' }),
  chunk({ content: 'lo' }, 'stop'),
  USAGE,
  'data: [DONE]\n\n'
]
const TOO_LONG = { error: { message: 'prompt is too long', type: 'invalid_request_error', code: 400 } }

/** Answers with `pieces`: all in one write, or each when the one before it is out. */
function streaming(models: Models, pieces: readonly string[], isAtOnce: boolean): void {
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const next = (i: number): void => {
      if (i === pieces.length) response.end()
      else response.write(pieces[i], () => setImmediate(next, i + 1))
    }
    if (isAtOnce) response.end(pieces.join(''))
    else next(0)
    return true
  }
}

const groups = (...models: Models[]) =>
  models.map((one, i) => ({ providers: [{ name: `p${i}`, ...at('custom', one) }] }))

for (const path of ['/v1/messages', '/v1/chat/completions']) {
  for (const isAtOnce of [true, false]) {
    test(`a stream is the same whether another provider could be asked or not: ${path}, ${isAtOnce}`, async (t) => {
      const models = await provider(t)
      streaming(models, PIECES, isAtOnce)
      const texts: string[] = []
      for (const backend of [{ groups: groups(models) }, { groups: groups(models, models) }]) {
        const { ask } = await gateway(t, { ...backend, routes: ROUTES })
        texts.push((await (await ask(path, STREAM)).text()).replaceAll(/msg_\w+/g, 'msg'))
      }
      equal(texts[1], texts[0])
      equal(texts[0]!.includes('usage":{"prompt_tokens'), false, 'nobody has asked for it')
      match(texts[0]!, path === '/v1/messages' ? /^event: message_start[\s\S]*message_stop"\}\n\n$/ : /\[DONE\]\n\n$/)
    })
  }
}

for (const kind of ['whole', 'event'] as const) {
  test(`an error that blames the request is its client's, and no rest for the provider: ${kind}`, async (t) => {
    const [a, b] = [await provider(t), await provider(t)]
    if (kind === 'event') streaming(a, [`data: ${JSON.stringify(TOO_LONG)}\n\n`], true)
    else {
      a.instead = (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(TOO_LONG))
        return true
      }
    }
    const { ask } = await gateway(t, { groups: groups(a, b), routes: ROUTES })
    const answer = await ask('/v1/chat/completions', { ...STREAM, stream: kind === 'event' })
    equal(
      (await answer.text()).trim(),
      kind === 'event' ? `data: ${JSON.stringify(TOO_LONG)}` : JSON.stringify(TOO_LONG)
    )
    a.instead = null
    equal((await ask('/v1/chat/completions', STREAM)).status, 200)
    deepEqual([a.requests.length, b.requests.length], [2, 0])
  })
}
