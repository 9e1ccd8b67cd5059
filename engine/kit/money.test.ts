import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import {
  decimalText,
  moneyOf,
  NANO_PLACES,
  nanosOfPicos,
  PICO_PLACES,
  PICOS_MAX,
  parseMoney,
  plusPicos,
  roundedUp,
  timesPrice
} from './money.ts'

test('a decimal is read exactly, as text and as the number that YAML makes of it', () => {
  for (const [value, picos] of [
    ['12.50', 12_500_000_000_000n],
    [12.5, 12_500_000_000_000n],
    [0.00000015, 150_000n],
    ['1.5e-7', 150_000n],
    [0.1, 100_000_000_000n],
    ['3', 3_000_000_000_000n],
    ['1E2', 100_000_000_000_000n],
    ['0.0000000000010', 1n],
    ['0', 0n],
    ['999999999999.999999999999', 999_999_999_999_999_999_999_999n]
  ] as const)
    equal(moneyOf(value, PICO_PLACES), picos, String(value))
  equal(parseMoney('0.000000001', NANO_PLACES), 1n)
})

test('what is no amount, or not a whole number of the smallest part, is null', () => {
  const invalid = ['', '-1', '+1', ' 1', '1 ', '1,50', '.5', '5.', '$5', '1e', '1e100', '0x10', 'Infinity', '١']
  for (const value of [...invalid, '0.0000000000001', '1000000000000', '1e12', `1${'0'.repeat(50)}`])
    equal(parseMoney(value, PICO_PLACES), null, value)
  for (const value of [Number.NaN, -0.5, Number.POSITIVE_INFINITY, 1e-13, null, true, 5n, ['5']])
    equal(moneyOf(value, PICO_PLACES), null, String(value))
  equal(parseMoney('0.0000000001', NANO_PLACES), null)
})

test('what another program has worked out is rounded up', () => {
  for (const [value, picos] of [
    [0.1 + 0.2, 300_000_000_001],
    [1e-13, 1],
    [0.5, 500_000_000_000],
    [0, 0],
    [1e21, PICOS_MAX],
    [-1, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null]
  ] as const)
    equal(roundedUp(value, PICO_PLACES), picos, String(value))
})

test('amounts are printed as they would be written by hand', () => {
  for (const [amount, text] of [
    [0, '0'],
    [1, '0.000000000001'],
    [12_500_000, '0.0000125'],
    [12_500_000_000_000, '12.5'],
    [12_000_000_000_000n, '12'],
    [-2_500_000_000_000n, '-2.5'],
    [PICOS_MAX, '9007.199254740991'],
    [123_456_789_000_000_000_000n, '123456789']
  ] as const)
    equal(decimalText(amount, PICO_PLACES), text)
  equal(decimalText(1_500_000_000n, NANO_PLACES), '1.5')
})

test('what is printed reads back as the same amount', () => {
  let amount = 1n
  for (let i = 0; i < 500; i++) {
    amount = (amount * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % 10n ** BigInt((i % 24) + 1)
    for (const places of [PICO_PLACES, NANO_PLACES]) {
      const expected = amount >= 10n ** BigInt(12 + places) ? null : amount
      equal(parseMoney(decimalText(amount, places), places), expected)
    }
  }
})

test('products and sums are whole, and stop at the largest amount', () => {
  equal(timesPrice(1_000_000, 15_000_000), 15_000_000_000_000)
  equal(timesPrice(1_000_000_000, 150_000_000), PICOS_MAX)
  equal(timesPrice(0, PICOS_MAX), 0)
  equal(timesPrice(Number.POSITIVE_INFINITY, 1), PICOS_MAX)
  for (const count of [Number.POSITIVE_INFINITY, Number.NaN]) equal(timesPrice(count, 0), 0)
  equal(timesPrice(-5, 3), 0)
  equal(plusPicos(PICOS_MAX, PICOS_MAX), PICOS_MAX)
  equal(plusPicos(PICOS_MAX - 1, 1), PICOS_MAX)
})

test('nanos are rounded up, also where a float would lose the rest', () => {
  for (const [picos, nanos] of [
    [0, 0],
    [1, 1],
    [1000, 1],
    [1001, 2],
    [9_007_199_254_740_000, 9_007_199_254_740],
    [9_007_199_254_740_001, 9_007_199_254_741],
    [PICOS_MAX, 9_007_199_254_741]
  ] as const)
    equal(nanosOfPicos(picos), nanos)
  for (let picos = PICOS_MAX - 5000; picos <= PICOS_MAX - 1; picos++) {
    const nanos = BigInt(nanosOfPicos(picos))
    ok(nanos * 1000n >= picos && (nanos - 1n) * 1000n < picos, String(picos))
  }
})
