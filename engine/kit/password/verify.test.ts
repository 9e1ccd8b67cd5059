import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { findSystemProgram, systemProgram } from '#engine/testing/system-programs.ts'
import { hashProblem } from './htpasswd.ts'
import { verifyPassword } from './verify.ts'

interface Vector {
  /** The program that wrote the hash. */
  readonly made: string
  readonly password: string
  readonly hash: string
}

const vectors: readonly Vector[] = JSON.parse(
  readFileSync(new URL('testdata/vectors.json', import.meta.url), 'utf8')
) as Vector[]

const latin1 = (text: string) => Buffer.from(text).toString('latin1')
const verify = (hash: string, password: string) => verifyPassword({ hash, password: latin1(password) })

for (const { made, password, hash } of vectors) {
  test(`${made}, ${Buffer.byteLength(password)} bytes`, () => {
    assert.equal(hashProblem(hash), null)
    assert.equal(verify(hash, password), true)
    // DES sees eight characters, bcrypt 72 bytes.
    assert.equal(verify(hash, `!${password}`), false)
  })
}

const htpasswd = (flag: string, password: string) =>
  execFileSync(systemProgram('htpasswd'), [`-nb${flag}`, 'user', password], { stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim()
    .slice('user:'.length)
const openssl = (flag: string, password: string) =>
  execFileSync(systemProgram('openssl'), ['passwd', flag, '-stdin'], { input: `${password}\n` })
    .toString()
    .trim()

const PROGRAMS = { htpasswd: ['B', 'm', 'd', 's', '2', '5'], openssl: ['-1', '-apr1', '-5', '-6'] } as const

for (const [program, flags] of Object.entries(PROGRAMS)) {
  // Of one that is not installed the hashes above have to do.
  const isThere = findSystemProgram(program) !== null
  for (const flag of isThere ? flags : []) {
    test(`what ${program} ${flag} writes now`, () => {
      for (const password of ['', 'a:b', 'pässwörd €', `${'0123456789'.repeat(4)}`]) {
        // openssl has no SHA-crypt for an empty password: it writes <NULL>.
        if (password === '' && (flag === '-5' || flag === '-6')) continue
        const hash = program === 'htpasswd' ? htpasswd(flag, password) : openssl(flag, password)
        assert.equal(hashProblem(hash), null)
        assert.equal(verify(hash, password), true)
        assert.equal(verify(hash, `x${password}`), false)
      }
    })
  }
}

test('every prefix of bcrypt, a salt with unused bits, and bytes that are no text', () => {
  const { hash } = vectors.find((vector) => vector.made === 'htpasswd -nbB' && vector.password === 'pass')!
  for (const prefix of ['$2a$', '$2b$', '$2y$']) assert.equal(verify(hash.replace('$2y$', prefix), 'pass'), true)
  // Character 28 ends the salt with two bits that count: the next one of the alphabet says the same.
  const unused = `${hash.slice(0, 28)}${String.fromCharCode(hash.charCodeAt(28) + 1)}${hash.slice(29)}`
  assert.equal(verify(unused, 'pass'), true)
  assert.equal(verifyPassword({ hash, password: 'pass\xff' }), false)
})

test('bytes that are no text are compared as bytes by the others', () => {
  const hash = execFileSync(systemProgram('openssl'), ['passwd', '-1', '-stdin'], {
    input: Buffer.from('p\xff\n', 'latin1')
  })
  assert.equal(verifyPassword({ hash: hash.toString().trim(), password: 'p\xff' }), true)
})
