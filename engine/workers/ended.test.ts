import { equal } from 'node:assert/strict'
import { it } from 'node:test'
import { EndedMarks } from './shared.ts'

it('what has ended is known to all who share the memory, until something else takes its place', () => {
  const memory = EndedMarks.create()
  const [here, there] = [new EndedMarks(memory), new EndedMarks(memory)]
  equal(there.has(-5n), false)
  here.add(-5n)
  equal(there.has(-5n), true)
  equal(new EndedMarks().has(-5n), false)
  there.add(-5n + 8_192n)
  equal(here.has(-5n), false)
})

it('what is in use is known to all for as long as nothing else takes its place', () => {
  const memory = EndedMarks.create()
  const [here, there] = [new EndedMarks(memory), new EndedMarks(memory)]
  const mark = -(77n << 40n) - 5n
  equal(there.unusedFor(mark, 0), Number.POSITIVE_INFINITY)
  here.use(mark, 5_000)
  equal(there.unusedFor(mark, 6_500), 1_500)
  equal(there.unusedFor(mark, 4_000), 0)
  equal(here.unusedFor(mark + (1n << 40n), 6_500), Number.POSITIVE_INFINITY)
  equal(here.has(mark), false)
  // Over the end of what the time is counted in.
  const late = 2 ** 32 * 100
  here.use(mark, late - 100)
  equal(there.unusedFor(mark, late + 400), 500)
})
