/** OpenAPI documents in YAML: their values, mistakes by line, and time that is linear in their size. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FileSources } from '#engine/standalone/file-sources.ts'
import { assertLinear } from '#engine/testing/cpu.ts'
import { readDocument } from './read-document.ts'

const read = (text: string): unknown => readDocument(text, new FileSources('/'))
const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n')
const deep = (levels: number): string => lines(levels, (i) => `${' '.repeat(i)}a:`)

/** n lines or so; with a directive ahead they are read the long way. */
const SHAPES: Readonly<Record<string, (n: number) => string>> = {
  keys: (n) => lines(n, (i) => `a${i}: 1`),
  'keys of one line': (n) => `a: { ${lines(n, (i) => `a${i}: 1,`)} }`,
  'keys that are given twice': (n) => lines(n, () => 'a: 1'),
  'anchors and aliases': (n) => `${lines(n, (i) => `a${i}: &x${i} 1`)}\n${lines(n, (i) => `b${i}: *x${i}`)}`,
  'one anchor again and again': (n) => `${lines(n, (i) => `a${i}: &x 1`)}\n${lines(n, (i) => `b${i}: *x`)}`,
  'aliases of nothing': (n) => lines(n, (i) => `a${i}: *x${i}`),
  'merge keys': (n) => `a: &a { x: 1 }\n${lines(n, (i) => `b${i}:\n  <<: *a`)}`,
  'a long text': (n) => `a: ${'word '.repeat(20 * n)}end`,
  'a text of many lines': (n) => `a: "${lines(n, () => '  word \\\\ word  ')}"\nb: >\n${lines(n, () => '  word  ')}`,
  'blanks and comments': (n) => `a: x${' '.repeat(20 * n)}y\n${'\n'.repeat(10 * n)}${lines(n, () => '# c')}\nb: 1 # c`,
  'mistakes of syntax': (n) => lines(n, (i) => `a${i}: [}`),
  'keys that are asked for': (n) => lines(n, (i) => `? a${i}\n: 1`)
}

describe('the time to read YAML is linear in its size', () => {
  for (const [what, text] of Object.entries(SHAPES)) {
    for (const [way, ahead] of [
      ['the short way', ''],
      ['the long way', '%YAML 1.2\n---\n']
    ]) {
      it(`${what}, ${way}`, () => {
        assertLinear(what, /^keys(?: of|$)/.test(what) ? 400 : 80, (n) => {
          try {
            read(ahead + text(n))
          } catch (error) {
            // Mistakes are Errors with a place; a parser that gives up is none.
            if (!/ at line \d+, column \d+$/.test((error as Error).message)) throw error
          }
        })
      })
    }
  }
})

describe('YAML of a document', () => {
  it('is plain values: nothing in it is a variable', () => {
    const text = "openapi: 3.0.3\nx: $HOME\ny: &a [1, 0x10, ~, true, '2']\nz: *a\nwhen: 2020-01-01\n"
    const list = [1, 16, null, true, '2']
    deepEqual(read(text), { openapi: '3.0.3', x: '$HOME', y: list, z: list, when: '2020-01-01' })
    deepEqual(read(`%YAML 1.2\n---\n${text}`), read(text))
  })

  it('reports mistakes at their place', () => {
    const refused = (text: string, message: RegExp): void => throws(() => read(text), message)
    refused('openapi: 3.0.3\npaths: 1\npaths: 2\n', /^Error: the document: is given twice at line 3, column 1$/)
    refused('a: *b', /there is no anchor "b" above this alias at line 1, column 4/)
    refused('a: [}', /at line 1, column \d+$/)
    refused(deep(200), /nested deeper than 100 levels|nested too deeply/)
    refused('[1]', /is no OpenAPI document/)
  })

  it('may grow by its aliases, within a bound', () => {
    const laughs = lines(
      12,
      (i) =>
        `a${i}: &a${i} [${
          i === 0
            ? 'x'
            : Array(9)
                .fill(`*a${i - 1}`)
                .join()
        }]`
    )
    throws(() => read(laughs), /aliases add more than 100000 values/)
    equal(Object.keys(read(lines(2, (i) => `a${i}: &a${i} {}`)) as object).length, 2)
  })
})
