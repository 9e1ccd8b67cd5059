import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { order } from './compare.ts'
import { CelError } from './errors.ts'
import {
  type ArithmeticOp,
  arithmetic,
  Double,
  doubleOf,
  intOf,
  isDouble,
  isInt,
  negate,
  numberOf,
  Uint
} from './numbers.ts'
import { evaluate, shown } from './testing/evaluate.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** Ints of all sizes, with those at the edges of safe integers and of 64 bits. */
const INTS = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  fc.bigInt({ min: -100n, max: 100n }),
  fc.constantFrom(MIN, MIN + 1n, MAX, 0n, 1n, -1n, 2n ** 53n, 2n ** 53n - 1n, -(2n ** 53n), 1n - 2n ** 53n)
)

function exact(op: ArithmeticOp, a: bigint, b: bigint): bigint | null {
  if (op === '+') return a + b
  if (op === '-') return a - b
  if (op === '*') return a * b
  if (b === 0n || (a === MIN && b === -1n)) return null
  return op === '/' ? a / b : a % b
}

test('ints of both forms compute as 64-bit integers, and overflow is an error', () => {
  const ops = fc.constantFrom<ArithmeticOp[]>('+', '-', '*', '/', '%')
  fc.assert(
    fc.property(ops, INTS, INTS, (op, a, b) => {
      const result = arithmetic(op, intOf(a), intOf(b))!
      const wanted = exact(op, a, b)
      if (wanted === null || wanted < MIN || wanted > MAX) assert.ok(result instanceof CelError)
      else {
        assert.ok(isInt(result), 'an int')
        assert.equal(BigInt(result), wanted)
        // One form per value: what is safe is a number and never -0.
        assert.equal(typeof result, Number.isSafeInteger(Number(result)) ? 'number' : 'bigint')
        assert.ok(!Object.is(result, -0))
      }
    }),
    { numRuns: 2000 }
  )
})

test('ints are ordered as integers', () => {
  fc.assert(fc.property(INTS, INTS, (a, b) => assert.equal(order(intOf(a), intOf(b)), a < b ? -1 : a > b ? 1 : 0)))
})

test('doubles compute as doubles, and none of them is taken for an int', () => {
  const doubles = fc.oneof(fc.double(), fc.integer().map(Number), fc.constantFrom(0, -0, 2 ** 53, 1e300))
  fc.assert(
    fc.property(doubles, doubles, (a, b) => {
      for (const [op, wanted] of [
        ['+', a + b],
        ['-', a - b],
        ['*', a * b],
        ['/', a / b]
      ] as const) {
        const result = arithmetic(op, doubleOf(a), doubleOf(b))!
        assert.ok(isDouble(result) && !isInt(result))
        assert.ok(Object.is(numberOf(result), wanted))
      }
      assert.ok(isDouble(negate(doubleOf(a))))
    })
  )
})

test('int, uint and double do not mix in arithmetic, and compare as numbers', () => {
  assert.equal(arithmetic('+', 1, new Double(1)), null)
  assert.equal(arithmetic('+', 1, new Uint(1n)), null)
  assert.equal(arithmetic('%', new Double(3), new Double(2)), null)
  for (const source of ['1 == 1.0', '1u == 1', '2.5 > 2', '1u < 1.5', '1 in [1.0]', '{1: 2}[1u] == 2', 'x == 1.0']) {
    assert.equal(evaluate(source, { x: 1 }), true, source)
  }
  assert.equal(shown('x / 2.0', { x: 1 }), 'error: no such overload: /(int, double)')
})

test('numbers of the host: integers are ints, others doubles', () => {
  assert.equal(shown('type(x) == int && type(y) == double && x + 1 == 3', { x: 2, y: 2.5 }), 'true')
  assert.equal(shown('x + 1', { x: 2n ** 63n - 1n }), 'error: integer overflow')
})
