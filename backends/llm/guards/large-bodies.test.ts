/** Services that judge large bodies and kept streams: nothing large is read here, and all is as of small ones. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { encodeEvent } from '#backends/llm/testing/aws-event-stream.ts'
import { aws, KEYS } from '#engine/testing/llm.ts'
import type { Body, Models } from '#engine/testing/models.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { INLINE_BYTES_MAX } from './guard-body.ts'
import { CHAT, chat, DIALECTS, dataOf, regex, SSN, split, sse, stand } from './guards.fixture.ts'
import { hook, type Service, says, service } from './service.fixture.ts'

/** Stands for what makes a body large, in small and in large ones. */
const FILLER = 'naïve words '
const MANY = FILLER.repeat(30_000)
const BIG_UNITS = 256 * 1024

/** UTF-16 units that this thread parses and prints, but for the tests' own doubles. */
function watchJson(t: TestContext) {
  const seen = { longest: 0, ofGuards: 0 }
  const { parse, stringify } = JSON
  const note = (text: string | undefined) => {
    const { stack = '' } = new Error('who asks')
    // Behind the frames of this function and its mock.
    const by = stack.slice(stack.indexOf('/test_runner/mock/'))
    if (text === undefined || /\/engine\/(?:testing|standalone)\/|\.fixture\.ts|\.test\.ts/.test(by)) return
    seen.longest = Math.max(seen.longest, text.length)
    if (/\/llm\/guards\/|\/kit\/scan\//.test(by)) seen.ofGuards += text.length
  }
  t.mock.method(JSON, 'parse', (text: string, reviver?: Parameters<typeof parse>[1]) => {
    note(text)
    return parse(text, reviver)
  })
  t.mock.method(JSON, 'stringify', (...args: Parameters<typeof stringify>) => {
    const text = stringify(...args) as string | undefined
    note(text)
    return text
  })
  return seen
}

const moderation = (port: number) => ({ openAIModeration: { host: '127.0.0.1', port } })
/** Every message that the webhook was told, as `change` has it. */
const masks =
  (change: (text: string) => string): Service['answer'] =>
  ({ body }, response) => {
    const changed = (message: Body) => ({ ...message, content: change(message.content) })
    const masked =
      body.messages === undefined
        ? { choices: body.choices.map(({ message }: Body) => ({ message: changed(message) })) }
        : { messages: body.messages.map(changed) }
    response.end(JSON.stringify({ action: { body: masked } }))
  }
const judges =
  (isFlagged: boolean): Service['answer'] =>
  ({ input }, response) =>
    response.end(JSON.stringify({ results: input.map(() => ({ flagged: isFlagged })) }))
const hidden = (text: string) => text.replaceAll('secret', '*')

const chunked =
  (answer: Service['answer']): Service['answer'] =>
  (body, response) => {
    response.write(' ')
    answer(body, response)
  }

type Answers = readonly (readonly [string, Service['answer']])[]
const FEWER = says({ action: { body: { messages: [], choices: [] } } })
const OF_WEBHOOK: Answers = [
  ['passes', says({ action: {} })],
  ['masks', masks(hidden)],
  ['masks, and says it chunked', chunked(masks(hidden))],
  ['rejects', says({ action: { body: 'go away', status_code: 451 } })],
  ['rejects at length', says({ action: { body: 'go away', status_code: 451, reason: MANY } })],
  ['says nothing at length', says({ odd: MANY })],
  ['masks fewer', FEWER]
]
const OF_MODERATION: Answers = [
  ['flags', judges(true)],
  ['flags nothing', judges(false)],
  ['judges not all', says({ results: [] })]
]
const CASES: readonly (readonly [(port: number) => object, Answers])[] = [
  [hook, OF_WEBHOOK],
  [(port) => hook(port, { failureMode: 'FailOpen' }), [['masks fewer, and is open', FEWER]]]
]

for (const side of ['request', 'response'] as const) {
  test(`a large ${side} that services judge is what a small one is, and nothing of it is read here`, async (t) => {
    const webhook = await service(t)
    const cases = side === 'request' ? [...CASES, [moderation, OF_MODERATION] as const] : CASES
    for (const [guard, answers] of cases) {
      const { models, ask } = await stand(t, { [side]: [regex(), guard(webhook.port), regex()] })
      const seen = watchJson(t)
      const outcome = async (filler: string) => {
        webhook.seen.length = 0
        models.requests.length = 0
        const text = `secret ${SSN} ${filler}`
        answersWith(models, side === 'response' ? text : 'fine')
        const response = await ask(CHAT, chat(side === 'request' ? text : 'hi'))
        const bare = (body: unknown) => JSON.stringify(body).replaceAll(filler, '%')
        const requests = webhook.seen.map(({ path, body, headers }) => [path, bare(body), headers['transfer-encoding']])
        return [response.status, bare(await response.text()), bare(models.requests.map(({ body }) => body)), requests]
      }
      for (const [name, answer] of answers) {
        webhook.answer = answer
        const small = await outcome(FILLER)
        equal(webhook.seen.length, 1)
        Object.assign(seen, { longest: 0, ofGuards: 0 })
        deepEqual(await outcome(MANY), small, name)
        ok(seen.longest < BIG_UNITS && seen.ofGuards <= INLINE_BYTES_MAX, `${name}: ${JSON.stringify(seen)}`)
      }
      t.mock.restoreAll()
    }
  })
}

function answersWith(models: Models, content: string): void {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  models.instead = (_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 'a', object: 'chat.completion', created: 1, model: 'm', choices }))
    return true
  }
}

// --- streams ---

interface Streamed {
  readonly name: string
  readonly provider: object
  readonly path: string
  readonly type: string
  /** What the request has beside messages. */
  readonly more: object
  /** Pieces of text in a large one. */
  readonly count: number
  wire(text: readonly string[]): string | Buffer
  read(text: string): string
}

const ARGS = ['{"a"', ':"secret"}']
const FORMATS: readonly Streamed[] = [
  ...DIALECTS.map(({ path, provider, events, read }) => ({
    name: path,
    provider,
    path,
    type: 'text/event-stream',
    more: { max_tokens: 5, input: 'hi', contents: [{ parts: [{ text: 'hi' }] }] },
    // One that is longer than the others.
    count: path === CHAT ? 400 : 100,
    wire: (text: readonly string[]) => `: secret\n\n${sse(events(text, ARGS))}`,
    read: (text: string) => read(dataOf(text)).join()
  })),
  {
    name: 'a list',
    provider: { gemini: {} },
    path: '/v1beta/models/m:streamGenerateContent',
    type: 'application/json',
    more: { contents: [{ parts: [{ text: 'hi' }] }] },
    count: 100,
    wire: (text) => JSON.stringify(DIALECTS[2]!.events(text, ARGS).map(([, data]) => data)),
    read: (text) => DIALECTS[2]!.read(JSON.parse(text)).join()
  },
  {
    name: 'Bedrock',
    provider: { bedrock: { region: 'eu-west-1' }, policies: aws(KEYS) },
    path: CHAT,
    type: 'application/vnd.amazon.eventstream',
    more: {},
    count: 100,
    wire: (text) =>
      Buffer.concat([
        encodeEvent('event', 'messageStart', '{"role":"assistant"}'),
        ...text.map((piece) =>
          encodeEvent('event', 'contentBlockDelta', JSON.stringify({ contentBlockIndex: 0, delta: { text: piece } }))
        ),
        encodeEvent('event', 'contentBlockStop', '{"contentBlockIndex":0}'),
        encodeEvent('event', 'messageStop', '{"stopReason":"end_turn"}')
      ]),
    read: (text) => DIALECTS[0]!.read(dataOf(text)).join()
  }
]

for (const { name, provider, path, type, more, count, wire, read } of FORMATS) {
  test(`a large stream that is kept is what a small one is, and guards read nothing of it here: ${name}`, async (t) => {
    const webhook = await service(t)
    for (const [guard, answers] of CASES) {
      // Without any, too, a stream is printed anew: a comment that nobody has judged goes no further.
      const rules = answers.length > 1 ? [regex()] : []
      const { models, ask } = await stand(t, { response: [guard(webhook.port), ...rules] }, provider)
      const seen = watchJson(t)
      const outcome = async (pieces: readonly string[]) => {
        webhook.seen.length = 0
        models.instead = (_, response) => {
          response.setHeader('content-type', type).end(wire([...split(`secret ${SSN} `, 9), ...pieces]))
          return true
        }
        const response = await ask(path, { ...chat('hi', { stream: true }), ...more })
        const text = await response.text()
        ok(!text.includes(': secret'))
        if (response.status === 200 && type !== 'application/json')
          match(response.headers.get('content-type')!, /^text\/event-stream\b/)
        const bare = (written: string) => written.replaceAll(pieces.join(''), '%').replace(/req_[0-9a-f]{32}/, 'req_')
        const requests = webhook.seen.map(({ body }) => bare(JSON.stringify(body)))
        const answer = bare(response.status === 200 ? read(text) : text)
        return [response.status, answer, response.headers.get('content-type'), requests]
      }
      for (const [which, answer] of answers) {
        webhook.answer = answer
        const small = await outcome([FILLER])
        equal(webhook.seen.length, 1, JSON.stringify(small))
        Object.assign(seen, { longest: 0, ofGuards: 0 })
        deepEqual(await outcome(Array.from({ length: count }, () => FILLER.repeat(100))), small, which)
        ok(seen.ofGuards <= INLINE_BYTES_MAX, `${which}: ${JSON.stringify(seen)}`)
      }
      t.mock.restoreAll()
    }
  })
}

test('with a full queue, large requests for services are refused, and small ones pass', async (t) => {
  const webhook = await service(t)
  t.mock.method(OffloadPool.prototype, 'run', () => Promise.reject(new Error('full')))
  const { wire } = FORMATS[0]!
  for (const side of ['request', 'response', 'stream'] as const) {
    const { models, ask } = await stand(t, { [side === 'request' ? side : 'response']: [hook(webhook.port)] })
    const outcome = async (filler: string) => {
      const content = side === 'request' ? filler : 'hi'
      answersWith(models, side === 'response' ? filler : 'fine')
      if (side === 'stream')
        models.instead = (_, response) => {
          response.setHeader('content-type', 'text/event-stream').end(wire(filler.match(/.{1,600}/g)!))
          return true
        }
      const response = await ask(CHAT, chat(content, { stream: side === 'stream' }))
      return [response.status, await response.text()] as const
    }
    const [status, text] = await outcome(MANY)
    equal(status, 503, side)
    match(text, /cannot be looked through now/)
    equal((await outcome(FILLER))[0], 200, side)
    equal(webhook.seen.length, 1)
    webhook.seen.length = 0
  }
})
