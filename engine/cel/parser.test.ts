import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from './errors.ts'
import { compile } from './index.ts'
import { HEIGHT_MAX, parse, SOURCE_UNITS_MAX } from './parser.ts'
import { evaluate, shown } from './testing/evaluate.ts'

function refusal(source: string): Refusal {
  try {
    parse(source)
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return error
  }
  assert.fail(`accepted: ${source.slice(0, 80)}`)
}

test('every node knows where it stands', () => {
  const tree = parse('  a.b + [1, f(x)][0] ')
  assert.equal(tree.kind, 'binary')
  assert.ok(tree.kind === 'binary')
  assert.deepEqual([tree.at, tree.end, tree.opAt], [2, 20, 6])
  assert.deepEqual([tree.left.at, tree.left.end], [2, 5])
  assert.ok(tree.right.kind === 'index' && tree.right.operand.kind === 'list')
  assert.deepEqual([tree.right.at, tree.right.operand.end], [8, 17])
  const call = tree.right.operand.items[1]!.value
  assert.ok(call.kind === 'call')
  assert.deepEqual([call.at, call.nameAt, call.end], [12, 12, 16])
})

test('operators bind as the grammar says', () => {
  const CASES: readonly (readonly [string, string])[] = [
    ['1 + 2 * 3 - 4 / 2', '5'],
    ['(1 + 2) * 3', '9'],
    ['2 * 3 % 4', '2'],
    ['-2 - -3', '1'],
    ['!true || true && false == false', 'true'],
    ['true ? 1 : false ? 2 : 3', '1'],
    ['1 < 2 == true', 'true'],
    ['1 in [1] && !(2 in [1])', 'true'],
    ['-[1][0]', '-1'],
    ['- 5', '-5']
  ]
  for (const [source, result] of CASES) assert.equal(shown(source), result, source)
})

test('literals', () => {
  const CASES: readonly (readonly [string, string])[] = [
    ['0x7FFFFFFFFFFFFFFF == 9223372036854775807', 'true'],
    ['-9223372036854775808 == -0x7FFFFFFFFFFFFFFF - 1', 'true'],
    ['18446744073709551615u', '"18446744073709551615"'],
    ['.5 + 1e-1', '0.6'],
    [`'a\\n\\x41\\u00e9\\U0001F600\\101'`, '"a\\nAé😀A"'],
    [`r'a\\n'`, '"a\\\\n"'],
    [`"""a"b\n""" + '''c'd'''`, `"a\\"b\\nc'd"`],
    [`b'\\xff\\377' == b"\\xff\\xff"`, 'true'],
    [`rb'\\x' == b'\\\\x' && bR"a" == b'a'`, 'true'],
    ['[1, 2,] == [1, 2] && {"a": 1,} == {"a": 1}', 'true'],
    ['1 // one\n + 1', '2'],
    ['{"a-b": 1}.`a-b`', '1'],
    ['[?optional.none(), 1, ?optional.of(2)]', '[1,2]'],
    ['{?"a": optional.none(), "b": 1}', '{"b":1}'],
    ['{"a": {"b": 1}}.?a.?b.orValue(0) + [1][?5].orValue(3)', '4']
  ]
  for (const [source, result] of CASES) assert.equal(shown(source), result, source)
})

test('an invalid literal is refused at its position', () => {
  const CASES: readonly (readonly [source: string, offset: number, message: RegExp])[] = [
    ['9223372036854775808', 0, /larger than 64 bits/],
    ['18446744073709551616u', 0, /larger than 64 bits/],
    ['1e999', 0, /larger than any double/],
    ['1 + 12ab', 4, /not a number/],
    ['"a\\q"', 2, /no such escape/],
    ['"\\ud800"', 1, /surrogate/],
    ['"\\U00110000"', 1, /no such character/],
    ['b"\\u0041"', 2, /no \\u escapes/],
    ['"a\nb"', 0, /without its closing/],
    ['a.`b', 2, /closing backtick/],
    ['a.`$`', 2, /letters, digits/],
    ['', 0, /empty/],
    ['f(1,)', 4, /expected an argument/],
    ['a.true', 2, /expected a field/],
    ['{a}', 2, /expected ":"/],
    ['1 2', 2, /expected an operator/],
    ['[1].all(x + 1, true)', 8, /simple name/],
    ['[1].all(x, x, true)', 11, /given twice/],
    ['é', 0, /unexpected character "é"/]
  ]
  for (const [source, offset, message] of CASES) {
    const { problem } = refusal(source)
    assert.equal(problem.offset, offset, source)
    assert.match(problem.message, message, source)
  }
})

test('depth has a limit before the stack has one', () => {
  const deep: readonly ((depth: number) => string)[] = [
    (depth) => `${'('.repeat(depth)}1${')'.repeat(depth)}`,
    (depth) => '['.repeat(depth) + ']'.repeat(depth),
    (depth) => `${'-'.repeat(depth)}a`,
    (depth) => `${'!'.repeat(depth)}true`,
    (depth) => `a${'.b'.repeat(depth)}`,
    (depth) => `a${'[0]'.repeat(depth)}`,
    (depth) => `1${' + 1'.repeat(depth)}`,
    (depth) => `${'true ? 1 : '.repeat(depth)}1`,
    (depth) => `${'f('.repeat(depth)}1${')'.repeat(depth)}`,
    (depth) => `${'{1:'.repeat(depth)}1${'}'.repeat(depth)}`
  ]
  for (const make of deep) {
    assert.match(refusal(make(1200)).problem.message, /nested deeper/)
    assert.ok(parse(make(100)))
  }
  assert.equal(refusal(`${'-'.repeat(HEIGHT_MAX + 1)}a`).problem.message, `nested deeper than ${HEIGHT_MAX} levels`)
  assert.match(refusal('a'.repeat(SOURCE_UNITS_MAX + 1)).problem.message, /longer than/)
})

test('the deepest expression that is accepted also runs', () => {
  const source = `${'['.repeat(HEIGHT_MAX - 1)}1${']'.repeat(HEIGHT_MAX - 1)}`
  const compiled = compile(`toJson(x) == ''`, { roots: { x: { type: 'dyn' } } })
  assert.ok(compiled.ok)
  const value = evaluate(source)
  assert.equal(compiled.program.run({ x: value }), false)
})

test('a long list of cases is not deep', () => {
  const cases = Array.from({ length: 1000 }, (_, i) => `x == ${i}`).join(' || ')
  assert.equal(evaluate(cases, { x: 999 }), true)
  assert.equal(evaluate(cases, { x: 1000 }), false)
})
