import { equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StateFolder } from '#engine/accounts/journal/store.ts'
import { ProcessAccounts } from './accounts.ts'

type Offered = Parameters<ProcessAccounts['offer']>[0]

const inCurrency = (currency?: string) =>
  ({
    ...{ binds: [], backends: {}, policies: [], keys: [], teams: [], organisations: [] },
    gateway: { frontend: currency === undefined ? {} : { prices: { currency } }, backendPolicies: {} }
  }) as unknown as Offered

async function offered(path: string, currency?: string): Promise<string | null> {
  const accounts = new ProcessAccounts({
    ...{ policies: [], broadcast: () => {}, log: () => {} },
    process: { state: { path, fsync: 'everysec', server: null }, workerThreads: 1 } as never
  })
  await accounts.open()
  const problem = accounts.offer(inCurrency(currency))
  await accounts.close()
  return problem
}

test('what another process has spent is in the currency that it was spent in', async (t) => {
  const path = mkdtempSync(join(tmpdir(), 'weir-accounts-'))
  t.after(() => rmSync(path, { recursive: true }))
  equal(await offered(path, 'EUR'), null)
  // Nothing has been spent yet.
  equal(await offered(path), null)
  const folder = await StateFolder.open(path, () => {})
  folder.totals.add('key a Total', 0, Date.now(), 5n)
  folder.save(Date.now())
  await folder.close()
  match((await offered(path, 'EUR'))!, /^config\.prices\.currency: what is spent .* is in USD; EUR needs /)
  equal(await offered(path, 'USD'), null)
})
