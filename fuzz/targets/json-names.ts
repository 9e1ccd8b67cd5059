/** Names that stand twice in an object of a JSON text: found, or not there, as a slower reader says. */
import assert from 'node:assert/strict'
import { repeatedName } from '#engine/kit/json-names.ts'

export const name = 'json-names'

export const dictionary = [
  '{"',
  '":',
  ',"',
  '}',
  '{}',
  '[]',
  '"a"',
  '\\"',
  '\\\\',
  '\\u0061',
  '{"a":1,"a":2}',
  ' ',
  '\t',
  '\n'
]

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}:]/g

export function run(data: Buffer): void {
  const text = data.toString()
  try {
    JSON.parse(text)
  } catch {
    return
  }
  assert.equal(repeatedName(text) !== null, isRepeated([...text.matchAll(TOKEN)].map(([token]) => token)))
}

function isRepeated(tokens: readonly string[]): boolean {
  const objects: Set<string>[] = []
  return tokens.some((token, i) => {
    if (token === '{') objects.push(new Set())
    else if (token === '}') objects.pop()
    else if (token !== ':' && tokens[i + 1] === ':') {
      const known = objects.at(-1)!
      const isKnown = known.has(JSON.parse(token) as string)
      known.add(JSON.parse(token) as string)
      return isKnown
    }
    return false
  })
}
