import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkQueue } from './work-queue.ts'

test('jobs run up to a bound, wait in order up to another, and are refused beyond it', async () => {
  const queue = new WorkQueue(2, 2)
  const began: string[] = []
  const gates = new Map<string, PromiseWithResolvers<string>>()
  const add = (name: string) =>
    queue.run(() => {
      began.push(name)
      const gate = Promise.withResolvers<string>()
      gates.set(name, gate)
      return gate.promise
    })
  const [a, b, c, d] = [add('a'), add('b'), add('c'), add('d')]
  assert.equal(add('e'), null)
  assert.deepEqual(began, ['a', 'b'])
  gates.get('b')!.resolve('B')
  assert.equal(await b, 'B')
  assert.deepEqual(began, ['a', 'b', 'c'])
  gates.get('a')!.reject(new Error('broken'))
  await assert.rejects(a!, /broken/)
  assert.deepEqual(began, ['a', 'b', 'c', 'd'])
  gates.get('c')!.resolve('C')
  gates.get('d')!.resolve('D')
  assert.deepEqual(await Promise.all([c, d]), ['C', 'D'])
})
