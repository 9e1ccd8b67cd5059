import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import { answerQuery } from './answers.ts'
import { readRecordsQuery, readSumsQuery } from './query.ts'
import { type Fields, NOON, row } from './rows.fixture.ts'
import { SpendStore } from './store.ts'
import { FILE } from './tables.ts'

const DAY_MS = 86_400_000
const SPEC = { recordsMaxAgeMs: 30 * DAY_MS, sumsMaxAgeMs: 400 * DAY_MS, bytesMax: 2 ** 30 }

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-spend-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

async function storeOf(t: TestContext, more: Partial<SpendLogSpec> = {}): Promise<SpendStore> {
  const store = await SpendStore.open({ path: folderOf(t), ...SPEC, ...more })
  t.after(() => store.close())
  return store
}

const input = (params: string) => ({ params: new URLSearchParams(params), now: NOON + DAY_MS, accept: '' })
const sums = ({ database }: SpendStore, params: string) =>
  JSON.parse(answerQuery(database, readSumsQuery(input(params))).body)
const records = ({ database }: SpendStore, params: string) =>
  JSON.parse(answerQuery(database, readRecordsQuery(input(params))).body)

test('what costs most stands first, with its calls, tokens and unknown costs', async (t) => {
  const store = await storeOf(t)
  store.append([
    row(),
    row({ team: 'ads', costNanos: 9_000_000_000, cacheReadTokens: 7 }),
    row({ costNanos: null, costUnknown: 'no price', status: 502, errorType: '502' })
  ])
  const answer = sums(store, 'groupBy=team')
  assert.deepEqual(
    answer.sums.map(({ team, calls, errors, unknownCosts, cost }: Record<string, unknown>) => [
      team,
      calls,
      errors,
      unknownCosts,
      cost
    ]),
    [
      ['ads', 1, 0, 0, '9'],
      ['search', 2, 1, 1, '0.0000125']
    ]
  )
  assert.equal(answer.sums[0].cacheReadTokens, 7)
  assert.equal(answer.sums[1].uncachedInputTokens, 20)
})

test('sums take whole hours and say so; days and months are those of UTC', async (t) => {
  const store = await storeOf(t)
  const at = (iso: string, costNanos: number) => row({ time: Date.parse(iso), costNanos })
  store.append([at('2026-05-31T23:59:59Z', 1), at('2026-06-01T00:00:00Z', 2), at('2026-06-01T00:59:00Z', 4)])
  const named = (params: string, group: string) =>
    sums(store, `${params}&groupBy=${group}`).sums.map((sum: Record<string, unknown>) => [sum[group], sum.cost])
  const all = 'from=2026-05-01&to=2026-07-01'
  assert.deepEqual(named(all, 'day'), [
    ['2026-06-01', '0.000000006'],
    ['2026-05-31', '0.000000001']
  ])
  assert.deepEqual(named(all, 'month')[0], ['2026-06', '0.000000006'])
  assert.deepEqual(named(all, 'hour')[0], ['2026-06-01T00:00:00Z', '0.000000006'])
  const cut = sums(store, 'from=2026-06-01T00:30:00Z&to=2026-06-01T00:31:00Z')
  assert.deepEqual(
    [cut.from, cut.to, cut.sums[0].cost],
    ['2026-06-01T00:00:00.000Z', '2026-06-01T01:00:00.000Z', '0.000000006']
  )
})

test('records come newest first, page by page, each once', async (t) => {
  const store = await storeOf(t)
  // Many at the same time: pages must not be cut by time alone.
  store.append(
    Array.from({ length: 250 }, (_, i) => row({ id: `req_${i}`, time: NOON + (i % 3), key: i % 2 ? 'a' : 'b' }))
  )
  const seen: string[] = []
  let cursor = ''
  do {
    const page = records(store, `key=a&limit=40${cursor}`)
    seen.push(...page.records.map(({ id }: { id: string }) => id))
    cursor = page.next === null ? '' : `&cursor=${page.next}`
  } while (cursor !== '')
  assert.equal(seen.length, 125)
  assert.equal(new Set(seen).size, 125)
})

test('a record shows what is not known as null, and money as text', async (t) => {
  const store = await storeOf(t)
  store.append([row({ costNanos: null, costUnknown: 'no price for x', tags: '["a","b"]', streamed: 1 })])
  const [record] = records(store, 'team=search').records
  assert.deepEqual(
    [record.cost, record.costUnknown, record.tags, record.streamed, record.owner, record.time],
    [null, 'no price for x', ['a', 'b'], true, null, '2026-05-31T12:00:00.000Z']
  )
  assert.equal(records(store, 'owner=').records.length, 1)
  assert.equal(records(store, 'owner=&key=').records.length, 0)
})

test('sums are those of the records, to the nano, however they are asked for', async (t) => {
  const store = await storeOf(t)
  let seed = 7
  const random = (n: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % n
  }
  for (let batch = 0; batch < 20; batch++) {
    const rows = Array.from({ length: 50 }, () => {
      const fields: Fields = {
        time: NOON - random(60) * 1_800_000,
        key: random(5) === 0 ? null : `key-${random(7)}`,
        team: `team-${random(3)}`,
        model: random(9) === 0 ? null : `model-${random(4)}`,
        costNanos: random(6) === 0 ? null : random(2_000_000_000) * 4_500,
        errorType: random(8) === 0 ? '500' : null
      }
      return row(fields)
    })
    store.append(rows)
  }
  const total = new Map<string, bigint>()
  const calls = new Map<string, number>()
  const found = store.database.prepare('SELECT * FROM records')
  found.setReadBigInts(true)
  for (const { key, team, model, costNanos, time } of found.all()) {
    const id = JSON.stringify([key, team, model, new Date(Number(time)).toISOString().slice(0, 10)])
    total.set(id, (total.get(id) ?? 0n) + ((costNanos as bigint | null) ?? 0n))
    calls.set(id, (calls.get(id) ?? 0) + 1)
  }
  const answer = sums(store, 'groupBy=key,team,model,day&limit=10000')
  assert.equal(answer.sums.length, total.size)
  for (const sum of answer.sums) {
    const id = JSON.stringify([sum.key, sum.team, sum.model, sum.day])
    const [units, fraction = ''] = sum.cost.split('.')
    assert.equal(BigInt(units + fraction.padEnd(9, '0')), total.get(id))
    assert.equal(sum.calls, calls.get(id))
  }
  for (const team of ['team-0', 'team-1']) {
    const [one] = sums(store, `team=${team}`).sums
    const mine = records(store, `team=${team}&limit=1000`).records
    assert.equal(one.calls, mine.length)
  }
})

test('a batch is kept whole or not at all, and the next one is kept', async (t) => {
  const store = await storeOf(t)
  assert.throws(() => store.append([row(), row({ status: 'four' })]))
  store.append([row()])
  assert.equal(records(store, '').records.length, 1)
  assert.equal(sums(store, '').sums[0].calls, 1)
})

test('what is too old is removed: records before their sums', async (t) => {
  const store = await storeOf(t)
  store.append([row({ time: NOON - 31 * DAY_MS }), row({ time: NOON - 401 * DAY_MS }), row()])
  while (store.prune(NOON));
  assert.equal(records(store, 'from=2020-01-01').records.length, 1)
  assert.equal(sums(store, 'from=2020-01-01').sums[0].calls, 2)
})

test('a file that is too large loses its oldest records, and gives their space back', async (t) => {
  const store = await storeOf(t, { bytesMax: 2_000_000 })
  for (let i = 0; i < 30; i++) {
    store.append(Array.from({ length: 512 }, (_, j) => row({ id: `req_${i}_${j}`, time: NOON - (i * 512 + j) * 1000 })))
  }
  assert.ok(store.bytes > 2_000_000)
  while (store.prune(NOON));
  assert.ok(store.bytes <= 2_000_000)
  assert.equal(store.database.prepare('PRAGMA freelist_count').get()!.freelist_count, 0)
  assert.equal(records(store, 'limit=1').records[0].id, 'req_0_0')
  assert.equal(sums(store, '').sums[0].calls, 15_360)
})

test('others cannot read the file', async (t) => {
  const folder = join(folderOf(t), 'deep', 'spend')
  const store = await SpendStore.open({ path: folder, ...SPEC })
  store.append([row()])
  for (const name of [FILE, `${FILE}-wal`]) assert.equal(statSync(join(folder, name)).mode & 0o077, 0)
  store.close()
})

test('a file of another program, or of a newer weir, is refused and left as it is', async (t) => {
  const folder = folderOf(t)
  writeFileSync(join(folder, FILE), 'this is a letter to my aunt, and no database at all')
  await assert.rejects(SpendStore.open({ path: folder, ...SPEC }), /config\.spendLog: .*spend\.db cannot be used: /)
  rmSync(join(folder, FILE))
  const store = await SpendStore.open({ path: folder, ...SPEC })
  store.database.exec('PRAGMA user_version = 9')
  store.close()
  await assert.rejects(SpendStore.open({ path: folder, ...SPEC }), /a newer weir has written it \(version 9\)/)
})

test('a file of an older version gets the columns that it lacks, and keeps its records', async (t) => {
  const folder = folderOf(t)
  const store = await SpendStore.open({ path: folder, ...SPEC })
  store.database.exec('ALTER TABLE records DROP COLUMN purpose; PRAGMA user_version = 1')
  store.database.exec(
    "INSERT INTO records (id, time, status, streamed, retries, currency, durationMs) VALUES ('a', 1, 200, 0, 0, 'USD', 1)"
  )
  store.close()
  const again = await SpendStore.open({ path: folder, ...SPEC })
  const { id, purpose } = again.database.prepare('SELECT id, purpose FROM records').get()!
  assert.deepEqual([id, purpose], ['a', null])
  again.close()
})

test('after kill -9 the file is read, with every batch that was kept, and its sums', async (t) => {
  const folder = folderOf(t)
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', new URL('./killed.fixture.ts', import.meta.url).pathname, folder],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc']
    }
  )
  let kept = 0
  child.on('message', (count: number) => {
    kept = count
    if (count === 10) child.kill('SIGKILL')
  })
  await once(child, 'exit')
  const store = await SpendStore.open({ path: folder, ...SPEC })
  t.after(() => store.close())
  const { count } = store.database.prepare('SELECT COUNT(*) AS count FROM records').get()! as { count: number }
  assert.ok(count >= kept * 100 && count % 100 === 0)
  assert.equal(sums(store, '').sums[0].calls, count)
  assert.equal(store.database.prepare('PRAGMA integrity_check').get()!.integrity_check, 'ok')
})

test('a file of an earlier version goes on: its records stay, and new ones have the new columns', async (t) => {
  const spec = { path: folderOf(t), ...SPEC }
  const first = await SpendStore.open(spec)
  first.append([row({ id: 'req_old' })])
  for (const column of ['clientModel', 'cache', 'guards']) first.database.exec(`ALTER TABLE records DROP ${column}`)
  for (const column of ['refusals', 'cacheHits']) first.database.exec(`ALTER TABLE hours DROP ${column}`)
  first.database.exec('PRAGMA user_version = 1')
  first.close()
  const store = await SpendStore.open(spec)
  t.after(() => store.close())
  const refused = { id: 'req_new', costNanos: 0, costBasis: 'none', clientModel: 'fast', provider: null }
  store.append([row(refused), row({ cache: 'hit', costNanos: 0, costBasis: 'cache' })])
  const [sum] = sums(store, '').sums
  assert.deepEqual([sum.calls, sum.refusals, sum.cacheHits, sum.cost], [3, 1, 1, '0.0000125'])
  const found = records(store, 'clientModel=fast').records
  assert.deepEqual([found.length, found[0].id, found[0].guards], [1, 'req_new', []])
  assert.equal(records(store, 'id=req_old').records[0].clientModel, null)
})

test('sums tell copies from what clients have asked', async (t) => {
  const store = await storeOf(t)
  store.append([row(), row(), row({ key: null, team: null, purpose: 'shadow', costNanos: 7_000_000_000 })])
  const shown = (params: string) =>
    sums(store, params).sums.map(({ purpose, calls, cost }: Record<string, unknown>) => [purpose, calls, cost])
  assert.deepEqual(shown('purpose='), [[undefined, 2, '0.000025']])
  assert.deepEqual(shown('purpose=shadow'), [[undefined, 1, '7']])
  assert.deepEqual(shown('groupBy=purpose'), [
    ['shadow', 1, '7'],
    [null, 2, '0.000025']
  ])
  assert.equal(sums(store, '').sums[0].calls, 3)
})

test('a file whose sums do not tell copies apart is made anew, with the same sums', async (t) => {
  const spec = { path: folderOf(t), ...SPEC }
  const first = await SpendStore.open(spec)
  first.append([row(), row({ team: 'ads', costNanos: 9_000_000_000 })])
  const before = sums(first, 'groupBy=team')
  first.database.exec(`
    CREATE TABLE old AS SELECT hour, key, team, organisation, model, provider, currency, calls, costNanos FROM hours;
    DROP TABLE hours;
    CREATE TABLE hours (
      hour INTEGER NOT NULL, key TEXT NOT NULL, team TEXT NOT NULL, organisation TEXT NOT NULL, model TEXT NOT NULL,
      provider TEXT NOT NULL, currency TEXT NOT NULL, calls INTEGER NOT NULL DEFAULT 0,
      costNanos INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (hour, key, team, organisation, model, provider, currency)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO hours SELECT * FROM old;
    DROP TABLE old;
    PRAGMA user_version = 3;
  `)
  first.close()
  const store = await SpendStore.open(spec)
  t.after(() => store.close())
  const costs = (answer: typeof before) =>
    answer.sums.map(({ team, calls, cost }: Record<string, unknown>) => [team, calls, cost])
  assert.deepEqual(costs(sums(store, 'groupBy=team')), costs(before))
  store.append([row({ purpose: 'shadow' })])
  assert.deepEqual(costs(sums(store, 'purpose=')), costs(before).length === 2 ? [[undefined, 2, '9.0000125']] : [])
})
