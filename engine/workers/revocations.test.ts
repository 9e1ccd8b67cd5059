import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { SharedRevocations } from './shared.ts'

it('ended sessions are known to all threads that share the memory, until others take their places', () => {
  const memory = SharedRevocations.create()
  const [here, there] = [new SharedRevocations(memory), new SharedRevocations(memory)]
  equal(there.isRevoked(-5n), false)
  here.revoke(-5n)
  equal(there.isRevoked(-5n), true)
  equal(new SharedRevocations().isRevoked(-5n), false)
  there.revoke(-5n + 8_192n)
  equal(here.isRevoked(-5n), false)
})

it('sessions in use are known to all until another takes the place', () => {
  const memory = SharedRevocations.create()
  const [here, there] = [new SharedRevocations(memory), new SharedRevocations(memory)]
  const mark = -(77n << 40n) - 5n
  equal(there.idleMs(mark, 0), Number.POSITIVE_INFINITY)
  here.touch(mark, 5_000)
  equal(there.idleMs(mark, 6_500), 1_500)
  equal(there.idleMs(mark, 4_000), 0)
  equal(here.idleMs(mark + (1n << 40n), 6_500), Number.POSITIVE_INFINITY)
  equal(here.isRevoked(mark), false)
  // Over the end of what the time is counted in.
  const late = 2 ** 32 * 100
  here.touch(mark, late - 100)
  equal(there.idleMs(mark, late + 400), 500)
})
