/**
 * A week of a fleet: 100 keys of 10 teams. What the books say is what the providers have written down themselves. The
 * table of it is in docs/spend.md.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { decimalText, NANO_PLACES, parseMoney } from '#engine/kit/money.ts'
import { answerQuery } from '#engine/spend/answers.ts'
import { receiver, type SpendRecord } from '#engine/spend/calls.fixture.ts'
import { readSumsQuery } from '#engine/spend/query.ts'
import { type Fields, row } from '#engine/spend/rows.fixture.ts'
import { SpendStore } from '#engine/spend/store.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Call, KINDS, type Kind, llmOf } from './clients.fixture.ts'
import { type Caller, type Entry, startFleet } from './providers.fixture.ts'

const DAYS = 7
const DAY_MS = 86_400_000
const MONDAY = Date.parse('2026-05-25T09:30:00Z')
/** Calls of a key on a day. */
const CALLS = 3
/** Of the last ten keys: two cents in all. */
const LITTLE_NANOS = 20_000_000
const POOR = { budgets: [{ amount: '0.02', period: 'total' }] }
const isPoor = (key: string): boolean => /^key-9\d$/.test(key)
const KEYS = Array.from({ length: 100 }, (_, i) => `key-${i}`).map((name, i) => ({
  ...{ name, key: `sk-week-${1000 + i}`, team: `team-${i % 10}` },
  ...(isPoor(name) ? POOR : {})
}))
const COUNTS = [
  ...(['uncachedInputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'outputTokens', 'reasoningTokens'] as const),
  ...(['inputImageTokens', 'seconds', 'pictures', 'searches'] as const)
]

/** Asks once: the status, and whether the answer was kept. */
async function ask(port: number, key: string, model: string, { path, body, headers, until }: Call) {
  const isForm = body instanceof FormData
  if (isForm) body.set('model', model)
  const gone = new AbortController()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(isForm ? {} : { 'content-type': 'application/json' }), ...headers },
    body: isForm ? body : JSON.stringify(path.includes(':') ? body : { model, ...body }),
    signal: gone.signal
  })
  if (until === undefined || !response.ok) await response.arrayBuffer()
  else await leave(response, until, gone)
  return { status: response.status, isKept: response.headers.get('x-weir-cache') === 'hit' }
}

async function leave(response: Response, until: string, gone: AbortController): Promise<void> {
  let text = ''
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes(until)) break
  }
  gone.abort()
}

/** What clients saw of a kind of call. */
interface Seen {
  calls: number
  refused: number
  failed: number
  /** Who got an answer that was kept. */
  readonly kept: Caller[]
}

/** Calls for a week, at the gateway of `port`. */
async function week(t: TestContext, port: number): Promise<ReadonlyMap<Kind, Seen>> {
  const seen = new Map(KINDS.map((kind) => [kind, { calls: 0, refused: 0, failed: 0, kept: [] as Caller[] }]))
  let n = 0
  for (let day = 0; day < DAYS; day++) {
    t.mock.timers.setTime(MONDAY + day * DAY_MS)
    for (const [i, { name, key, team }] of KEYS.entries()) {
      const who = { key: name, team, day: new Date().toISOString().slice(0, 10) }
      for (let j = 0; j < CALLS; j++) {
        const kind = KINDS[(i + day * CALLS + j) % KINDS.length]!
        const call = kind.make(who, n++)
        const counted = seen.get(kind)!
        for (let time = kind.model === 'kept' ? 2 : 1; time > 0; time--) {
          const { status, isKept } = await ask(port, key, kind.model, call)
          counted.calls++
          if (status === 429) counted.refused++
          else if (status !== 200) counted.failed++
          if (isKept) counted.kept.push(who)
        }
      }
    }
  }
  return seen
}

/** Records in a spend log. */
async function booksOf(t: TestContext, records: readonly SpendRecord[]) {
  const path = mkdtempSync(join(tmpdir(), 'weir-week-'))
  const store = await SpendStore.open({ path, recordsMaxAgeMs: 1e12, sumsMaxAgeMs: 1e12, bytesMax: 1e9 })
  t.after(() => {
    store.close()
    rmSync(path, { recursive: true })
  })
  store.append(
    records.map(({ time, streamed, tags: _tags, guards: _guards, cost, ...rest }) =>
      row({
        ...rest,
        time: Date.parse(String(time)),
        streamed: Number(streamed),
        costNanos: cost == null ? null : Number(parseMoney(String(cost), NANO_PLACES))
      } as Fields)
    )
  )
  return (groupBy: string): readonly Sum[] => {
    const params = new URLSearchParams({ ...(groupBy === '' ? {} : { groupBy }), limit: '10000' })
    const query = readSumsQuery({ params, now: MONDAY + DAYS * DAY_MS, accept: '' })
    return (JSON.parse(answerQuery(store.database, query).body) as { sums: Sum[] }).sums
  }
}

type Sum = Readonly<Record<'key' | 'team' | 'model' | 'day', string | null>> &
  Readonly<Record<(typeof COUNTS)[number] | 'calls' | 'errors' | 'refusals' | 'cacheHits' | 'unknownCosts', number>> & {
    readonly cost: string
  }
const nanosOf = ({ cost }: Pick<Sum, 'cost'>): number => Number(parseMoney(cost, NANO_PLACES))
const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** Money and counts by what `nameOf` says; where nobody asks for money is left out. */
function tally<T>(all: readonly T[], nameOf: (one: T) => string, count: (one: T) => readonly number[]) {
  const found = new Map<string, readonly number[]>()
  for (const one of all) {
    const before = found.get(nameOf(one))
    found.set(nameOf(one), before === undefined ? count(one) : count(one).map((value, i) => value + before[i]!))
  }
  return [...found].filter(([, [nanos]]) => nanos !== 0).toSorted()
}

test('the books of a week are those of the providers', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: MONDAY })
  const [{ port, entries }, { records, port: webhook }] = [await startFleet(t), await receiver(t)]
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      frontendPolicies: {
        prices: { catalogue: false },
        spendWebhook: { host: `127.0.0.1:${webhook}`, scheduleDelay: '1h', maxBatchRecords: 50 }
      },
      keys: KEYS,
      teams: KEYS.slice(0, 10).map(({ team }) => ({ name: team })),
      llm: llmOf(port)
    })
  )
  const seen = await week(t, gateway.port)
  await gateway.close()
  const sums = await booksOf(t, records)

  const ledger = [...entries.map(byWhom), ...keptOf(seen, entries)]
  const written = ({ nanos, counts }: Entry) => [nanos, ...COUNTS.map((name) => counts[name] ?? 0)]
  const booked = (sum: Sum) => [nanosOf(sum), ...COUNTS.map((name) => sum[name])]
  for (const names of [['key'], ['team', 'day']] as const) {
    const nameOf = (one: Entry | Sum) => names.map((name) => one[name] ?? '').join(' ')
    deepEqual(tally(sums(names.join(',')), nameOf, booked), tally(ledger, nameOf, written), names.join())
  }
  const kindOf = ({ model }: Entry | Sum) =>
    KINDS.findIndex(({ models, ...own }) => (models ?? [own.model]).includes(model!))
  const byKind = (one: Entry | Sum) => `${kindOf(one)} ${one.day}`
  deepEqual(tally(sums('model,day'), byKind, booked), tally(ledger, byKind, written))

  const all = [...seen.values()]
  const copies = entries.filter(({ model }) => model === 'copied').length
  const [sum] = sums('')
  deepEqual(
    [sum!.calls, sum!.refusals, sum!.cacheHits],
    [
      total(all.map(({ calls }) => calls)) + copies,
      total(all.map(({ refused }) => refused)),
      total(all.map(({ kept }) => kept.length))
    ]
  )
  for (const { key, ...one } of sums('key').filter(({ key }) => isPoor(key ?? ''))) {
    const dearest = Math.max(...entries.filter((entry) => entry.key === key).map(({ nanos }) => nanos))
    ok(nanosOf(one) <= LITTLE_NANOS + dearest && one.refusals > 0, `${key}: ${one.cost}`)
  }
  equal(tableOf(seen, entries, sums('model')), shownTable())
})

/** Copies are of nobody. */
const byWhom = (entry: Entry): Entry => (entry.model === 'copied' ? { ...entry, key: '', team: '' } : entry)

/** Answers that were kept have their tokens once more, and nobody asks for money. */
function keptOf(seen: ReadonlyMap<Kind, Seen>, entries: readonly Entry[]): Entry[] {
  const kept = [...seen.values()].flatMap((one) => one.kept)
  return kept.map(({ key, day }) => {
    const first = entries.find((entry) => entry.model === 'kept' && entry.key === key && entry.day === day)
    return { ...first!, nanos: 0 }
  })
}

type Line = readonly [what: string, ...numbers: number[]]

function tableOf(seen: ReadonlyMap<Kind, Seen>, entries: readonly Entry[], sums: readonly Sum[]): string {
  const lines = [...seen].map(([{ what, model, models = [model] }, { calls, refused, failed }]): Line => {
    const paid = total(entries.filter((one) => models.includes(one.model)).map(({ nanos }) => nanos))
    const booked = total(sums.filter((one) => models.includes(one.model ?? '')).map(nanosOf))
    return [what, calls, refused, failed, paid, booked]
  })
  const all: Line = ['all', ...[1, 2, 3, 4, 5].map((i) => total(lines.map((line) => Number(line[i]))))]
  return [...lines, all].map(shown).join('\n')
}

function shown([what, calls, refused, failed, ...money]: Line): string {
  return `| ${[what, calls, refused, failed, ...money.map((nanos) => decimalText(BigInt(nanos), NANO_PLACES))].join(' | ')} |`
}

function shownTable(): string {
  const page = readFileSync(new URL('../../../docs/spend.md', import.meta.url), 'utf8')
  const [, rows = ''] = /^\| call \|.*\n\|[-|: ]+\n((?:\|.*\n)+)/m.exec(page) ?? []
  return rows.trimEnd()
}
