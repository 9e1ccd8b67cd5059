import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from '#engine/schema/schema.ts'
import { atLeastOne, oneOf } from './choice.ts'

const shape = { a: z.string().optional(), b: z.string().optional() }

function messages(schema: z.ZodType, value: unknown): string[] {
  return (schema.safeParse(value).error?.issues ?? []).map((issue) => issue.message)
}

test('exactly one', () => {
  assert.deepEqual(messages(oneOf(shape), { a: '1' }), [])
  assert.deepEqual(messages(oneOf(shape), {}), ['must have exactly one of a, b'])
  assert.deepEqual(messages(oneOf(shape), { a: '1', b: '2' }), ['must have exactly one of a, b, not a and b'])
})

test('at least one', () => {
  assert.deepEqual(messages(atLeastOne(shape), { a: '1', b: '2' }), [])
  assert.deepEqual(messages(atLeastOne(shape), {}), ['must have at least one of a, b'])
})
