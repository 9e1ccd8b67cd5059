import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redact } from './redact.ts'
import { unexpander } from './unexpand.ts'

const of = (written: string, value: string, ...variables: [string, string][]) => ({
  written,
  value,
  variables: variables.map(([name, text]) => ({ written: name, value: text }))
})

test('a text that came from the environment is what the file has, whole or as a part, however it is spelled', () => {
  const unexpand = unexpander([
    of('$A', 'canary-one', ['$A', 'canary-one']),
    of('x-$LONG', 'x-canary-one-two', ['$LONG', 'canary-one-two']),
    of('$PIN', '1$&', ['$PIN', '1$&']),
    of('$ODD', ' ca"nary\nof two ', ['$ODD', ' ca"nary\nof two ']),
    of('$$5', '$5')
  ])!
  const table = [
    ['canary-one', '$A'],
    ['a canary-one and canary-one-two', 'a $A and $LONG'],
    ['x-canary-one-two', 'x-$LONG'],
    ['1$&', '$PIN'],
    ['121$&', '121$&'],
    ['ca"nary\nof two', '$ODD'],
    ['"ca\\"nary\\nof two"', '"$ODD"'],
    ['/ca%22nary%0Aof%20two', '/$ODD'],
    ['only of two', 'only $ODD'],
    ['$5', '$5'],
    ['', '']
  ]
  for (const [text, shown] of table) assert.equal(unexpand(text!), shown)
  assert.equal(unexpander([of('$$5', '$5')]), null)
})

test('addresses stay what they are, and so do the fields of a Snapshot', () => {
  const unexpand = unexpander([of('$A', 'policies', ['$A', 'policies']), of('$B', 'b-canary', ['$B', 'b-canary'])])
  const value = { host: 'policies', hostnames: ['b-canary'], policies: { set: { 'b-canary': 'x', y: ['b-canary'] } } }
  assert.deepEqual(redact(value, unexpand), {
    host: 'policies',
    hostnames: ['b-canary'],
    policies: { set: { $B: 'x', y: ['$B'] } }
  })
})
