/** Prompt guards: a text that arrives in pieces, however it is cut, is masked as the whole of it; JSON stays JSON. */
import assert from 'node:assert/strict'
import { BUILTIN_NAMES } from '#engine/kit/scan/builtins.ts'
import { JoinedText } from '#engine/kit/scan/joined-text.ts'
import { maskText, rulesOf } from '#engine/kit/scan/rules.ts'
import { maskJsonText, StreamJson } from '#engine/kit/scan/stream-json.ts'
import { type Arriving, HOLD_UNITS_MAX, StreamText } from '#engine/kit/scan/stream-text.ts'

export const name = 'guard'

export const dictionary = [
  '123-45-6789',
  '046 454 286',
  '4111 1111 1111 1111',
  '+1 212 555 1234',
  'ann@example.com',
  '0044 20 7946 0958',
  'tel ',
  '１２３',
  '٤٥٦',
  '\u200b',
  '\u2013',
  '1,',
  '_',
  'sk-abcdef',
  '"',
  '\\"',
  '\\u002d',
  '\\ud83d\\ude42',
  '{"a":',
  '[1,',
  '-1.5e3',
  '🙂'
]

const SETS = [
  rulesOf({ builtins: BUILTIN_NAMES, patterns: [] }),
  rulesOf({ builtins: ['Ssn'], patterns: ['sk-[a-z]{3,8}', '(?i)a.*?e', '\\b\\d+$', '^\\S+'] })
]
const CUTS = [1, 2, 3, 7]
const PARTED_UNITS_MAX = 256

export function run(data: Buffer): void {
  // Longer matches than that are cut in streams, by design.
  const text = data.toString().slice(0, HOLD_UNITS_MAX / 4)
  for (const rules of SETS) {
    const masked = maskText(text, rules)
    const json = maskJsonText(text, rules)
    if (isJson(text)) assert.ok(isJson(json), json)
    for (const size of CUTS) {
      assert.equal(streamed(new StreamText(rules), text, size), masked)
      assert.equal(streamed(new JoinedText(rules), text, size), masked)
      // Each part has searches of its own, which cost more than the text in it.
      inParts(new JoinedText(rules), text.slice(0, PARTED_UNITS_MAX), size)
      assert.equal(streamed(new StreamJson(rules), text, size), json)
    }
  }
}

function streamed(stream: Arriving, text: string, size: number): string {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  let out = ''
  let done = 0
  let ends = 0
  const take = () => {
    while (done < pieces.length && ends + pieces[done]!.length <= stream.decided) {
      ends += pieces[done]!.length
      out += stream.take(pieces[done++]!)
    }
  }
  for (const piece of pieces) {
    stream.push(piece)
    take()
  }
  stream.end()
  take()
  assert.equal(done, pieces.length)
  return out
}

/** Every piece is a part of its own: all of it comes out, each part again as it came, and what is said stays short. */
function inParts(stream: JoinedText, text: string, size: number): void {
  const parts: string[] = []
  for (let at = 0; at < text.length; at += size) parts.push(text.slice(at, at + size))
  for (const part of parts) {
    stream.bound()
    stream.push(part)
  }
  stream.end()
  assert.equal(stream.decided, text.length)
  const out = parts.map((part) => stream.take(part))
  assert.deepEqual(
    parts.map((part, i) => stream.repeat(part, i * size)),
    out
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
