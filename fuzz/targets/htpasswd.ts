/**
 * The parser of htpasswd files: whatever it is given, it ends with entries that say the same as a naive reading, and
 * with problems that name a line and never what stands there.
 */
import assert from 'node:assert/strict'
import { hashProblem, parseHtpasswd, parseLine } from '#engine/kit/password/htpasswd.ts'

export const name = 'htpasswd'

export const dictionary = [
  ...['\n', '\r\n', ':', '#', ' ', 'a:', '\ufeff', '$2y$05$', '$2a$14$', '$apr1$', '$1$', '$5$', '$6$', '{SHA}'],
  ...['rounds=1000$', 'rounds=500001$', 'a'.repeat(53), 'a'.repeat(21), '=', '.'.repeat(43), '/'.repeat(86)],
  ...['JEtt8rHLjAde2', '{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=', '$apr1$I0TjsVGO$K5F3CsqB3jIGQ3EPBCXgr.']
]

export function run(data: Buffer): void {
  const text = data.toString()
  const { entries, problems } = parseHtpasswd(text)
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  const written = lines.map((line) => line.replace(/\r$/, '')).filter((line) => !/^\s*(?:#|$)/.test(line))
  assert.equal(entries.length + problems.length, written.length, 'each line is an entry or a problem')
  assert.equal(new Set(entries.map(({ user }) => user)).size, entries.length, 'one entry per user')
  for (const { user, hash } of entries) {
    assert.equal(hashProblem(hash), null)
    assert.match(user, /^[^:\0-\x1f\x7f]{1,255}$/)
    const line = written.find((one) => one.startsWith(`${user}:${hash}`))
    assert.ok(line !== undefined, 'it stands in the file')
    assert.deepEqual(parseLine(`${user}:${hash}`), { user, hash })
  }
  for (const { line, message } of problems) {
    const there = lines[line - 1]!
    // No word of a message is that long: it would be a quotation.
    for (const part of there.match(/[A-Za-z0-9./+$]{20,}/g) ?? []) assert.ok(!message.includes(part), message)
  }
}
