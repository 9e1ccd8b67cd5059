import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvOf } from './csv.ts'
import { QueryError, readRecordsQuery, readSumsQuery } from './query.ts'

const NOW = Date.parse('2026-05-31T12:00:00Z')
const sums = (params: string, accept = '') => readSumsQuery({ params: new URLSearchParams(params), now: NOW, accept })
const records = (params: string) => readRecordsQuery({ params: new URLSearchParams(params), now: NOW, accept: '' })

test('a query without parameters is about the last 30 days', () => {
  const query = sums('')
  assert.deepEqual([query.to, query.to - query.from, query.groupBy, query.limit], [NOW, 30 * 86_400_000, [], 1000])
})

test('times are days of UTC or instants with their zone', () => {
  assert.equal(sums('from=2026-05-30').from, Date.parse('2026-05-30T00:00:00Z'))
  assert.equal(sums('from=2026-05-30T02:00:00%2B02:00').from, Date.parse('2026-05-30T00:00:00Z'))
})

test('CSV is asked for by parameter or by Accept', () => {
  assert.equal(sums('', 'text/csv').format, 'csv')
  assert.equal(sums('format=json', 'text/csv').format, 'json')
  assert.equal(sums('', 'application/json').format, 'json')
})

test('records are narrowed to copies, or to what clients have asked', () => {
  assert.deepEqual(records('purpose=shadow').filters, { purpose: ['shadow'] })
  assert.deepEqual(records('purpose=').filters, { purpose: [''] })
})

for (const [params, field] of [
  ['groupBy=keys', 'groupBy'],
  ['groupBy=key,key', 'groupBy'],
  ['groupBy=', 'groupBy'],
  ['groupBy=key&groupBy=team', 'groupBy'],
  ['from=yesterday', 'from'],
  ['from=2026-05-31T08:00:00', 'from'],
  ['from=2026-13-01', 'from'],
  ['from=2026-06-01', 'from'],
  ['to=1', 'to'],
  ['limit=0', 'limit'],
  ['limit=10001', 'limit'],
  ['limit=1e3', 'limit'],
  ['format=xml', 'format'],
  ['user=x', 'user'],
  [`key=${'k'.repeat(257)}`, 'key'],
  ['key=k&'.repeat(65), 'key'],
  ['cursor=1-2', 'cursor']
] as const) {
  test(`${params.slice(0, 40)}: the error names ${field}`, () => {
    assert.throws(
      () => sums(params),
      (error: QueryError) => error instanceof QueryError && error.field === field
    )
  })
}

for (const [params, field] of [
  ['cursor=1', 'cursor'],
  ['cursor=1-2-3', 'cursor'],
  ['status=ok', 'status'],
  ['limit=1001', 'limit'],
  ['groupBy=key', 'groupBy']
] as const) {
  test(`records: ${params}: the error names ${field}`, () => {
    assert.throws(
      () => records(params),
      (error: QueryError) => error instanceof QueryError && error.field === field
    )
  })
}

test('a cell that a spreadsheet would run is a text', () => {
  const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', 'a"b', 'a,b', 'plain', null, 5]
  assert.equal(
    csvOf(
      ['name'],
      cells.map((cell) => [cell])
    ),
    'name\r\n"\'=1+1"\r\n"\'+1"\r\n"\'-1"\r\n"\'@SUM(A1)"\r\n"\'\t=1"\r\n"a""b"\r\n"a,b"\r\nplain\r\n\r\n5\r\n'
  )
})
