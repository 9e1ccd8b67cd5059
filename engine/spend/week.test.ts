/** A week of a fleet: 100 keys of 10 teams. What the books say is what the providers have written down themselves. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { NANO_PLACES, parseMoney } from '#engine/kit/money.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startModels } from '#engine/testing/models.ts'
import { answerQuery } from './answers.ts'
import { readSumsQuery } from './query.ts'
import { type Fields, row } from './rows.fixture.ts'
import { SpendStore } from './store.ts'

const DAY_MS = 86_400_000
const MONDAY = Date.parse('2026-05-25T09:30:00Z')
const KEYS = Array.from({ length: 100 }, (_, i) => ({
  name: `key-${i}`,
  key: `sk-week-${1000 + i}`,
  team: `team-${i % 10}`
}))

interface Book {
  calls: number
  errors: number
  uncachedInputTokens: number
  cacheReadTokens: number
  outputTokens: number
  reasoningTokens: number
  nanos: number
}
const empty = (): Book => ({
  calls: 0,
  errors: 0,
  uncachedInputTokens: 0,
  cacheReadTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  nanos: 0
})

/** Answers with tokens that differ from call to call, and writes them down by what the prompt says: team and day. */
async function provider(t: TestContext) {
  const books = new Map<string, Book>()
  const models = await startModels()
  t.after(() => models.close())
  let calls = 0
  models.instead = ({ body }, response) => {
    const id = String(body.messages?.[0]?.content)
    const book = books.get(id) ?? empty()
    books.set(id, book)
    const n = ++calls
    book.calls++
    response.setHeader('content-type', 'application/json')
    if (n % 11 === 0) {
      book.errors++
      response.writeHead(500).end('{"error":{"message":"no"}}')
      return true
    }
    const [cached, uncached, reasoning, spoken] = [n % 7, (n * 31) % 997, n % 5, (n * 17) % 499]
    book.uncachedInputTokens += uncached
    book.cacheReadTokens += cached
    book.outputTokens += spoken + reasoning
    book.reasoningTokens += reasoning
    // 3, 0.30 and 15 dollars for a million tokens.
    book.nanos += uncached * 3000 + cached * 300 + (spoken + reasoning) * 15_000
    const usage = {
      prompt_tokens: cached + uncached,
      completion_tokens: spoken + reasoning,
      total_tokens: cached + uncached + spoken + reasoning,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning }
    }
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm-2', choices, usage }))
    return true
  }
  return { books, port: models.port }
}

/** Keeps what the webhook of a gateway sends. */
async function receiver(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'weir-week-'))
  const store = await SpendStore.open({ path: folder, recordsMaxAgeMs: 1e12, sumsMaxAgeMs: 1e12, bytesMax: 1e9 })
  t.after(() => {
    store.close()
    rmSync(folder, { recursive: true })
  })
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      const { records } = JSON.parse(body) as { records: Fields[] }
      store.append(
        records.map((record) => {
          const {
            time,
            streamed,
            tags: _,
            guards: __,
            cost,
            ...rest
          } = record as Record<string, string | number | null>
          return row({
            ...rest,
            time: Date.parse(String(time)),
            streamed: Number(streamed),
            costNanos: cost == null ? null : Number(parseMoney(String(cost), NANO_PLACES))
          } as Fields)
        })
      )
      response.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { store, port: (server.address() as AddressInfo).port }
}

test('the books of a week are those of the providers, by team and day', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: MONDAY })
  const [{ books, port }, { store, port: webhook }] = [await provider(t), await receiver(t)]
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      frontendPolicies: {
        prices: { models: [{ provider: 'openai', model: 'm*', input: 3, cacheRead: 0.3, output: 15 }] },
        spendWebhook: { host: `127.0.0.1:${webhook}`, scheduleDelay: '1h', maxBatchRecords: 50 }
      },
      keys: KEYS,
      teams: KEYS.slice(0, 10).map(({ team }) => ({ name: team })),
      llm: { port: 0, models: [{ name: 'm', provider: 'openai', params: { baseUrl: `http://127.0.0.1:${port}/v1` } }] }
    })
  )
  for (let day = 0; day < 7; day++) {
    t.mock.timers.setTime(MONDAY + day * DAY_MS)
    for (const { key, team } of KEYS) {
      const content = `${team} ${new Date().toISOString().slice(0, 10)}`
      const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
      })
      await response.arrayBuffer()
    }
  }
  await gateway.close()
  const params = new URLSearchParams('groupBy=team,day&limit=1000')
  const query = readSumsQuery({ params, now: MONDAY + 7 * DAY_MS, accept: '' })
  const { sums } = JSON.parse(answerQuery(store.database, query).body) as {
    sums: (Book & { team: string; day: string; cost: string })[]
  }
  assert.equal(sums.length, 70)
  for (const sum of sums) {
    const book = books.get(`${sum.team} ${sum.day}`)!
    const nanos = Number(parseMoney(sum.cost, NANO_PLACES))
    const shown = Object.fromEntries(Object.keys(book).map((name) => [name, { ...sum, nanos }[name as keyof Book]]))
    assert.deepEqual(shown, book)
  }
})
