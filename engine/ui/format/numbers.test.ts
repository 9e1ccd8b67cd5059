import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ago, count, duration, exact, money, percent } from './numbers.ts'

test('counts have at most four digits', () => {
  deepEqual([0, 0.43, 2, 9.98, 999, 1234, 9999, 12_345, 100_000, 123_456, 4_500_000, 2e9].map(count), [
    '0',
    '0.4',
    '2',
    '10',
    '999',
    '1,234',
    '9,999',
    '12.3k',
    '100k',
    '123k',
    '4.5M',
    '2G'
  ])
  equal(exact(1234567), '1,234,567')
})

test('money keeps what is small', () => {
  deepEqual(
    ['0', '1.5', '1234.5', '0.00042', '0.05', '-2', '0.123456'].map((amount) => money(amount)),
    ['$0.00', '$1.50', '$1,234.50', '$0.00042', '$0.050', '-$2.00', '$0.12']
  )
  equal(money('3', 'EUR'), '3.00 EUR')
})

test('durations and moments', () => {
  deepEqual([0.25, 4.25, 12.4, 999, 1500, 59_000, 61_000, 5_400_000, 259_200_000].map(duration), [
    '250 µs',
    '4.3 ms',
    '12 ms',
    '999 ms',
    '1.5 s',
    '59 s',
    '1 min',
    '1.5 h',
    '3 d'
  ])
  const now = Date.parse('2026-01-01T00:00:00Z')
  equal(ago('2025-12-31T23:59:48Z', now), '12 s ago')
  equal(ago('2026-01-01T03:00:00Z', now), 'in 3 h')
  equal(ago('2026-01-01T00:00:00.200Z', now), 'now')
  equal(ago('never', now), 'never')
})

test('shares', () => {
  deepEqual([0, 0.0001, 0.0123, 0.05, 0.5, 1.2].map(percent), ['0 %', '< 0.1 %', '1.2 %', '5 %', '50 %', '120 %'])
})
