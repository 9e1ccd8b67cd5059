/**
 * Attacks on budgets, through a whole gateway: many calls at once against the last cent while streams break, providers
 * fail, hang and lie, clients leave and clocks are set. What is booked is what the providers have written down.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { chunk, data, PROVIDERS, pair, TURNS } from '#backends/llm/stream/continued.fixture.ts'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Models } from '#engine/testing/models.ts'

const CHAT = '/v1/chat/completions'
/** A token costs a microdollar. */
const PRICES = [{ input: 1, output: 1 }]
const MICRO = 1e6
const AS_ALICE = { authorization: 'Bearer sk-alice-0001' }

const alice = (amount: string, more: object = {}) => ({
  keys: [{ name: 'alice', key: 'sk-alice-0001', budgets: [{ amount, period: 'month' }], ...more }]
})

type Gateway = Awaited<ReturnType<typeof gatewayOf>>

/** What is spent and set aside, in microdollars. */
function bookOf({ accounts }: Gateway): readonly [spent: number, reserved: number] {
  const { spent, reserved } = accounts.ledger.budgets.find(({ account }) => account === 'key/alice')!
  return [Math.round(Number(spent) * MICRO), Math.round(Number(reserved) * MICRO)]
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

const many = <T>(length: number, act: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length }, (_, i) => act(i)))

const usageOf = (tokens: unknown) => ({ prompt_tokens: 0, completion_tokens: tokens, total_tokens: tokens })
const counted = (tokens: unknown) => data({ id: 'c1', model: 'm1', choices: [], usage: usageOf(tokens) })
const whole = (usage: object | undefined) => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
})

/** Answers `tokens` of output. */
const says = (models: Models, tokens: number): void => {
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole(usageOf(tokens))))
    return true
  }
}

const ASK = { model: 'm', messages: TURNS }
const STREAM = { ...ASK, stream: true, max_tokens: 5_000 }

/** Two models of one price; `virtual`: of the virtual model "m" over them. */
async function two(t: TestContext, virtual: object, file: object, llm: object = {}) {
  const [first, second] = [await provider(t), await provider(t)]
  const models = [first, second].map(({ port }, i) => ({
    name: ['one', 'two'][i]!,
    provider: 'openai',
    params: { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'k' }
  }))
  const virtualModels = [{ name: 'm', ...virtual }]
  const gateway = await gatewayOf(t, { llm: { port: 0, models, virtualModels, prices: PRICES, ...llm }, ...file })
  return { ...gateway, first, second }
}

const FAILOVER = {
  routing: {
    failover: {
      targets: [
        { model: 'one', priority: 0 },
        { model: 'two', priority: 1 }
      ]
    }
  }
}

// --- streams that another provider goes on with ---

/** Breaks off behind `tokens`, which it bills; another one goes on and bills 13. */
const seam = async (t: TestContext, amount: string, tokens: number) => {
  const events = [...PROVIDERS.openaiChat, counted(tokens)]
  const breakOff = (response: ServerResponse) => void response.socket!.destroySoon()
  const gateway = await pair(t, 'openaiChat', events, breakOff, { prices: PRICES }, alice(amount))
  const headers = { 'content-type': 'application/json', ...AS_ALICE }
  const start = (body: object, signal: AbortSignal) =>
    fetch(`${gateway.base}${CHAT}`, { method: 'POST', headers, body: JSON.stringify(body), signal })
  return { ...gateway, start }
}

test('a budget that the broken part of a stream has used up: nobody is asked to go on, and the part is paid for', async (t) => {
  const gateway = await seam(t, '0.003', 4_000)
  const response = await gateway.ask(CHAT, STREAM, AS_ALICE)
  equal(response.status, 200)
  match(await response.text(), /"error"/)
  equal(gateway.second.requests.length, 0)
  deepEqual(bookOf(gateway), [4_000, 0])
  equal((await gateway.ask(CHAT, STREAM, AS_ALICE)).status, 429)
})

test('200 streams at once that break and are gone on with, against the last cent: one call over at most', async (t) => {
  const gateway = await seam(t, '0.01', 900)
  const statuses = await many(200, async () => {
    const response = await gateway.ask(CHAT, { ...STREAM, max_tokens: 1_000 }, AS_ALICE)
    await response.text()
    return response.status
  })
  await until(() => bookOf(gateway)[1] === 0)
  const billed = gateway.first.requests.length * 900 + gateway.second.requests.length * 13
  const [spent] = bookOf(gateway)
  equal(spent, billed)
  const goesOn = gateway.second.requests.filter(({ body }) => body.messages?.at(-1)?.role === 'assistant').length
  ok(goesOn > 0)
  const answered = gateway.first.requests.length + gateway.second.requests.length - goesOn
  equal(statuses.filter((status) => status === 200).length, answered)
  ok(spent <= 10_000 + 900 + 13, String(spent))
})

test('a client that leaves while the one that goes on is silent: both parts are paid for, each once', async (t) => {
  const gateway = await seam(t, '1', 700)
  const gone = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  gateway.second.instead = (_, response) => {
    response.once('close', () => gone.resolve())
    arrived.resolve()
    return true
  }
  const leaving = new AbortController()
  const response = await gateway.start(STREAM, leaving.signal)
  await response.body!.getReader().read()
  await arrived.promise
  const set = bookOf(gateway)
  equal(set[0], 700)
  leaving.abort()
  await gone.promise
  await until(() => bookOf(gateway)[1] === 0)
  // An estimate of what the second was sent, which no answer has come to: four bytes for a token.
  const sent = gateway.second.requests[0]!.bytes.length
  deepEqual(bookOf(gateway), [700 + Math.ceil(sent / 4), 0])
})

test('a client that leaves in the middle of what goes on: what both have said so far', async (t) => {
  const gateway = await seam(t, '1', 700)
  const gone = Promise.withResolvers<void>()
  gateway.second.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < 50; i++) response.write(chunk({ content: 'word ' }))
    response.once('close', () => gone.resolve())
    return true
  }
  const leaving = new AbortController()
  const response = await gateway.start(STREAM, leaving.signal)
  let text = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.split('word ').length > 50) break
  }
  leaving.abort()
  await gone.promise
  await until(() => bookOf(gateway)[1] === 0)
  // A token for each piece, and what the second was sent, at four bytes for a token: nobody has said more.
  const [spent] = bookOf(gateway)
  const sent = gateway.second.requests[0]!.bytes.length
  ok(spent > 700 + 50 && spent <= 700 + 50 + Math.ceil(sent / 4), String(spent))
})

// --- attempts that fail, hang, and are copied; answers that were kept ---

test('while the one call that took what was left is open, what others give back lets in no second one', async (t) => {
  const { first, ...gateway } = await two(t, FAILOVER, alice('0.01'))
  const held: ServerResponse[] = []
  first.instead = (_, response) => {
    held.push(response)
    return true
  }
  const statuses: number[] = []
  const call = async () => {
    const response = await gateway.ask(CHAT, { ...ASK, max_tokens: 1_000 }, AS_ALICE)
    await response.text()
    statuses.push(response.status)
  }
  const answer = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole(usageOf(900))))
  const calls = [many(20, call)]
  await until(() => held.length + statuses.length === 20)
  // All is set aside, the last part of it for a call that may cost more.
  deepEqual(bookOf(gateway), [0, 10_000])
  const open = held.length
  answer(held[0]!)
  await until(() => bookOf(gateway)[0] === 900)
  ok(bookOf(gateway)[1] < 9_100)
  calls.push(many(1, call))
  await until(() => held.length + statuses.length === 22)
  deepEqual([held.length, statuses.filter((status) => status === 429).length], [open, 21 - open])
  for (const response of held.slice(1)) answer(response)
  await Promise.all(calls)
  deepEqual(bookOf(gateway), [open * 900, 0])
})

test('200 calls at once against the last cent, each with an attempt that fails ahead of it: one over at most', async (t) => {
  const { first, second, ...gateway } = await two(t, FAILOVER, alice('0.01'))
  first.instead = (_, response) => {
    response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"message":"busy"}}')
    return true
  }
  says(second, 600)
  const statuses = await many(200, async () => (await gateway.ask(CHAT, { ...ASK, max_tokens: 600 }, AS_ALICE)).status)
  await until(() => bookOf(gateway as Gateway)[1] === 0)
  const [spent] = bookOf(gateway as Gateway)
  equal(spent, second.requests.length * 600)
  equal(statuses.filter((status) => status === 200).length, second.requests.length)
  ok(spent > 10_000 - 1_200 && spent < 10_000 + 600, String(spent))
})

test('an attempt that is given up for its time is paid for by what it was sent; what it says later is not read', async (t) => {
  const { first, second, ...gateway } = await two(t, FAILOVER, alice('1'), {
    policies: { timeouts: { backendRequest: '1s' } }
  })
  const late = Promise.withResolvers<void>()
  first.instead = (_, response) => {
    response.once('close', () => {
      // The connection is closed by then: nobody gets this figure.
      response.end(JSON.stringify(whole(usageOf(500_000))))
      late.resolve()
    })
    return true
  }
  says(second, 600)
  equal((await gateway.ask(CHAT, { ...ASK, max_tokens: 600 }, AS_ALICE)).status, 200)
  await late.promise
  const sent = first.requests[0]!.bytes.length
  deepEqual(bookOf(gateway as Gateway), [600 + Math.ceil(sent / 4), 0])
})

test('200 calls at once against the last cent with a copy of each: the copies are not for the key', async (t) => {
  const virtual = { routing: { failover: { targets: [{ model: 'one' }] } }, shadow: { model: 'two', percent: 100 } }
  const { first, second, ...gateway } = await two(t, virtual, alice('0.01'))
  says(first, 600)
  says(second, 900_000)
  const statuses = await many(200, async () => (await gateway.ask(CHAT, { ...ASK, max_tokens: 600 }, AS_ALICE)).status)
  await until(() => bookOf(gateway as Gateway)[1] === 0)
  const [spent] = bookOf(gateway as Gateway)
  equal(spent, first.requests.length * 600)
  equal(statuses.filter((status) => status === 200).length, first.requests.length)
  ok(spent < 10_000 + 600, String(spent))
})

test('an answer that was kept costs nothing, also when the budget is used up', async (t) => {
  const { first, ...gateway } = await two(t, FAILOVER, alice('0.001'), { cache: { ttl: '60s' } })
  says(first, 1_500)
  const ask = async (content: string) =>
    (await gateway.ask(CHAT, { model: 'm', max_tokens: 1_500, messages: [{ role: 'user', content }] }, AS_ALICE)).status
  deepEqual([await ask('a'), await ask('b'), await ask('a')], [200, 429, 200])
  deepEqual([await many(50, () => ask('a')), first.requests.length], [Array(50).fill(200), 1])
  deepEqual(bookOf(gateway as Gateway), [1_500, 0])
})

// --- what providers say of their tokens ---

/** Tokens of the answer, as it says them; null: it does not. What is booked, in microdollars; null: an estimate. */
const LIES: readonly (readonly [text: string | null, booked: number | null])[] = [
  ['-1000', null],
  ['-1e308', null],
  ['1e308', 1_000_000_000],
  ['1e999', 1_000_000_000],
  ['12.5', 13],
  ['"12"', null],
  ['"NaN"', null],
  ['null', null],
  ['{}', null],
  [null, null]
]

for (const isStreamed of [false, true]) {
  test(`usage that lies, ${isStreamed ? 'streamed' : 'whole'}: nothing is given back, and nothing stays set aside`, async (t) => {
    const { first, ...gateway } = await two(t, FAILOVER, alice('100000'))
    for (const [text, booked] of LIES) {
      first.instead = (_, response) => {
        const type = isStreamed ? 'text/event-stream' : 'application/json'
        response.writeHead(200, { 'content-type': type })
        const usage = text === null ? undefined : usageOf('LIE')
        const last = `${data({ id: 'c', model: 'm', choices: [], usage })}data: [DONE]\n\n`
        const answer = isStreamed ? `${chunk({ content: 'hi' }, 'stop')}${last}` : JSON.stringify(whole(usage))
        response.end(answer.replaceAll('"LIE"', () => text ?? ''))
        return true
      }
      const [before] = bookOf(gateway as Gateway)
      const response = await gateway.ask(CHAT, { ...ASK, max_tokens: 50, stream: isStreamed }, AS_ALICE)
      await response.text()
      await until(() => bookOf(gateway as Gateway)[1] === 0)
      const cost = bookOf(gateway as Gateway)[0] - before
      if (booked !== null) equal(cost, booked, String(text))
      else ok(cost > 10 && cost < 100, `${text}: ${cost}`)
    }
  })
}

test('usage of a stream that becomes less: what was told last counts, once', async (t) => {
  const { first, ...gateway } = await two(t, FAILOVER, alice('1'))
  first.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const counts = [900, 1_200, 30].map((tokens) => counted(tokens)).join('')
    response.end(`${chunk({ content: 'hi' })}${counts}${chunk({}, 'stop')}data: [DONE]\n\n`)
    return true
  }
  await (await gateway.ask(CHAT, { ...ASK, max_tokens: 2_000, stream: true }, AS_ALICE)).text()
  deepEqual(bookOf(gateway as Gateway), [30, 0])
})

// --- clocks ---

test('clocks set forth and back while streams are open: no second budget, and each is settled in its own month', async (t) => {
  const now = Date.parse('2026-11-29T12:00:00Z')
  t.mock.timers.enable({ apis: ['Date'], now })
  const { first, ...gateway } = await two(t, FAILOVER, alice('0.002'))
  const open: (() => void)[] = []
  first.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ content: 'hi' }))
    open.push(() => response.end(`${counted(900)}${chunk({}, 'stop')}data: [DONE]\n\n`))
    return true
  }
  const ask = () => gateway.ask(CHAT, { ...ASK, max_tokens: 900, stream: true }, AS_ALICE)
  const { ledger } = gateway.accounts
  const set = (days: number): void => {
    t.mock.timers.setTime(now + days * 86_400_000)
    ledger.tick()
  }
  const november = [await ask(), await ask()]
  await until(() => open.length === 2)
  equal((await ask()).status, 429)
  set(-60)
  equal((await ask()).status, 429, 'a month that is over does not come again')
  set(3)
  deepEqual(bookOf(gateway as Gateway), [0, 0], 'December')
  const december = await ask()
  equal(december.status, 200)
  set(-3)
  equal((await ask()).status, 200, 'what is left of December')
  await until(() => open.length === 4)
  equal((await ask()).status, 429)
  for (const end of open) end()
  for (const { status } of november) equal(status, 200)
  await until(() => bookOf(gateway as Gateway)[1] === 0)
  deepEqual(bookOf(gateway as Gateway), [1_800, 0], 'streams of November are not paid for in December')
})
