import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionsOf, lineOf, scan } from './scan.ts'

/** 'name first-last' of every function in the source. */
function functions(source: string): string[] {
  const { code } = scan(source)
  return functionsOf(code).map((f) => `${f.name} ${lineOf(source, f.start)}-${lineOf(source, f.bodyEnd)}`)
}

test('comments, strings, templates and regular expressions are blank in code, and keep their places', () => {
  const source = `a("b\\"c") // d\n/* e */ f(\`g\${h}i\`, /[/"]j/)\n`
  const { code, comments } = scan(source)
  assert.equal(code, 'a("    ")     \n        f(`  {h} `, /     /)\n')
  assert.equal(comments, '          // d\n/* e */                     \n')
})

test('a slash after a value divides', () => {
  assert.equal(scan('a / b / c').code, 'a / b / c')
  assert.equal(scan('f(x) / 2 / n[0] / 3').code, 'f(x) / 2 / n[0] / 3')
  assert.equal(scan('return /b/').code, 'return / /')
  assert.equal(scan('x = /b/g').code, 'x = / /g')
  // JSX.
  assert.equal(scan('<b>{c}</b> // d').code, '<b>{c}</b>     ')
})

test('templates nest', () => {
  assert.equal(scan('`a$' + '{ {b: `c$' + '{d}`} }e` + f').code, '`  { {b: `  {d}`} } ` + f')
})

test('functions, methods, accessors and arrows are found with their names', () => {
  const source = [
    'export async function one<T>(a: T): Promise<Map<string, T>> {',
    '  if (a) {',
    '  } else {',
    '  }',
    '}',
    'class A extends B(C) {',
    '  get two(): number {',
    '    return 1',
    '  }',
    '  async *three(): AsyncGenerator<{ a: number }> {',
    '  }',
    '}',
    'const four = (a: string): { b: string } => {',
    '  for (const c of a) {}',
    '}',
    'export const five = { six: async (ex) => run(ex,',
    '  1), seven: 2 }'
  ].join('\n')
  assert.deepEqual(functions(source), ['one 1-5', 'two 7-9', 'three 10-11', 'four 13-15', 'six 16-17'])
})

test('blocks that are no functions are not taken for some', () => {
  const blocks = [
    'while (a) {\n}',
    'switch (a) {\ncase f(b): {\n} }',
    'try {\n} catch (e) {\n} finally {\n}',
    'for await (const a of b) {\n}',
    'const a = b(c) ? d(e) : {\n}',
    'interface A {\n}\nenum B {\n}',
    'export {\n}',
    'import { a } from "b"'
  ]
  for (const block of blocks) assert.deepEqual(functions(block), [], block)
})

test('an unfinished file is scanned to its end', () => {
  for (const source of ['`a$' + '{', '"a', '/* a', '/a', 'f({', '`'])
    assert.equal(scan(source).code.length, source.length)
})
