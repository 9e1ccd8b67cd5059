import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remember } from './remember.ts'
import { z } from './schema.ts'

function counted() {
  const seen: unknown[] = []
  const schema = z.strictObject({ a: z.unknown() }).superRefine((value, context) => {
    seen.push(value.a)
    if (value.a === 'bad') context.addIssue({ code: 'custom', message: 'is bad' })
  })
  return { seen, schema: z.array(remember(schema.transform(({ a }) => ({ made: a })))) }
}

test('a value that was valid is not validated again, and has the same outcome', () => {
  const { seen, schema } = counted()
  const [first] = schema.parse([{ a: { b: [1] } }])
  const [second, third] = schema.parse([{ a: { b: [1] } }, { a: { b: [2] } }])
  assert.deepEqual([first, third], [{ made: { b: [1] } }, { made: { b: [2] } }])
  assert.equal(second, first)
  assert.equal(seen.length, 2)
})

test('mistakes are found every time', () => {
  const { schema } = counted()
  for (let i = 0; i < 2; i++) {
    const issues = schema.safeParse([{ a: 1 }, { a: 'bad' }]).error?.issues
    assert.deepEqual(
      issues?.map(({ path, message }) => ({ path, message })),
      [{ path: [1], message: 'is bad' }]
    )
  }
})

test('values that look alike in JSON stay apart', () => {
  const { schema } = counted()
  assert.deepEqual(schema.parse([{ a: null }]), [{ made: null }])
  assert.deepEqual(schema.parse([{ a: Number.POSITIVE_INFINITY }]), [{ made: Number.POSITIVE_INFINITY }])
  assert.deepEqual(schema.parse([{ a: '1' }, { a: 1 }]), [{ made: '1' }, { made: 1 }])
  assert.equal(schema.safeParse(['x', null, 5]).success, false)
})

test('what is long goes when there is too much of it, the oldest first', () => {
  const { seen, schema } = counted()
  const long = (i: number) => ({ a: `${i}`.padEnd(2 ** 20, 'x') })
  for (let i = 0; i < 100; i++) schema.parse([long(i)])
  for (let i = 99; i >= 90; i--) schema.parse([long(i)])
  assert.equal(seen.length, 100)
  schema.parse([long(0)])
  assert.equal(seen.length, 101)
  for (let i = 0; i < 2; i++) schema.parse([{ a: 'x'.repeat(17 * 2 ** 20) }])
  assert.equal(seen.length, 103)
})
