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
