// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the file, not of this code
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSource } from './source.ts'
import { hints, load, mistakes } from './testing/fakes.ts'

function value(text: string, env: Record<string, string>): unknown {
  const source = readSource(text, env)
  assert.deepEqual(source.problems, [])
  return source.value
}

const ENV = { A: 'one', B_2: 'two', PORT: '8080', YES: 'true', EMPTY: '', ODD: 'a: [b] # {c} "', LINES: 'x\ny' }

test('the forms of a reference', () => {
  const table: [text: string, result: unknown][] = [
    ['$A', 'one'],
    ['${A}', 'one'],
    ['x$A-${B_2}y', 'xone-twoy'],
    ['$A$A', 'oneone'],
    ['${NONE:-other}', 'other'],
    ['${A:-other}', 'one'],
    ['${EMPTY:-other}', 'other'],
    ['"${EMPTY}"', ''],
    ['${NONE:-}', null],
    ['$$A', '$A'],
    ['$$$A', '$one'],
    ['$$', '$'],
    ['^/a$', '^/a$'],
    ['a$1', 'a$1'],
    ['$(x)', '$(x)'],
    ['a$', 'a$']
  ]
  for (const [text, result] of table) assert.deepEqual(value(`k: ${text}`, ENV), { k: result }, text)
})

test('password hashes stand for themselves; what is only similar to one does not', () => {
  const hashes = [
    '$2y$05$.paP4xFss/eXtuGfkysCpOJn/Zn01JN10qDE.eWa9oSAX6q8Jpk.S',
    '$2b$10$ApaP4xFss/eXtuGfkysCpOJn/Zn01JN10qDE.eWa9oSAX6q8Jpk.S',
    '$apr1$A$K5F3CsqB3jIGQ3EPBCXgr.',
    '$1$$LP5.V3ajGqHDdXW6XwZQy.',
    '$6$rounds=1000$KwSop/31hp0kF3gF$A2wVRFc2SnvCwlYH5vLDbqlUhO74IZTLHV4bPw0CEEfCz2Yix784nRx5MEDmasja0USiLOpPLKHQgV'
  ]
  for (const hash of hashes) {
    for (const text of [`u:${hash}`, `u:${hash.replaceAll('$', '$$$$')}`]) {
      assert.deepEqual(value(`k: ["${text}", "$A"]`, ENV), { k: [`u:${hash}`, 'one'] }, text)
    }
  }
  assert.deepEqual(value('k: $1$A', ENV), { k: '$1one' })
  assert.deepEqual(value('k: $$apr1$$A$B_2', ENV), { k: '$apr1$Atwo' })
})

test('an unquoted value has the type that it would have in the file, a quoted one is text', () => {
  assert.deepEqual(
    value('[$PORT, ${PORT}0, "$PORT", \'$PORT\', !!str $PORT, $YES, ${X:-1.5}, ${X:-null}, x$PORT]', ENV),
    [8080, 80800, '8080', '8080', '8080', true, 1.5, null, 'x8080']
  )
})

test('a value never changes the structure around it', () => {
  assert.deepEqual(value('a: $ODD\nb: [$ODD, ${X:-c: d}]\nc: { d: ${LINES} }', ENV), {
    a: ENV.ODD,
    b: [ENV.ODD, 'c: d'],
    c: { d: ENV.LINES }
  })
  assert.deepEqual(value('{"a": "$ODD", "$A": "${X:-}"}', ENV), { a: ENV.ODD, one: '' })
})

test('references work in block scalars, in keys and in repeated values', () => {
  assert.deepEqual(value('a: | # $NONE\n  1 $A\n  2 $$\nb: >-\n  $A\n  ${B_2}\nx-$A: &v $PORT\nc: *v\n', ENV), {
    a: '1 one\n2 $\n',
    b: 'one two',
    'x-one': 8080,
    c: 8080
  })
})

test('comments are not looked at, and neither is the key $schema', () => {
  const text = '# yaml-language-server: $schema=./weir.schema.json\n$schema: x # ${NONE} ${\na: 1 # $NONE\n# $NONE'
  assert.deepEqual(value(text, {}), { $schema: 'x', a: 1 })
  assert.deepEqual(value('{"$schema": "x"}', {}), { $schema: 'x' })
})

test('private-use characters of the file itself survive', () => {
  const text = 'a: "\ue000\ue001\ue001$A\ue000"\nb: \ue001\nc: "\\ue000"'
  assert.deepEqual(value(text, ENV), { a: '\ue000\ue001\ue001one\ue000', b: '\ue001', c: '\ue000' })
})

test('a mistake in a reference is reported at its position', () => {
  const text =
    'binds:\n- port: $PORT\n  listeners:\n  - name: "a-${NAME}"\n    hostname: ${HOST:-x$y}\n    routes: ' +
    '[{ name: "${" }, { name: "${a b}" }]\n'
  assert.deepEqual(mistakes(text), [
    '2:9: binds[0].port: environment variable PORT is not set',
    '4:14: binds[0].listeners[0].name: environment variable NAME is not set',
    '5:15: binds[0].listeners[0].hostname: the default of HOST is plain text: it cannot have backslashes and "$"',
    '6:23: binds[0].listeners[0].routes[0].name: "${" is no reference to a variable',
    '6:39: binds[0].listeners[0].routes[1].name: "${a b}" is no reference to a variable'
  ])
  assert.deepEqual(hints(text).slice(0, 1), ['write ${PORT:-default} to give a default, or $$ for a dollar sign'])
})

test('places behind a reference are those of the file, however long the value is', () => {
  assert.deepEqual(mistakes('a: $A\nbinds: [{ port: ${PORT}, lisners: $PORT }]', { A: 'x'.repeat(1000), PORT: '1' }), [
    '1:1: a: is not a known key',
    '2:9: binds[0].listeners: is required',
    '2:26: binds[0].lisners: is not a known key'
  ])
})

test('names that every object has are not variables', () => {
  assert.equal(load('binds: [{ port: $constructor, listeners: [{}] }]', {}).ok, false)
})
