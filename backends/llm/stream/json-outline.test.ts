/** The outline of JSON, cut anywhere: what is short and in no list is left, byte by byte. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonOutline } from './json-outline.ts'

function outlineOf(text: string, size: number): string {
  const bytes = Buffer.from(text)
  const outline = new JsonOutline()
  let left = ''
  for (let at = 0; at < bytes.length; at += size) {
    // As a connection has it: the bytes are the call's alone.
    const chunk = Buffer.from(bytes.subarray(at, at + size))
    left += outline
      .cut(chunk, 0, chunk.length)
      .map((piece) => piece.toString('latin1'))
      .join('')
    chunk.fill(0)
  }
  return Buffer.from(left, 'latin1').toString()
}

/** The same, by the meaning of the words. */
function naive(value: unknown): unknown {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value)) - 2 > 256 ? '' : value
  if (Array.isArray(value)) return []
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [naive(name), naive(inner)]))
}

test('the outline of any JSON, in pieces of any size', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('\\', '\\"', '[', ']', '"', 'x'.repeat(300), '\\'.repeat(150)))
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 4 }, text, fc.double({ noNaN: true }), fc.boolean(), tie('list'), tie('map')),
    list: fc.array(tie('any')),
    map: fc.dictionary(
      text.filter((name) => name !== '__proto__'),
      tie('any')
    )
  }))
  fc.assert(
    fc.property(value.map, fc.integer({ min: 1, max: 40 }), (body, size) => {
      deepEqual(JSON.parse(outlineOf(JSON.stringify(body), size)), JSON.parse(JSON.stringify(naive(body))))
    }),
    { numRuns: 2000 }
  )
})

test('events keep their lines', () => {
  const text = `event: a\ndata: {"b64":"${'A'.repeat(9999)}","usage":{"n":1}}\n\ndata: [DONE]\n\n`
  equal(outlineOf(text, 7), 'event: a\ndata: {"b64":"","usage":{"n":1}}\n\ndata: []\n\n')
})
