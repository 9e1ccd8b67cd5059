/** Unknown fields go back to where they stood, whatever their names are, and never anywhere else. */
import { deepEqual } from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { Fields, type Writable } from './fields.ts'
import { FORMATS } from './index.ts'
import { lossPath, putBack } from './unknown-fields.ts'

function restored(body: Writable, fields: [path: string, value: Json][], creates = true): [Writable, string[]] {
  const lost: string[] = []
  putBack(body, fields, creates, (path) => lost.push(path))
  return [body, lost]
}

test('names with signs of a path are names', () => {
  const input = JSON.parse('{"a.b":1,"a[0]":2,"":3,"a\\"b":4,"__proto__":5,"a":{"b":6}}') as JsonObject
  const unknown = new Map<string, Json>()
  new Fields(input, '').leaveUnknown(unknown)
  const [body] = restored({ a: { c: 7 } }, [...unknown])
  deepEqual(body, JSON.parse('{"a":{"c":7,"b":6},"a.b":1,"a[0]":2,"":3,"a\\"b":4,"__proto__":5}'))
  deepEqual([...unknown.keys()].map(lossPath), ['a.b', 'a[0]', '', 'a"b', '__proto__', 'a'])
  deepEqual(lossPath('x[0]["a.b"]'), 'x[0].a.b')
})

test('elements go back to their indexes before fields count them', () => {
  const fields: [string, Json][] = [
    ['list[3].x', 1],
    ['list[2].list[0]', 'c'],
    ['list[2]', { list: ['d'] }],
    ['list[0]', 'a']
  ]
  deepEqual(restored({ list: ['b', {}] }, fields), [{ list: ['a', 'b', { list: ['c', 'd'] }, { x: 1 }] }, []])
})

test('objects that are missing are made, elements are not', () => {
  const fields: [string, Json][] = [
    ['made.inner.x', 1],
    ['made.list[0]', 2],
    ['list[0].x', 3],
    ['made.other[1].x', 4]
  ]
  deepEqual(restored({}, fields), [{ made: { list: [2], inner: { x: 1 } } }, ['list[0].x', 'made.other[1].x']])
  deepEqual(restored({}, fields, false)[0], {})
})

/** `cohereV2` is in `cohere-v2`. */
const folderOf = (format: string) => format.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

test('every format has the same files', () => {
  const ofProviders = [
    'index',
    'request-write',
    'content-read',
    'content-write',
    'answer',
    'stream-read',
    'usage',
    'guarded-texts'
  ]
  const ofClients = ['request-read', 'stream-write']
  for (const [format, { name, ...sides }] of Object.entries(FORMATS)) {
    deepEqual(name, format)
    const wanted = !('readRequest' in sides) ? ofProviders : [...ofProviders, ...ofClients]
    const found = new Set(readdirSync(new URL(`./${folderOf(format)}`, import.meta.url)))
    deepEqual([format, wanted.filter((name) => !found.has(`${name}.ts`))], [format, []])
  }
})
