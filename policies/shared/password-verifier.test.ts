import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PasswordVerifier } from './password-verifier.ts'

interface Asked {
  readonly hash: string
  readonly password: string
  answer(result: unknown): Promise<void>
  refuse(): Promise<void>
}

/** A verifier whose pool answers when the test says so; a password is right when it is "right". */
function verifier() {
  const asked: Asked[] = []
  let now = 0
  const offload = {
    run: (job: string, argument: unknown) => {
      assert.equal(job, 'password')
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      // Callers get the answer before the test goes on.
      const settled = () => new Promise<void>((done) => setImmediate(done))
      asked.push({
        ...(argument as { hash: string; password: string }),
        answer(result) {
          resolve(result)
          return settled()
        },
        refuse() {
          reject(new Error('full'))
          return settled()
        }
      })
      return promise
    }
  }
  return {
    asked,
    verifier: new PasswordVerifier(offload, () => now),
    pass: (ms: number) => {
      now += ms
    }
  }
}

test('the same question is asked once, and a right password is remembered for ten minutes', async () => {
  const { verifier: given, asked, pass } = verifier()
  assert.equal(given.remembers('h', 'p'), false)
  const answers = [given.verify('a', 'h', 'p'), given.verify('a', 'h', 'p')]
  assert.deepEqual([asked.length, asked[0]!.hash, asked[0]!.password], [1, 'h', 'p'])
  await asked[0]!.answer(true)
  assert.deepEqual(await Promise.all(answers), [true, true])
  assert.deepEqual(
    [given.remembers('h', 'p'), given.remembers('h2', 'p'), given.remembers('h', 'P'), given.remembers('', 'h\np')],
    [true, false, false, false]
  )
  pass(599_999)
  assert.equal(given.remembers('h', 'p'), true)
  pass(1)
  assert.equal(given.remembers('h', 'p'), false)
})

test('a wrong password is verified each time', async () => {
  const { verifier: given, asked } = verifier()
  for (const count of [1, 2]) {
    const answer = given.verify('a', 'h', 'p')
    assert.equal(asked.length, count)
    await asked.at(-1)!.answer(false)
    assert.equal(await answer, false)
    assert.equal(given.remembers('h', 'p'), false)
  }
})

test('another name with the same password and hash is another question', () => {
  const { verifier: given, asked } = verifier()
  void given.verify('a', 'h', 'p')
  void given.verify('b', 'h', 'p')
  assert.equal(asked.length, 2)
})

test('a name has four passwords on their way, and others are not affected', async () => {
  const { verifier: given, asked } = verifier()
  for (let i = 0; i < 4; i++) assert.ok(given.verify('a', 'h', `${i}`))
  assert.equal(given.verify('a', 'h', '4'), null)
  assert.ok(given.verify('a', 'h', '3'), 'asked already')
  assert.ok(given.verify('b', 'h', '4'))
  assert.equal(asked.length, 2, 'two in the pool')
  await asked[0]!.answer(false)
  assert.equal(asked.length, 3)
  assert.ok(given.verify('a', 'h', '4'))
})

test('64 wait, the next is refused; a pool that refuses is no answer', async () => {
  const { verifier: given, asked } = verifier()
  const answers = Array.from({ length: 66 }, (_, i) => given.verify(`${i}`, 'h', 'p'))
  assert.ok(!answers.includes(null))
  assert.equal(given.verify('66', 'h', 'p'), null)
  await asked[0]!.refuse()
  assert.equal(await answers[0], null)
  assert.ok(given.verify('66', 'h', 'p'))
  for (let i = 1; i < asked.length; i++) await asked[i]!.answer(true)
  assert.deepEqual(new Set(await Promise.all(answers.slice(1))), new Set([true]))
  assert.equal(asked.length, 67)
})
