/** Facts that a process has left for the server of replicas: whatever the lines are, what is read can be sent. */
import assert from 'node:assert/strict'
import { readFacts } from '#engine/accounts/server/journal.ts'
import { ModelServer } from '#engine/accounts/server/model.fixture.ts'

export const name = 'facts'
export const dictionary = [
  '["settle",2,1,"30",[["key/a Total","1000",0,8640000000000000,0,0]]]\n',
  '["correct",3,"-5",[["key/a 60000ms","10",0,8640000000000000,60000,1000]]]\n',
  '["estimate",4,"100",[]]\n',
  '"-1"',
  '9007199254740991',
  '[[',
  '\n'
]

export function run(data: Buffer): void {
  const { facts, unsettled } = readFacts(data.toString())
  const numbers = facts.map(([, number]) => number)
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b)
  )
  for (const [, number] of unsettled) assert.ok(!facts.some((fact) => fact[0] === 'settle' && fact[2] === number))
  const server = new ModelServer(1.8e12)
  const once = server.apply('a', 0, facts)
  assert.equal(once.answers.length, facts.length)
  const ids = facts.flatMap((fact) => (fact[0] === 'settle' ? fact[4] : fact[3]).map(([id]) => id))
  const before = ids.map((id) => server.budget(id))
  server.apply('a', 0, facts)
  // Again, and nothing has changed.
  assert.deepEqual(
    ids.map((id) => server.budget(id)),
    before
  )
}
