/**
 * The compiler of expressions: any text is compiled or refused with a place inside it, a compiled one runs
 * to a value without throwing, and twice to the same. Nodes lie inside their source.
 */
import assert from 'node:assert/strict'
import type { Expr } from '#engine/cel/ast.ts'
import { Refusal } from '#engine/cel/errors.ts'
import { CelError, compile, explain, type Roots, VARIABLES } from '#engine/cel/index.ts'
import { toJson } from '#engine/cel/json.ts'
import { parse } from '#engine/cel/parser.ts'

export const name = 'cel'

export const dictionary = [
  'request.path',
  'request.headers["a"]',
  'jwt.sub',
  '.?',
  '[?',
  '{?"a": ',
  'has(',
  '.all(x, ',
  '.exists(k, v, ',
  '.map(x, ',
  '.filter(x, ',
  '.transformMap(k, v, ',
  'cel.bind(x, ',
  '.with(x, ',
  'default(',
  'optional.of(',
  '.format([',
  '.matches("',
  'timestamp("',
  'duration("1h")',
  '9223372036854775807',
  '0xffu',
  '1e300',
  'b"\\xff"',
  "r'''",
  '"""',
  '\\U0001F600',
  '`a-b`',
  '&&',
  '||',
  ' in ',
  '? 1 : '
]

const CONTEXT = {
  request: { method: 'POST', path: '/a/b', headers: { a: 'x', b: ['y', 'z'] }, body: '{"a": [1, 2.5, {"b": null}]}' },
  jwt: { sub: 'alice', groups: ['a', 'b'], n: 1, nested: { deep: [{}] } },
  x: [1, 'a', null]
}
const ROOTS: Roots = { ...VARIABLES, x: { type: 'dyn' } }
/** What gives another result every time. */
const CHANCE = /random|uuid/
/** Steps per run: a fuzzer's expressions are hostile, and it wants many of them. */
const STEPS_MAX = 5000

export function run(data: Buffer): void {
  const source = data.toString('utf8').slice(0, 4096)
  checkPlaces(source)
  for (const isLenient of [false, true]) {
    const compiled = compile(source, { roots: ROOTS, isLenient, stepsMax: STEPS_MAX })
    if (!compiled.ok) {
      assert.ok(compiled.problems.length > 0)
      for (const problem of compiled.problems) {
        assert.ok(problem.offset >= 0 && problem.offset <= source.length && problem.length > 0)
        assert.ok(explain(source, problem).includes('^'))
      }
      continue
    }
    const { program } = compiled
    assert.ok(program.cost.steps(1000) > 0)
    const value = program.run(CONTEXT)
    assert.notEqual(value, undefined)
    if (value instanceof CelError) assert.doesNotMatch(value.message, /is not a function|undefined|Maximum call stack/)
    if (!CHANCE.test(source)) assert.deepEqual(toJson(program.run(CONTEXT)), toJson(value))
  }
}

function checkPlaces(source: string): void {
  let tree: Expr
  try {
    tree = parse(source)
  } catch (error) {
    assert.ok(error instanceof Refusal)
    return
  }
  assert.ok(tree.at >= 0 && tree.at < tree.end && tree.end <= source.length)
}
