/** Names that stand twice in one object of a JSON text, compared with a reader that is slow and simple. */
import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { repeatedName } from './json-names.ts'
import { xorshift32 } from './random.ts'

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}:]/g

function slowly(text: string): boolean {
  const objects: Set<string>[] = []
  const tokens = [...text.matchAll(TOKEN)].map(([token]) => token)
  return tokens.some((token, i) => {
    if (token === '{') objects.push(new Set())
    else if (token === '}') objects.pop()
    else if (token !== ':' && tokens[i + 1] === ':') {
      const name = JSON.parse(token) as string
      if (objects.at(-1)!.has(name)) return true
      objects.at(-1)!.add(name)
    }
    return false
  })
}

test('a name that stands twice is found wherever it is and however it is spelled', () => {
  const found: readonly (readonly [text: string, name: string | null])[] = [
    ['{"model":"a","model":"b"}', 'model'],
    ['{"model":"a","mod\\u0065l":"b"}', 'model'],
    ['{"mod\\u0065l":"a","model":"b"}', 'model'],
    ['{"messages":[{"role":"user"},{"role":"user","content":"\\"role\\":","role" : "system"}]}', 'role'],
    ['{"a":{"b":{"a":1}},"b":[{"a":1},{"a":1}],"c":"a"}', null],
    ['{"a":"b","b":"a\\\\"}', null],
    ['{"a\\\\":1,"a\\\\\\\\":2,"a":3}', null],
    ['{"":1,"":2}', ''],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['[]', null],
    ['"a"', null]
  ]
  for (const [text, name] of found) {
    JSON.parse(text)
    equal(repeatedName(text), name, text)
  }
})

test('objects of many names, and of many objects', () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `"n${i}":{"n${i}":[1]}`)
  equal(repeatedName(`{${names.join(',')}}`), null)
  equal(repeatedName(`{${names.join(',')},"n9":0}`), 'n9')
  const deep = '{"a":'.repeat(100_000)
  equal(repeatedName(`${deep}1${'}'.repeat(100_000)}`), null)
  equal(repeatedName(`${deep}1,"a":2${'}'.repeat(100_000)}`), 'a')
})

test('texts that are drawn: the same as the slow reader finds', () => {
  const random = xorshift32(7)
  const below = (count: number) => Math.floor(random() * count)
  const name = () =>
    JSON.stringify(['a', 'b', 'c', 'é', '"', '\\', '\\"', 'ab'][below(8)]! + (below(3) === 0 ? below(40) : ''))
  const value = (depth: number): string => {
    if (depth === 0) return ['1', 'null', '"a"', '"\\\\"', '"{\\"a\\":1"', '"\\u0061"'][below(6)]!
    const members = Array.from({ length: below(below(8) === 0 ? 40 : 4) }, () => value(depth - 1))
    if (below(3) === 0) return `[${members.join(',')}]`
    return `{${members.map((member) => `${name()}${' '.repeat(below(2))}:${member}`).join(' , ')}}`
  }
  let twice = 0
  for (let i = 0; i < 5000; i++) {
    const text = value(3)
    const expected = slowly(text)
    if (expected) twice++
    equal(repeatedName(text) !== null, expected, text)
  }
  ok(twice > 500 && twice < 4500, `${twice}`)
})
