import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { References } from '#engine/standalone/expand.ts'
import { readSource } from '#engine/standalone/source.ts'
import { readEvents } from '#engine/standalone/source-events.ts'
import { compare } from './yaml.ts'

const ENV = { A: '8080', B: '.inf', TEXT: 'a: [b] # c', EMPTY: '' }

const readShort = (text: string) => readEvents(text, new References(text), ENV)?.value

test('both ways read every good file of the tests to the same values in the same places', () => {
  const folders = ['../../engine/standalone/testdata/', '../corpus/config/', '../corpus/yaml/']
  const texts = folders.flatMap((folder) => {
    const url = new URL(folder, import.meta.url)
    return readdirSync(url).map((name) => readFileSync(new URL(name, url), 'utf8'))
  })
  const short = texts.filter((text) => compare(text, ENV)).length
  assert.ok(short >= 9, `${short} of ${texts.length} were read the short way`)
})

test('both readers read texts made of pieces of YAML alike', () => {
  const text = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 14 }).map((parts) => parts.join(''))
  let short = 0
  fc.assert(
    fc.property(text, (made) => {
      if (compare(made, ENV)) short++
    }),
    { numRuns: 5000 }
  )
  assert.ok(short > 100, `${short} were read the short way`)
})

const PIECES = [
  ...['a: ', 'b: ', 'c:\n  ', '\n', '\n  ', '\n- ', '\n  - ', 'word', 'e f', '1', '"q"', "'s'", '"q\n  r"', '[1, 2]'],
  ...['{a: 1}', '[\n', ']', ', ', ' # c', '|\n', '>-\n', '  t\n', '\n\n', ': ', ' ', '? ', 'x ? y : z', '&n ', '*n']
]

test('usual files are read on the fast path', () => {
  const table: [text: string, value: unknown][] = [
    ['a: 012\nb: 0o17\nc: 0x1F\nd: 1_000\ne: -0', { a: 12, b: 15, c: 31, d: '1_000', e: -0 }],
    ['[yes, no, on, off, y, n]', ['yes', 'no', 'on', 'off', 'y', 'n']],
    ['[true, True, TRUE, tRue, null, Null, ~, nul]', [true, true, true, 'tRue', null, null, null, 'nul']],
    ['[2001-01-01, 12:30:45, 1e3, 1., .5, +1, 1.2.3]', ['2001-01-01', '12:30:45', 1000, 1, 0.5, 1, '1.2.3']],
    ['[.inf, -.Inf, +.INF, .nan, -.nan]', [Infinity, -Infinity, Infinity, Number.NaN, '-.nan']],
    ['a:\nb: ~\nc: ""\nd: # none\ne: {}', { a: null, b: null, c: '', d: null, e: {} }],
    ['a: |\n  x\n   y\n\n  z\n\nb: 1', { a: 'x\n y\n\nz\n', b: 1 }],
    [
      'a: |-\n  x\n\nb: |+\n  y\n\nc: >\n  z\n  z\n\n  z\nd: >- # |\n  w',
      { a: 'x', b: 'y\n\n', c: 'z z\nz\n', d: 'w' }
    ],
    [
      'a: several words\n  on two lines\nb: "x\n  y"\nc: \'x\n\n  y\'',
      { a: 'several words on two lines', b: 'x y', c: 'x\ny' }
    ],
    [
      'a: { b: [1, "2", {c: d}], "e":1 }\nf: [\n  g,\n  h: i\n  ]',
      { a: { b: [1, '2', { c: 'd' }], e: 1 }, f: ['g', { h: 'i' }] }
    ],
    ['a: x ? y\nb: "? c"', { a: 'x ? y', b: '? c' }],
    ['---\na: 1\n', { a: 1 }],
    ['\ufeffa: 1\r\nb:\r\n- x\r\n', { a: 1, b: ['x'] }],
    ['{\n\t"a": [\n\t\t1\n\t]\n}', { a: [1] }],
    ['a: &x { b: 1 }\nc: *x\n<<: *x', { a: { b: 1 }, c: { b: 1 }, '<<': { b: 1 } }],
    [
      `a: $A\nb: "$A"\nc: x\${A}y$$\nd: $TEXT\ne: [$EMPTY, $B]\n$A: |\n  $A # $A\n`,
      {
        ...{ a: 8080, b: '8080', c: 'x8080y$', d: 'a: [b] # c', e: [null, '.inf'], '8080': '8080 # 8080\n' }
      }
    ],
    ['"$schema": x\nconstructor: 1\ntoString: 2', { $schema: 'x', constructor: 1, toString: 2 }],
    ['- a\n-  - b\n   - c\n- d: 1\n  e: 2', ['a', ['b', 'c'], { d: 1, e: 2 }]],
    ["a: \"\\x41\\u00e9\\U0001F600\\n\\/\"\nb: 'it''s'", { a: 'Aé😀\n/', b: "it's" }]
  ]
  for (const [text, value] of table) {
    assert.deepStrictEqual(readShort(text), value, text)
    assert.equal(compare(text, ENV), true, text)
  }
})

test('odd or wrong texts are left to the full parser', () => {
  const table = [
    ...[
      '',
      '# nothing',
      'a',
      '5',
      '|\n  x',
      'a: 1\na: 2',
      '__proto__: 1',
      'a: 1\n---\nb: 2',
      'a: 1\n...\n',
      '--- {a: 1}'
    ],
    ...[
      '%YAML 1.2\n---\na: 1',
      'a: !!str 1',
      'a: !x 1',
      '? a\n: 1',
      '{ ? a : 1 }',
      '? [a]\n: 1',
      '[a]: 1',
      '&a b: 1',
      '*a : 1'
    ],
    ...[
      'a: *b',
      'a: &a [*a]',
      'a: &x: 1',
      'a: &x{b: 1}',
      'a:\n- {} b: 1',
      '- {\n  }- b',
      '- \t&a x',
      'a: b: c',
      'a: "b',
      'a: [1',
      'a:\n\tb: 1',
      'a:\n  - x\n -y'
    ],
    ...[
      '- a\n-\n- b',
      'a: \ufffd',
      'a: 1\rb: 2',
      'a: "x\\\n\n  y"',
      '- |+\n\n  ',
      'a: |2\n    x',
      'a: $NOT_SET',
      'a: ${',
      'a: "\\q"',
      'a: 1\0'
    ],
    ...[' ---\na: 1', '{ a # b\n  :c }', `${'k'.repeat(1001)}: 1`, `a: ${'['.repeat(120)}${']'.repeat(120)}`]
  ]
  for (const text of table) {
    assert.equal(readShort(text), undefined, text)
    const { problems, value } = readSource(text, ENV)
    assert.ok(problems.length > 0 || value !== undefined, text)
  }
})

test('an alias bomb is left to the thorough way, which refuses it', () => {
  const levels = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(', ')}]`)
  assert.equal(readShort(`a0: &a0 [1, 2]\n${levels.join('\n')}`), undefined)
})
