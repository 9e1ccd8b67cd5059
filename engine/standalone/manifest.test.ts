import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readManifest } from './manifest.ts'
import { mistakes } from './testing/fakes.ts'

const named = (text: string) => [{ name: 'm.yaml', text }]
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && 'kind' in value

test('documents are split where YAML splits them, and their places are those of the whole text', () => {
  const text =
    '# first\napiVersion: v1\nkind: A\ndata: |\n  ---\n  x\n--- # second\r\nkind: B\r\n---\n---\n{ kind: C,\n  a: $X }\n'
  const documents = readManifest(named(text), isObject)!
  assert.deepEqual(
    documents.map(({ value }) => value),
    [{ apiVersion: 'v1', kind: 'A', data: '---\nx\n' }, { kind: 'B' }, null, { kind: 'C', a: '$X' }]
  )
  const places = documents.map(({ position, locate }) => position(locate(['kind'], 'value')))
  assert.deepEqual(
    places.map(({ line, column }) => [line, column]),
    [
      [3, 7],
      [8, 7],
      [9, 1],
      [11, 9]
    ]
  )
})

test('a mistake of syntax is one of its document alone', () => {
  const [first, second] = readManifest(named('apiVersion: v1\nkind: A\n---\nkind: B\na: [\nb: 1\n'), isObject)!
  assert.deepEqual([first?.broken, second?.broken], [false, true])
  const [problem] = second!.problems
  assert.deepEqual(second?.position(problem!.offset), { line: 5, column: 4 })
})

test('a configuration is no manifest, also with a provider that has an apiVersion', () => {
  assert.equal(readManifest(named('llm: { models: [{ name: a, apiVersion: v1 }] }'), isObject), null)
  assert.equal(readManifest(named('kind: A'), isObject), null)
})

test('a file that is neither says so; one mistyped key is a key of a configuration', () => {
  const neither = 'this is neither a configuration of weir nor a manifest of Kubernetes'
  assert.match(mistakes('name: x\nsteps:\n- run: make\n')[0]!, new RegExp(neither))
  assert.equal(mistakes('name: x\nsteps: []\n').length, 1)
  assert.match(mistakes('bindz: []\n')[0]!, /is not a known key/)
  assert.match(mistakes('steps: []\nbinds: []\n')[0]!, /steps/)
})
