import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REQUEST_ROOTS } from './exchange.ts'
import { compileExpression } from './expression.ts'

const long = (i: number, chars: number) => `${`request.path == "/${i}" || `.repeat(Math.floor(chars / 30))}true`

test('a long expression is compiled once, and the one kept first makes room for others', () => {
  const compiled = (i: number, chars: number) => compileExpression(long(i, chars), REQUEST_ROOTS)
  const programs = Array.from({ length: 256 }, (_, i) => compiled(i, 4_000))
  for (const [i, program] of programs.entries()) assert.equal(compiled(i, 4_000), program)
  for (let i = 1_000; i < 1_110; i++) compiled(i, 15_000)
  assert.notEqual(compiled(0, 4_000), programs[0])
})
