/**
 * What people ask of the spend log: any text is a query within its bounds or an error that names a parameter, and a
 * query is answered by the file, whatever its values are.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answerQuery } from '#engine/spend/answers.ts'
import { QueryError, readRecordsQuery, readSumsQuery } from '#engine/spend/query.ts'
import { row } from '#engine/spend/rows.fixture.ts'
import { SpendStore } from '#engine/spend/store.ts'

export const name = 'spend-query'
export const dictionary = [
  ...['groupBy=', 'from=', 'to=', 'limit=', 'format=csv', 'cursor=', 'key=', 'status=', 'owner=', 'model='],
  ...['key,team', 'day', 'month', '2026-05-31', 'T00:00:00Z', '%2B02:00', '1-1', '&', '%00', '%27', '%22', '--', ',']
]

const NOW = Date.parse('2026-06-01T00:00:00Z')
const folder = mkdtempSync(join(tmpdir(), 'weir-fuzz-'))
const store = await SpendStore.open({ path: folder, recordsMaxAgeMs: 1e12, sumsMaxAgeMs: 1e12, bytesMax: 1e9 })
// The file stays open; its name is not needed.
rmSync(folder, { recursive: true })
store.append([row(), row({ key: "'; DROP TABLE records", model: '=1+1' })])

export function run(data: Buffer): void {
  const params = new URLSearchParams(data.toString())
  for (const read of [readSumsQuery, readRecordsQuery]) {
    try {
      const query = read({ params, now: NOW, accept: '' })
      assert.ok(query.from >= 0 && query.from < query.to && query.limit >= 1 && query.limit <= 10_000)
      const { body } = answerQuery(store.database, query)
      if (query.format === 'json') JSON.parse(body)
      else for (const line of body.split('\r\n')) assert.doesNotMatch(line, /(?:^|,)"?[=+@]/)
    } catch (error) {
      if (!(error instanceof QueryError)) throw error
      assert.ok(error.field.length <= 64 && error.message !== '')
    }
  }
}
