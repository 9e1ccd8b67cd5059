import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PasswordVerifier } from './password-verifier.ts'

interface PendingJob {
  readonly hash: string
  readonly password: string
  answer(result: unknown): Promise<void>
  refuse(): Promise<void>
}

/** A verifier whose pool answers when the test says so; a password is right when it is "right". */
function verifier() {
  const jobs: PendingJob[] = []
  let now = 0
  const offload = {
    run: (job: string, argument: unknown) => {
      assert.equal(job, 'password')
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      // Callers get the answer before the test goes on.
      const settled = () => new Promise<void>((done) => setImmediate(done))
      jobs.push({
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
    jobs,
    verifier: new PasswordVerifier(offload, () => now),
    pass: (ms: number) => {
      now += ms
    }
  }
}

test('the same question is asked once, and a right password is remembered for ten minutes', async () => {
  const { verifier: tested, jobs, pass } = verifier()
  assert.equal(tested.remembers('h', 'p'), false)
  const answers = [tested.verify('a', 'h', 'p'), tested.verify('a', 'h', 'p')]
  assert.deepEqual([jobs.length, jobs[0]!.hash, jobs[0]!.password], [1, 'h', 'p'])
  await jobs[0]!.answer(true)
  assert.deepEqual(await Promise.all(answers), [true, true])
  assert.deepEqual(
    [tested.remembers('h', 'p'), tested.remembers('h2', 'p'), tested.remembers('h', 'P'), tested.remembers('', 'h\np')],
    [true, false, false, false]
  )
  pass(599_999)
  assert.equal(tested.remembers('h', 'p'), true)
  pass(1)
  assert.equal(tested.remembers('h', 'p'), false)
})

test('a wrong password is verified each time', async () => {
  const { verifier: tested, jobs } = verifier()
  for (const count of [1, 2]) {
    const answer = tested.verify('a', 'h', 'p')
    assert.equal(jobs.length, count)
    await jobs.at(-1)!.answer(false)
    assert.equal(await answer, false)
    assert.equal(tested.remembers('h', 'p'), false)
  }
})

test('another name with the same password and hash is another question', () => {
  const { verifier: tested, jobs } = verifier()
  void tested.verify('a', 'h', 'p')
  void tested.verify('b', 'h', 'p')
  assert.equal(jobs.length, 2)
})

test('a name has four passwords on their way, and others are not affected', async () => {
  const { verifier: tested, jobs } = verifier()
  for (let i = 0; i < 4; i++) assert.ok(tested.verify('a', 'h', `${i}`))
  assert.equal(tested.verify('a', 'h', '4'), null)
  assert.ok(tested.verify('a', 'h', '3'), 'asked already')
  assert.ok(tested.verify('b', 'h', '4'))
  assert.equal(jobs.length, 2, 'two in the pool')
  await jobs[0]!.answer(false)
  assert.equal(jobs.length, 3)
  assert.ok(tested.verify('a', 'h', '4'))
})

test('64 wait, the next is refused; a pool that refuses is no answer', async () => {
  const { verifier: tested, jobs } = verifier()
  const answers = Array.from({ length: 66 }, (_, i) => tested.verify(`${i}`, 'h', 'p'))
  assert.ok(!answers.includes(null))
  assert.equal(tested.verify('66', 'h', 'p'), null)
  await jobs[0]!.refuse()
  assert.equal(await answers[0], null)
  assert.ok(tested.verify('66', 'h', 'p'))
  for (let i = 1; i < jobs.length; i++) await jobs[i]!.answer(true)
  assert.deepEqual(new Set(await Promise.all(answers.slice(1))), new Set([true]))
  assert.equal(jobs.length, 67)
})
