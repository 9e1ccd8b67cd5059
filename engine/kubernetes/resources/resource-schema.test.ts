import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLeastOne, atMostOne, exactlyOne, oneOf } from '#engine/schema/choice.ts'
import { ONLY_FILES } from '#engine/schema/rule.ts'
import { refused, z } from '#engine/schema/schema.ts'
import { allOnlyInFiles, anyJson, filledIn, inResources, onlyInFiles, words } from '#engine/schema/spelling.ts'
import { ResourceSchemas } from './resource-schema.ts'

const WORD = z.literal('a word of resources')
const schemas = () => new ResourceSchemas(() => WORD)

const takes = (schema: z.ZodType, value: unknown) => schemas().of(schema).safeParse(value).success

test('what only files have is unknown in resources', () => {
  const schema = z.strictObject({
    both: z.string().optional(),
    path: onlyInFiles(z.string().optional()).describe('A path.'),
    ...allOnlyInFiles({ other: z.string().optional() }),
    later: refused('later')
  })
  assert.deepEqual(Object.keys((schemas().of(schema) as typeof schema).shape), ['both'])
  assert.ok(takes(schema, { both: 'a' }))
  assert.ok(!takes(schema, { path: 'a' }))
})

test('choices count what is left, and one that is left alone is required', () => {
  const two = oneOf({ a: z.string().optional(), b: z.string().optional(), c: onlyInFiles(z.string().optional()) })
  assert.match(schemas().of(two).safeParse({}).error!.message, /must have exactly one of a, b"/)
  const one = atLeastOne({ a: z.string().optional(), c: onlyInFiles(z.string().optional()) })
  const [issue] = schemas().of(one).safeParse({}).error!.issues
  assert.deepEqual([issue!.code, issue!.path], ['invalid_type', ['a']])
  const most = z
    .strictObject({ a: z.string().optional(), c: onlyInFiles(z.string().optional()) })
    .check(atMostOne(['a', 'c']))
  assert.ok(takes(most, {}))
})

test('what files refuse may be a field of resources', () => {
  const schema = oneOf({ a: z.string().optional(), b: inResources(refused('b'), 'Json') })
  assert.ok(takes(schema, { b: 'a word of resources' }))
  assert.ok(!takes(schema, { a: 'a', b: 'a word of resources' }))
})

test('resources have their own spelling, in place of any other and of its translation', () => {
  const one = z.enum(['a', 'b'])
  const either = inResources(z.union([one, z.number()]).transform(String), one)
  const schema = z.array(z.strictObject({ either, json: anyJson().optional() })).optional()
  assert.ok(takes(schema, [{ either: 'a', json: 'a word of resources' }]))
  assert.ok(!takes(schema, [{ either: 1 }]))
  assert.ok(!takes(schema, [{ either: 'a', json: {} }]))
  assert.equal(
    schemas()
      .of(words(['Strict'], 'Strict'))
      .parse(undefined),
    'Strict'
  )
  assert.equal(words(['Strict'], 'Strict').safeParse(undefined).success, false)
  assert.equal(schemas().of(filledIn(z.boolean(), true)).parse(undefined), true)
})

test('a schema that is the same in both is the same object', () => {
  const inner = z.strictObject({ a: z.string() }).check(exactlyOne(['a', 'b']))
  const same = z.strictObject({ list: z.array(z.string().transform(Number)), map: z.record(z.string(), z.string()) })
  assert.equal(schemas().of(same), same)
  assert.ok(takes(inner, { a: 'a' }))
})

test('a check of a translation cannot see another spelling', () => {
  const changed = z.strictObject({ a: z.string(), path: onlyInFiles(z.string().optional()) }).transform(({ a }) => a)
  assert.ok(
    takes(
      changed.refine((a) => a === 'b', { params: ONLY_FILES }),
      { a: 'a' }
    )
  )
  assert.throws(() => schemas().of(changed.refine((a) => a === 'b')), /put it ahead of the translation/)
})
