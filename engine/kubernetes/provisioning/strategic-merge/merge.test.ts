/** A few of each rule; the tables of the original, and an API server, are compared in the conformance run. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Raw } from '#engine/schema/placed.ts'
import { PatchError } from './directives.ts'
import { strategicMerge } from './merge.ts'
import { PatchSchema } from './patch-schema.ts'

const SCHEMA = new PatchSchema(
  {
    Pod: {
      containers: { strategy: 'merge', mergeKey: 'name', of: 'Container' },
      finalizers: { strategy: 'merge' },
      source: { strategy: 'replace' },
      keyless: { strategy: 'merge' }
    },
    Container: { env: { strategy: 'merge', mergeKey: 'name' } }
  },
  'Pod'
)

const merge = (original: Raw, patch: Raw) => strategicMerge(original, patch, SCHEMA)

/** Original, patch, result. */
const CASES: Readonly<Record<string, readonly [Raw, Raw, Raw]>> = {
  'scalars overwrite, null removes': [{ a: 1, b: 2 }, { a: 3, b: null, c: null }, { a: 3 }],
  'maps merge': [{ map: { a: 1, b: 2 } }, { map: { b: 3, c: { d: null } } }, { map: { a: 1, b: 3, c: {} } }],
  'lists without a key are replaced': [{ args: ['a', 'b'] }, { args: ['c'] }, { args: ['c'] }],
  'lists with a key merge; new items stand in front of those that the patch does not name': [
    { containers: [{ name: 'a', image: '1', env: [{ name: 'X', value: '1' }] }] },
    { containers: [{ name: 'b' }, { name: 'a', env: [{ name: 'Y' }] }] },
    { containers: [{ name: 'b' }, { name: 'a', image: '1', env: [{ name: 'Y' }, { name: 'X', value: '1' }] }] }
  ],
  'an item is deleted by its key': [
    { containers: [{ name: 'a' }, { name: 'b' }] },
    { containers: [{ name: 'a', $patch: 'delete' }] },
    { containers: [{ name: 'b' }] }
  ],
  'a list is replaced': [
    { containers: [{ name: 'a' }] },
    { containers: [{ name: 'b' }, { $patch: 'replace' }] },
    { containers: [{ name: 'b' }] }
  ],
  'a map is replaced, or emptied': [
    { a: { b: 1 }, c: { d: 1 } },
    { a: { $patch: 'replace', e: 1 }, c: { $patch: 'delete' } },
    { a: { e: 1 }, c: {} }
  ],
  'a map that is replaced as a whole': [{ source: { a: 1 } }, { source: { b: 1 } }, { source: { b: 1 } }],
  'only retained keys stay': [
    { map: { a: 1, b: 2 } },
    { map: { $retainKeys: ['b', 'c'], c: 3 } },
    { map: { b: 2, c: 3 } }
  ],
  'texts of a list are added and deleted': [
    { finalizers: ['a', 'b'] },
    { '$deleteFromPrimitiveList/finalizers': ['a'], finalizers: ['c', 'b'] },
    { finalizers: ['c', 'b'] }
  ],
  'an order is set': [
    { containers: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
    { '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }] },
    { containers: [{ name: 'b' }, { name: 'c' }, { name: 'a' }] }
  ],
  'a key that is the name of a prototype is a key': [
    JSON.parse('{ "map": { "a": 1 } }'),
    JSON.parse('{ "map": { "__proto__": { "b": 1 } } }'),
    JSON.parse('{ "map": { "a": 1, "__proto__": { "b": 1 } } }')
  ]
}

for (const [name, [original, patch, result]] of Object.entries(CASES)) {
  test(name, () => {
    const before = structuredClone({ original, patch })
    assert.deepEqual(Object.entries(merge(original, patch)), Object.entries(result))
    assert.deepEqual({ original, patch }, before)
  })
}

/** Original, patch, path, what is said. */
const REFUSED: readonly (readonly [Raw, Raw, string, RegExp])[] = [
  [{}, { $patch: 'merge' }, '$patch', /delete or replace/],
  [{ a: {} }, { a: { $patch: 1 } }, 'a.$patch', /delete or replace/],
  [{ containers: [] }, { containers: [{ image: 'a' }] }, 'containers', /name in each/],
  [{ containers: [{ name: 'a' }] }, { containers: ['a'] }, 'containers', /one type/],
  [{ containers: [] }, { containers: [{ name: 'a', $patch: 'merge' }] }, 'containers.0.$patch', /delete or replace/],
  [{ keyless: [{}] }, { keyless: [{}] }, 'keyless', /no key/],
  [{ map: {} }, { map: { $retainKeys: ['a'], b: 1 } }, 'map.$retainKeys', /must have b/],
  [{}, { $retainKeys: 'a' }, '$retainKeys', /list/],
  [{}, { $setElementOrder: [] }, '$setElementOrder', /\/FIELD/],
  [
    { finalizers: ['a'] },
    { '$setElementOrder/finalizers': ['b', 'c'], finalizers: ['c', 'b'] },
    '$setElementOrder/finalizers',
    /in their order/
  ]
]

for (const [original, patch, path, says] of REFUSED) {
  test(`refused: ${JSON.stringify(patch)}`, () => {
    assert.throws(
      () => merge(original, patch),
      (error) => error instanceof PatchError && error.path.join('.') === path && says.test(error.message)
    )
  })
}

test('a patch that is nested too deeply is refused, and overflows no stack', () => {
  const deep = (levels: number): Raw => {
    let value: Raw = {}
    for (let i = 0; i < levels; i++) value = { a: value }
    return value
  }
  assert.throws(() => merge(deep(10_000), deep(10_000)), /levels deep/)
  assert.throws(() => merge({}, deep(10_000)), /levels deep/)
})
