import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { PriceRow, PriceSettings } from '#engine/contract/price-list.ts'
import { Prices } from './book.ts'
import { namesOf } from './names.ts'

const row = (provider: string | null, model: string, input: number): PriceRow => ({
  ...{ provider, model, rates: { input, output: input }, long: [], tiers: {}, images: [], date: null, source: null }
})

const settings = (rows: readonly PriceRow[], more: Partial<PriceSettings> = {}): PriceSettings => ({
  ...{ currency: 'USD', catalogue: true, responseHeader: false, rows },
  ...more
})

test('the catalogue is read once, when prices come into force, and never where they do not', () => {
  let reads = 0
  const book = new Prices(() => {
    reads++
    return [row('openai', 'gpt', 5)]
  })
  equal(reads, 0)
  const first = book.use(settings([]))
  first.begin()
  equal(book.find('openai', ['gpt'], [])?.origin, 'catalogue')
  const second = book.use(settings([row(null, 'g*', 7)]))
  second.begin()
  first.end()
  equal(book.find('openai', ['gpt'], [])?.row.rates.input, 7)
  book.use(settings([], { catalogue: false })).begin()
  second.end()
  equal(book.find('openai', ['gpt'], []), null)
  equal(reads, 1)
})

test('an exact name, a longer pattern and the provider decide; the last of two rows for one model holds', () => {
  const book = new Prices(() => [])
  const rows = [row(null, 'm*', 1), row(null, 'm-large*', 2), row('p', 'm-x', 3), row('p', 'm-x', 4), row('p', '*', 5)]
  book.use(settings(rows)).begin()
  const price = (provider: string, model: string) => book.find(provider, [model], [])?.row.rates.input
  deepEqual(
    [price('q', 'm-1'), price('q', 'm-large-1'), price('p', 'm-x'), price('p', 'm-large-1'), price('q', 'n')],
    [1, 2, 4, 5, undefined]
  )
})

test('names without what says nothing of a price, the whole name first', () => {
  for (const [model, names] of [
    ['GPT-4o-2024-08-06', ['gpt-4o-2024-08-06', 'gpt-4o']],
    ['claude-sonnet-4-5@20250929', ['claude-sonnet-4-5@20250929', 'claude-sonnet-4-5']],
    ['ft:gpt-4o:acme::1', ['ft:gpt-4o:acme::1', 'ft:gpt-4o']],
    [
      'us.amazon.nova-pro-v1:0',
      ['us.amazon.nova-pro-v1:0', 'us.amazon.nova-pro', 'amazon.nova-pro-v1:0', 'amazon.nova-pro']
    ]
  ] as const)
    deepEqual(namesOf(model), names)
})
