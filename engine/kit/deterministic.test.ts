import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { assertLinear } from '#engine/testing/cpu.ts'
import { deterministic } from './deterministic.ts'

test('patterns that cannot backtrack in vain go to the engine of JavaScript, others do not', () => {
  for (const source of [
    '^/api/v[0-9]+/users/[^/]+$',
    'abc',
    '^a*b*c*$',
    '^.*\\.js$',
    '^[a-z]+-\\d+',
    '\\.css$',
    '^a?b'
  ]) {
    assert.notEqual(deterministic(source), null, source)
  }
  const others = [
    '^(a+)+$',
    'a|b',
    '(?i)a',
    '[0-9]+x',
    '^.*a.*b',
    '^a{2}',
    '^a+?b',
    '\\bx',
    '^a?a?a?',
    '[[:alpha:]]',
    '\\pL',
    'é',
    '^a*a*',
    '\\x41',
    '[z-a]',
    '[a',
    '^[^a]*[^b]*c+$',
    'a\\'
  ]
  for (const source of others) assert.equal(deterministic(source), null, source)
})

test('both engines find the same', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    '.',
    '\\d',
    '\\w',
    '[a-c]',
    '[^a]',
    '[\\d-]',
    '[]a]',
    '[^^-]',
    '\\.',
    '-',
    '/',
    '_'
  )
  const sign = fc.constantFrom('', '', '', '*', '+', '?')
  const pattern = fc
    .tuple(fc.constantFrom('', '^'), fc.array(fc.tuple(piece, sign), { maxLength: 6 }), fc.constantFrom('', '$'))
    .map(([start, parts, end]) => start + parts.map((part) => part.join('')).join('') + end)
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', 'c', '1', '.', '-', '/', '_', '^', ']', '\n', '\r', 'é', '😀'),
    maxLength: 12
  })
  let compared = 0
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 5, maxLength: 5 }), (source, texts) => {
      const fast = deterministic(source)
      if (fast === null) return
      const re2 = RE2JS.compile(source)
      for (const one of texts) assert.equal(fast.test(one), re2.test(one), `${source} on ${JSON.stringify(one)}`)
      compared++
    }),
    { numRuns: 3000 }
  )
  assert.ok(compared > 500, `only ${compared} patterns were deterministic`)
})

test('the worst text for an accepted pattern takes linear time', () => {
  for (const [source, text] of [
    ['^a*b*c*$', 'abc'],
    ['^.*xyz$', 'xy'],
    ['^[a-z]+-[0-9]+-.*!$', 'a']
  ] as const) {
    const pattern = deterministic(source)!
    assertLinear(source, 20_000, (size) => assert.equal(pattern.test(`${text.repeat(size)}\n`), false))
  }
})
