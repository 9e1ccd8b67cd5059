import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLeastOne, atMostOne, oneOf } from '#engine/schema/choice.ts'
import { duration, positiveDuration } from '#engine/schema/duration.ts'
import { cel, keywords, ONLY_FILES, ONLY_GATEWAY, uniqueBy } from '#engine/schema/rule.ts'
import { deferred, list, map, shortString, whole, z } from '#engine/schema/schema.ts'
import { structural } from './structural.ts'

const DURATION = {
  type: 'string',
  maxLength: 64,
  pattern: '^(?:0|(?:[0-9]+(?:\\.[0-9]+)?(?:ms|us|µs|ns|h|m|s))+)$'
}
const NOT_TOO_LONG = { rule: "duration(self) <= duration('1000000000s')", message: 'is too long a duration' }

const FORMS: readonly (readonly [string, z.ZodType, object])[] = [
  ['text', shortString(), { type: 'string', minLength: 1, maxLength: 256 }],
  ['a pattern', z.string().regex(/^a\/b$/), { type: 'string', pattern: '^a\\/b$' }],
  ['a pattern of any case', z.string().regex(/^a$/i), { type: 'string', pattern: '(?i)^a$' }],
  ['two patterns', z.string().regex(/a/).regex(/b/), { type: 'string', allOf: [{ pattern: 'a' }, { pattern: 'b' }] }],
  ['a boolean', z.boolean(), { type: 'boolean' }],
  ['a whole number', whole(1, 9), { type: 'integer', format: 'int64', minimum: 1, maximum: 9 }],
  ['a number', z.number().gt(1).max(2), { type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 2 }],
  ['words', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  ['numbers as words', z.literal([3, 5]), { type: 'integer', enum: [3, 5] }],
  ['a list', list(z.boolean(), 1, 3), { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 3 }],
  ['what is filled in', z.enum(['a', 'b']).default('a'), { type: 'string', enum: ['a', 'b'], default: 'a' }],
  ['null', z.boolean().nullable(), { type: 'boolean', nullable: true }],
  ['anything', z.any(), { 'x-kubernetes-preserve-unknown-fields': true }],
  ['an empty object', z.strictObject({}), { type: 'object' }],
  ['any object', z.looseObject({}), { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }],
  [
    'a number or a text',
    z.union([whole(1, 2), z.string().regex(/^a$/)]),
    { minimum: 1, maximum: 2, pattern: '^a$', 'x-kubernetes-int-or-string': true }
  ],
  ['what is made later', deferred(() => z.boolean()), { type: 'boolean' }],
  ['a translation', z.string().transform(Number), { type: 'string' }],
  ['a description', z.boolean().describe('Why.'), { type: 'boolean', description: 'Why.' }],
  [
    'an object',
    z.strictObject({ a: z.boolean(), b: z.boolean().optional(), c: z.boolean().default(true) }),
    {
      type: 'object',
      properties: { a: { type: 'boolean' }, b: { type: 'boolean' }, c: { type: 'boolean', default: true } },
      required: ['a']
    }
  ],
  [
    'a map, whose keys are a rule',
    map(z.string().min(1).max(2).regex(/^a/), z.boolean(), 1, 3),
    {
      type: 'object',
      additionalProperties: { type: 'boolean' },
      minProperties: 1,
      maxProperties: 3,
      'x-kubernetes-validations': [
        { rule: 'self.all(key, key.size() >= 1 && key.size() <= 2)', message: 'names must have 1 to 2 characters' },
        { rule: 'self.all(key, key.matches("^a"))', message: 'names must match ^a' }
      ]
    }
  ],
  [
    'a map of anything, which CEL cannot read',
    map(z.string().max(2), z.any(), 0, 3),
    { type: 'object', additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true }, maxProperties: 3 }
  ],
  ['a duration', duration(), { ...DURATION, 'x-kubernetes-validations': [NOT_TOO_LONG] }],
  [
    'a duration with a bound',
    positiveDuration('is none'),
    {
      ...DURATION,
      'x-kubernetes-validations': [NOT_TOO_LONG, { rule: "duration(self) > duration('0s')", message: 'is none' }]
    }
  ],
  [
    'a list without repetitions',
    z.array(z.strictObject({ a: z.string() })).refine(() => true, { params: uniqueBy('a') }),
    {
      type: 'array',
      items: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a']
    }
  ],
  [
    'a keyword',
    z.string().refine(() => true, { params: keywords({ maxLength: 3 }) }),
    { type: 'string', maxLength: 3 }
  ],
  ['what only files have', z.string().refine(() => true, { params: ONLY_FILES }), { type: 'string' }],
  ['what only the gateway can tell', z.string().refine(() => true, { params: ONLY_GATEWAY }), { type: 'string' }]
]

test('each construct has its form', () => {
  for (const [name, schema, form] of FORMS) assert.deepEqual(structural(schema), form, name)
})

const CHOICE = { openai: z.boolean().optional(), typeA: z.boolean().optional(), namespace: z.boolean().optional() }

test('choices count all names, and propose no neutral words', () => {
  const rules = [oneOf(CHOICE), atLeastOne(CHOICE), z.strictObject(CHOICE).check(atMostOne(['openai', 'typeA']))]
  assert.deepEqual(
    rules.map((schema) => structural(schema)['x-kubernetes-validations']),
    [
      [
        {
          rule: '[has(self.openai), has(self.typeA), has(self.__namespace__)].filter(x, x).size() == 1',
          message: 'must have exactly one of openai, namespace'
        }
      ],
      [
        {
          rule: 'has(self.openai) || has(self.typeA) || has(self.__namespace__)',
          message: 'must have at least one of openai, namespace'
        }
      ],
      [
        {
          rule: '[has(self.openai), has(self.typeA)].filter(x, x).size() <= 1',
          message: 'must have at most one of openai'
        }
      ]
    ]
  )
})

test('a rule says the message and the place of its check', () => {
  const schema = z
    .strictObject({ a: z.boolean().optional() })
    .refine(() => true, { path: ['a'], error: 'is wrong', params: cel('has(self.a)') })
  const rules = structural(schema)['x-kubernetes-validations']
  assert.deepEqual(rules, [{ rule: 'has(self.a)', message: 'is wrong', fieldPath: '.a' }])
})

const REFUSED: readonly (readonly [string, z.ZodType, RegExp])[] = [
  ['a check without a word', z.string().refine(() => true), /^spec: a check \(custom\) that says nothing/],
  ['a union', z.union([z.string(), z.boolean()]), /a union of string and boolean/],
  ['words of two types', z.literal(['a', 1]), /words of several types/],
  ['a rule of one form', z.union([whole(1, 2), duration()]), /a rule about one form of a union/],
  ['a date', z.date(), /a schema of type date/],
  ['a pattern of lines', z.string().regex(/^a$/m), /a pattern with flags m/],
  ['a map by words', z.record(z.enum(['a']), z.boolean()), /a map with keys that are not any text/],
  [
    'a rule about nothing',
    z.strictObject({ a: z.boolean() }).refine(() => true, { error: 'a', params: cel('self.b') }),
    /a rule about b, which resources do not have/
  ]
]

test('what has no form is an error that names its place', () => {
  for (const [name, schema, message] of REFUSED) assert.throws(() => structural(schema), { message }, name)
  const inside = z.strictObject({ a: z.array(z.date()) })
  assert.throws(() => structural(inside), { message: /^spec\.a\.\[\]: a schema of type date/ })
})
