import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { NamedModel, PriceRow, PriceSettings } from '#engine/contract/price-list.ts'
import { NO_SETTINGS } from './book.ts'
import { type CheckOptions, checkPrices } from './check.ts'
import { nameOf, rowLines, shownRow } from './shown.ts'

const DAY_MS = 86_400_000
const NOW = Date.parse('2026-06-01')

const row = (model: string, more: Partial<PriceRow> = {}): PriceRow => ({
  ...{ provider: 'p', model, rates: { input: 2_500_000, output: 75_000, search: 10_000_000_000 }, long: [], tiers: {} },
  ...{ images: [], date: '2026-05-31', source: 'https://p.example', isCompared: true },
  ...more
})

type BackendModel = NamedModel & { readonly backend: string }

const named = (model: string | null, more: Partial<BackendModel> = {}): BackendModel => ({
  ...{ provider: 'p', model, own: [], otherwise: 'nothing', backend: 'b' },
  ...more
})

const check = (more: Partial<CheckOptions>) =>
  checkPrices({
    settings: NO_SETTINGS,
    catalogue: [row('a'), row('old', { date: '2026-01-01' })],
    models: null,
    now: NOW,
    daysMax: 30,
    ...more
  })

test('models: which have a price, where nobody knows it, and what will', () => {
  const own = [row('mine', { provider: null })]
  const { models, open } = check({
    models: [
      ...[named('a'), named('a', { backend: 'c' }), named('none'), named('told', { otherwise: 'provider' })],
      ...[named('deployed', { otherwise: 'answer' }), named('mine', { own }), named(null), named(null)]
    ]
  })
  deepEqual(
    models.map(({ model, verdict, backends, price }) => [model, verdict, backends.join(), price?.origin ?? null]),
    [
      ['a', 'priced', 'b,c', 'catalogue'],
      ['none', 'unknown', 'b', null],
      ['told', 'provider', 'b', null],
      ['deployed', 'answer', 'b', null],
      ['mine', 'priced', 'b', 'backend']
    ]
  )
  deepEqual(open, [{ provider: 'p', backends: ['b'] }])
})

test('rows: of the models alone, or all; a day is over when all of it is', () => {
  const names = (one: ReturnType<typeof check>) => one.older.map((price) => nameOf(price.row))
  deepEqual(names(check({})), ['p old'])
  deepEqual(names(check({ models: [named('a')] })), [])
  deepEqual(names(check({ models: [named('old'), named('old-2026-01-02')] })), ['p old'])
  const edge = [row('a', { date: '2026-05-02' })]
  deepEqual(names(check({ catalogue: edge })), [])
  deepEqual(names(check({ catalogue: edge, now: NOW + 1 })), ['p a'])
  equal(Date.parse('2026-05-02') + 30 * DAY_MS, NOW)
})

test('rows of one collection are told; those of a configuration say nothing of it', () => {
  const { isCompared: _, ...mine } = row('mine', { date: null })
  const settings: PriceSettings = { ...NO_SETTINGS, rows: [mine] }
  const { single, older } = check({
    settings,
    catalogue: [row('a'), row('b', { isCompared: false })],
    models: [named('a'), named('b'), named('mine')]
  })
  deepEqual(
    single.map((price) => price.row.model),
    ['b']
  )
  deepEqual(older, [])
})

test('a row is shown by the fields of a configuration, exactly', () => {
  const price = {
    origin: 'config',
    row: row('a', { long: [{ above: 5, rates: { input: 1 } }], tiers: { batch: { rates: { input: 3 }, long: [] } } })
  } as const
  deepEqual(shownRow(price), {
    ...{ provider: 'p', model: 'a', origin: 'config', date: '2026-05-31', source: 'https://p.example' },
    ...{ isCompared: true, input: '2.5', output: '0.075', perSearch: '0.01' },
    ...{ longContext: [{ above: 5, input: '0.000001' }], batch: { input: '0.000003' } }
  })
  deepEqual(rowLines(price, 'EUR'), [
    'p a',
    '  of config.prices, 2026-05-31, https://p.example, two collections agree',
    '  EUR per million          input 2.5, output 0.075, perSearch 0.01',
    '  above 5 tokens of input  input 0.000001',
    '  batch                    input 0.000003'
  ])
})
