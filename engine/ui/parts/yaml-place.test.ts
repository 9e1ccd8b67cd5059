import { deepEqual, equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { aboutAt, keysAt, type SchemaNode, valuesAt } from './schema-place.ts'
import { placeIn, type YamlPlace } from './yaml-place.ts'

/** The place of "|" in the text. */
function at(text: string): YamlPlace {
  return placeIn(text.replace('|', ''), text.indexOf('|'))
}
const pathOf = (text: string) =>
  at(text)
    .path.map((step) => step ?? '-')
    .join(' ')

const FILE = `config:
  adminAddr: x
binds:
  - port: 80
    listeners:
    - name: a
      # a comment
      routes:
        - name: r
          policies:
            cors: { allowOrigins: ['*'] }
`

test('a place is found by indentation, with lists as far left as their key or farther', () => {
  deepEqual(at('b|'), { path: [], kind: 'key', word: 'b' })
  equal(pathOf('config:\n  |'), 'config')
  equal(pathOf(`${FILE}            |`), 'binds - listeners - routes - policies')
  equal(pathOf(`${FILE}          ba|`), 'binds - listeners - routes -')
  equal(pathOf(`${FILE}        - |`), 'binds - listeners - routes -')
  equal(pathOf(`${FILE}      |`), 'binds - listeners -')
  equal(pathOf(`${FILE}    - |`), 'binds - listeners -')
  equal(pathOf(`${FILE}    |`), 'binds -')
  equal(pathOf(`${FILE}  - |`), 'binds -')
  equal(pathOf(`${FILE}|`), '')
})

test('what stands behind a key is its value', () => {
  deepEqual(at('config:\n  adminAddr: lo|'), { path: ['config', 'adminAddr'], kind: 'value', word: 'lo' })
  deepEqual(at('a:\n  - b: |'), { path: ['a', null, 'b'], kind: 'value', word: '' })
})

test('brackets in the line are gone into, and out of', () => {
  deepEqual(at('a: { b: 1, c|'), { path: ['a'], kind: 'key', word: 'c' })
  deepEqual(at('a: [{ b: { c: |'), { path: ['a', null, 'b', 'c'], kind: 'value', word: '' })
  deepEqual(at('a: [{ b: 1 }, { |'), { path: ['a', null], kind: 'key', word: '' })
  deepEqual(at('a: { b: { c: 1 }, d|'), { path: ['a'], kind: 'key', word: 'd' })
  deepEqual(at('- { "x y": |'), { path: [null, 'x y'], kind: 'value', word: '' })
})

test('any text has a place', () => {
  for (const text of ['|', '- |', '{ }, ]|', '[[[|', '}}}|', ': |', '- - a:\n    |', '"a|', 'a: "b, c|', '\t|'])
    ok(Array.isArray(at(text).path), text)
})

const schema: SchemaNode = JSON.parse(
  readFileSync(new URL('../../standalone/weir.schema.json', import.meta.url), 'utf8')
)

test('the schema of the file knows keys, values and what they are about', () => {
  const labels = (path: readonly (string | null)[]) => keysAt(schema, path).map(({ label }) => label)
  ok(['binds', 'config', 'llm', 'keys'].every((key) => labels([]).includes(key)))
  const route = ['binds', null, 'listeners', null, 'routes', null] as const
  ok(['matches', 'policies', 'backends'].every((key) => labels(route).includes(key)))
  ok(labels([...route, 'policies']).includes('cors'))
  ok(labels([...route, 'matches', null, 'path']).includes('pathPrefix'))
  ok(valuesAt(schema, ['binds', null, 'listeners', null, 'protocol']).some(({ label }) => label === 'HTTPS'))
  ok(aboutAt(schema, ['config'])!.length > 5)
  equal(aboutAt(schema, ['nothing']), null)
  deepEqual(keysAt(schema, ['nothing', null]), [])
})
