import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { Api } from './api.ts'
import { seriesOperation } from './series.ts'

const reads: unknown[] = []
const names = ['requests', 'errors.JWT_MISSING', 'errors.NO_ROUTE', ...Array.from({ length: 120 }, (_, i) => `b.${i}`)]
const api = new Api([
  seriesOperation({
    names,
    past: (wanted, seconds, step) => {
      reads.push([wanted, seconds, step])
      return { step, firstAt: 0, series: new Map(wanted.map((name) => [name, [0.1 + 0.2, Number.NaN]])) }
    }
  })
])

async function get(query: string, from = api) {
  const request = { method: 'GET', path: '/api/v1/series', query: new URLSearchParams(query), headers: {} }
  const { status, body } = (await from.answer({ ...request, body: async () => Buffer.of() }))!
  return { status, json: JSON.parse(body) }
}

test('a range has the finest step that is kept so long, and a star stands for the rest', async () => {
  const { json } = await get('names=requests,errors.*')
  deepEqual(json.series, {
    'errors.JWT_MISSING': [0.3, null],
    'errors.NO_ROUTE': [0.3, null],
    requests: [0.3, null]
  })
  await get('names=requests&range=901')
  await get('names=requests&range=86400')
  await get('names=requests&range=60&step=60')
  deepEqual(reads, [
    [['errors.JWT_MISSING', 'errors.NO_ROUTE', 'requests'], 900, 1],
    [['requests'], 901, 10],
    [['requests'], 86_400, 60],
    [['requests'], 60, 60]
  ])
  equal((await get('')).json.names.length, names.length)
})

test('what is too long, too fine or too much says what may be', async () => {
  for (const [query, field, message] of [
    ['range=86401', 'range', /86400/],
    ['range=x', 'range', /whole seconds/],
    ['step=7', 'step', /1, 10, 60/],
    ['step=1&range=901', 'step', /longer step/],
    ['names=b.*', 'names', /120 figures are too many for this range, 102/]
  ] as const) {
    const { status, json } = await get(query)
    deepEqual([status, json.error.field], [400, field], query)
    match(json.error.message, message)
  }
})

test('where no figures are kept there are none', async () => {
  equal((await get('', new Api([seriesOperation(undefined)]))).status, 404)
})
