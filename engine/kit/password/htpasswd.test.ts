import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashProblem, parseHtpasswd, parseLine } from './htpasswd.ts'

const BCRYPT = '$2y$05$.paP4xFss/eXtuGfkysCpOJn/Zn01JN10qDE.eWa9oSAX6q8Jpk.S'
const SHA = '{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ='
const DES = 'JEtt8rHLjAde2'
const APR1 = '$apr1$I0TjsVGO$K5F3CsqB3jIGQ3EPBCXgr.'
const SHA256 = '$5$rekoZf74gPs0kCDI$hCEw/lXA51vt.4cikFGy4hTIiv2mSy53PZZb8GGiUuB'

test('a line: user, hash, and the rest behind a second colon', () => {
  assert.deepEqual(parseLine(`alice:${BCRYPT}`), { user: 'alice', hash: BCRYPT })
  assert.deepEqual(parseLine(`Zoë:${DES}:a comment`), { user: 'Zoë', hash: DES })
  assert.deepEqual(parseLine(`a b:${SHA}  `), { user: 'a b', hash: SHA })
})

test('a file: comments, empty lines, both line ends and a byte order mark', () => {
  const { entries, problems } = parseHtpasswd(`\uFEFF# staff\r\n\r\nalice:${BCRYPT}\r\n  # more\nbob:${APR1}\n`)
  assert.deepEqual([entries.map(({ user }) => user), problems], [['alice', 'bob'], []])
})

test('every problem of a file is named with its line, and without what stands there', () => {
  const { entries, problems } = parseHtpasswd(`a:${DES}\nb:hunter2\nhunter3\na:${SHA}\n:${SHA}\nc:\nd:${BCRYPT}x\n`)
  assert.deepEqual(entries, [{ user: 'a', hash: DES }])
  assert.deepEqual(
    problems.map(({ line, message }) => `${line} ${message.slice(0, 26)}`),
    [
      '2 has none of the known hash',
      '3 must be "user:hash"',
      '4 is about the same user as ',
      '5 has no user name before th',
      '6 has no hash behind the use',
      '7 has a malformed hash: it b'
    ]
  )
  assert.doesNotMatch(JSON.stringify(problems), /hunter|paP4/)
})

test('user names have bounds, and no control characters', () => {
  assert.equal(typeof parseLine(`${'u'.repeat(255)}:${DES}`), 'object')
  assert.match(String(parseLine(`${'u'.repeat(256)}:${DES}`)), /more than 255/)
  assert.match(String(parseLine(`a\tb:${DES}`)), /control characters/)
  assert.match(String(parseLine(`a\ud800:${DES}`)), /Unicode/)
})

test('costs have bounds', () => {
  const bcrypt = (cost: string) => hashProblem(BCRYPT.replace('$05$', `$${cost}$`))
  assert.deepEqual([bcrypt('04'), bcrypt('14')], [null, null])
  assert.match(bcrypt('15')!, /cost of 15; 4 to 14/)
  assert.match(bcrypt('03')!, /cost of 3/)
  const rounds = (count: string) => hashProblem(SHA256.replace('$5$', `$5$rounds=${count}$`))
  assert.deepEqual([rounds('1000'), rounds('500000')], [null, null])
  assert.match(rounds('999')!, /999 rounds; 1000 to 500000/)
  assert.match(rounds('500001')!, /500001 rounds/)
})

test('passwords that look like hashes are none', () => {
  for (const text of [
    'swordfish',
    '',
    'aaaaaaaaaaaaa',
    '$2y$10$short',
    '{SHA}abc',
    '$7$x$y',
    '$2x$05$',
    SHA.slice(5)
  ]) {
    assert.notEqual(hashProblem(text), null, text)
  }
  // Not a character of the alphabet, and a digest that is one too long or too short.
  for (const hash of [BCRYPT, APR1, SHA256, SHA, DES]) {
    for (const other of [`${hash}.`, hash.slice(0, -1), `${hash.slice(0, -1)}!`]) {
      assert.notEqual(hashProblem(other), null, other)
    }
  }
})
