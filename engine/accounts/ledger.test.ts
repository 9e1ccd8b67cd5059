/** Accounts of the process over reloads, periods, restarts and clocks that go wrong. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AccountsSpec, BudgetSpec, KeySpec } from '#engine/contract/accounts.ts'
import { secret } from '#engine/kit/secret.ts'
import { Books } from './books.ts'
import { rollingMsOf } from './budget-id.ts'
import { StateFolder } from './journal/store.ts'
import { JournalWriter } from './journal/writer.ts'
import { Ledger } from './ledger.ts'

const DAY_MS = 86_400_000
const DOLLAR = 1_000_000_000
const NONE = { limits: [], concurrency: null, models: null }

const daily = (amount: number, period: BudgetSpec['period'] = 'Day'): BudgetSpec => {
  return { amount: amount * DOLLAR, period, timeZone: 'UTC', startsAt: null }
}

const key = (more: Partial<KeySpec>): KeySpec => ({
  ...NONE,
  ...{ name: 'alice', budgets: [], owner: null, team: null, organisation: null, tags: [], metadata: {} },
  values: [{ hash: secret('00'), validUntil: null }],
  expiresAt: null,
  isRevoked: false,
  ...more
})

const accounts = (...keys: KeySpec[]): AccountsSpec => ({ keys, teams: [], organisations: [] })

function stand(folder: StateFolder | null = null, start = Date.parse('2026-11-23T12:00:00Z')) {
  const clock = { now: start }
  const logged: string[] = []
  const place = folder === null ? null : { path: folder.path, fsync: 'no' as const }
  const log = (level: string, message: string): void => void logged.push(`${level}: ${message}`)
  const ledger = new Ledger({ workers: 1, place, now: () => clock.now, log, ...(folder === null ? {} : { folder }) })
  const books = new Books(ledger.memory)
  const put = (spec: AccountsSpec) => ledger.configure(spec, new Set(spec.keys.map(({ name }) => name)))
  const placeOf = (i = 0) => ledger.all.accounts.find(({ id }) => id === 'key/alice')!.budgets[i]!.place
  const spend = (dollars: number) => {
    const row = books.rowOf(placeOf())
    const bound = BigInt(dollars * DOLLAR)
    const taken = books.reserve(row, bound, 0)
    if (taken >= 0n) books.settle(row, taken, bound, bound, 0)
    return taken >= 0n
  }
  return { ledger, books, clock, logged, put, placeOf, spend }
}

test('a budget begins anew with its period, and not before', () => {
  const { ledger, books, clock, put, placeOf, spend } = stand()
  put(accounts(key({ budgets: [daily(1)] })))
  deepEqual([spend(1), spend(1)], [true, false])
  const old = books.rowOf(placeOf())
  clock.now += DAY_MS / 2 - 1
  ledger.tick()
  equal(spend(1), false)
  clock.now += 1
  ledger.tick()
  notEqual(books.rowOf(placeOf()), old)
  deepEqual([spend(1), spend(1)], [true, false])
  const { spent, reserved, resetsAt } = ledger.budgets[0]!
  deepEqual([spent, reserved, resetsAt], ['1', '0', '2026-11-25T00:00:00.000Z'])
})

test('a clock that goes back, and forth again, gives no second budget', () => {
  const { ledger, clock, put, spend } = stand()
  put(accounts(key({ budgets: [daily(1)] })))
  equal(spend(1), true)
  for (const by of [-DAY_MS, -30 * DAY_MS, 31 * DAY_MS]) {
    clock.now += by
    ledger.tick()
    equal(spend(1), false, String(by))
  }
})

test('a rolling budget gets room again when what was spent is old enough', () => {
  const { ledger, clock, put, spend } = stand()
  put(accounts(key({ budgets: [daily(2, 3_600_000)] })))
  equal(ledger.budgets[0]!.period, 'in 1h')
  equal(spend(1), true)
  ledger.tick()
  clock.now += 1_800_000
  equal(spend(1), true)
  ledger.tick()
  equal(spend(1), false)
  clock.now += 1_800_000 + 60_000
  ledger.tick()
  deepEqual([spend(1), spend(1)], [true, false])
})

test('another amount keeps what is spent; a budget that was away for a while too; another period begins anew', () => {
  const { put, spend } = stand()
  put(accounts(key({ budgets: [daily(1)] })))
  equal(spend(1), true)
  put(accounts(key({ budgets: [daily(2)] })))
  deepEqual([spend(1), spend(1)], [true, false])
  put(accounts())
  put(accounts(key({ budgets: [daily(2)] })))
  equal(spend(1), false)
  put(accounts(key({ budgets: [daily(2, 'Week')] })))
  equal(spend(1), true)
})

test('only what has changed is told to workers', () => {
  const { put } = stand()
  const [alice, bob] = [key({ budgets: [daily(1)] }), key({ name: 'bob', values: [] })]
  put(accounts(alice, bob))
  const none = { accounts: [], keys: [], goneAccounts: [], goneKeys: [], isComplete: true }
  deepEqual(put(accounts(alice, bob)), none)
  const changes = put(accounts(alice, { ...bob, isRevoked: true }))
  deepEqual([changes.accounts, changes.keys.map(({ name }) => name)], [[], ['bob']])
  deepEqual(put(accounts(alice)), { ...none, goneAccounts: ['key/bob'], goneKeys: ['bob'] })
})

test('a key whose team is not there is refused, and said', () => {
  const { ledger, logged, put } = stand()
  put(accounts(key({ team: 'ml' })))
  deepEqual(ledger.all.keys, [])
  deepEqual(logged, ['warn: the key alice is refused: there is no team ml'])
})

async function folderOf(t: TestContext): Promise<string> {
  const path = mkdtempSync(join(tmpdir(), 'weir-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

test('what is spent outlives the process, also when the clock is behind by then', async (t) => {
  const path = await folderOf(t)
  const spec = accounts(key({ budgets: [daily(1)] }))
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2
  const run = async (now: number, dollars: bigint): Promise<bigint> => {
    const folder = await StateFolder.open(path, () => {})
    const { ledger, books, put, placeOf } = stand(folder, now)
    put(spec)
    const row = books.rowOf(placeOf())
    const { spent, start } = books.state(row)
    const journal = new JournalWriter(ledger.workerStarts(0).journal!, () => {})
    const { budgets } = ledger.all.accounts[0]!
    if (dollars > 0n) journal.settle(0, now, dollars, [{ row, taken: 0n, budget: budgets[0]!, start }])
    journal.close()
    await ledger.close()
    return spent
  }
  equal(await run(today, 7n), 0n)
  equal(await run(today, 0n), 7n)
  equal(await run(today - 3 * DAY_MS, 0n), 7n, 'days that were before begin nothing anew')
  equal(await run(today + DAY_MS, 2n), 0n)
  equal(await run(today, 0n), 2n, 'nor does the day before')
})

test('a budget in another currency is another one', () => {
  const idsIn = (currency?: string) => {
    const currencies = currency === undefined ? {} : { currency: () => currency }
    const ledger = new Ledger({ workers: 1, place: null, now: () => 0, log: () => {}, ...currencies })
    const spec = accounts(key({ budgets: [daily(1), daily(1, 'Total'), daily(1, 3_600_000)] }))
    return ledger.configure(spec, new Set()).accounts[0]!.budgets.map(({ id }) => id)
  }
  const inDollars = ['key/alice Day UTC -', 'key/alice Total', 'key/alice 3600000ms']
  deepEqual(idsIn(), inDollars)
  deepEqual(
    idsIn('EUR'),
    inDollars.map((id) => `${id} EUR`)
  )
  deepEqual(idsIn('EUR').map(rollingMsOf), [null, null, 3_600_000])
})
