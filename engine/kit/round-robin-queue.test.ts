import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { RoundRobinQueue } from './round-robin-queue.ts'

/** 'a1x' is x of 1 of a. */
const pathOf = (item: string): string[] => [item[0]!, item.slice(0, 2)]

function filled(max: number, items: readonly string[]): RoundRobinQueue<string> {
  const turns = new RoundRobinQueue<string>(max)
  for (const item of items) equal(turns.add(item, pathOf(item)), null)
  return turns
}

function rest(turns: RoundRobinQueue<string>, rank?: (name: string) => number): string[] {
  const all: string[] = []
  for (let one = turns.next(rank); one !== undefined; one = turns.next(rank)) all.push(one)
  return all
}

test('each name has its turn, and within it each of its own', () => {
  const turns = filled(10, ['a1x', 'a1y', 'a1z', 'a2x', 'b1x', 'b1y', 'c1x'])
  equal(turns.size, 7)
  deepEqual(rest(turns), ['a1x', 'b1x', 'c1x', 'a2x', 'b1y', 'a1y', 'a1z'])
  equal(turns.size, 0)
})

test('the newest entry of the largest owner is dropped, at each level; among equals it is the newcomer', () => {
  const turns = filled(5, ['a1x', 'a1y', 'a2x', 'b1x', 'c1x'])
  equal(turns.add('c1y', pathOf('c1y')), 'a1y')
  equal(turns.add('c2x', pathOf('c2x')), 'c1y')
  equal(turns.add('c3x', pathOf('c3x')), 'c3x')
  deepEqual(rest(turns), ['a1x', 'b1x', 'c1x', 'a2x', 'c2x'])
})

test('an item that has left gets no turn, and costs its owner none', () => {
  const turns = filled(5, ['a1x', 'a1y', 'b1x'])
  equal(turns.remove('a1x'), true)
  equal(turns.remove('a1x'), false)
  deepEqual([...turns].sort(), ['a1y', 'b1x'])
  deepEqual(rest(turns), ['a1y', 'b1x'])
})

test('a lower rank comes before turns; an owner that may not run now keeps its place', () => {
  const ranks: Record<string, number> = { a: 2, b: 1, c: 1 }
  const rank = (name: string) => ranks[name] ?? 0
  const turns = filled(5, ['a1x', 'b1x', 'c1x', 'b1y'])
  equal(
    turns.next(rank, (item) => item !== 'b1x'),
    undefined
  )
  deepEqual(rest(turns, rank), ['b1x', 'c1x', 'b1y', 'a1x'])
})
