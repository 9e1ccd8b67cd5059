/** Which of several providers is asked: by group, by latency and by what is under way. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { Attempt, chooseSlot, ProviderSlot } from './balancer.ts'

function slot(name: string, latencyMs: number): ProviderSlot<string> {
  const made = new ProviderSlot(name)
  new Attempt(made, 0).succeeded(latencyMs)
  return made
}

/** Numbers that come one after the other, and again. */
function numbers(...list: readonly number[]): () => number {
  let i = 0
  return () => list[i++ % list.length]!
}

test('the better of two is asked: the faster one, unless more waits for it', () => {
  const [fast, slow] = [slot('fast', 10), slot('slow', 25)]
  const next = () => [0, 0.99].map((random) => chooseSlot([[fast, slow]], [], 100, () => random)?.provider)
  deepEqual(next(), ['fast', 'fast'])
  const turns = [new Attempt(fast, 100), new Attempt(fast, 100)]
  deepEqual(next(), ['slow', 'slow'])
  for (const turn of turns) turn.abandon()
  deepEqual(next(), ['fast', 'fast'])
})

test('two different slots are compared: the slowest of three is never chosen, each of the others is', () => {
  const slots = [slot('a', 10), slot('b', 20), slot('c', 30)]
  const names = new Set<string | undefined>()
  for (const first of [0, 0.4, 0.8]) {
    for (const second of [0, 0.99]) names.add(chooseSlot([slots], [], 100, numbers(first, second))?.provider)
  }
  deepEqual([...names].sort(), ['a', 'b'])
})

test('the latency that counts is that of late', () => {
  const [was, is] = [slot('was slow', 100), slot('steady', 50)]
  for (let i = 0; i < 10; i++) new Attempt(was, 1000).succeeded(1010)
  equal(chooseSlot([[was, is]], [], 2000, () => 0)?.provider, 'was slow')
})

test('a later group is asked when all of an earlier one rest or have been tried, however much faster it is', () => {
  const [first, other, fast] = [slot('first', 900), slot('other', 900), slot('fast', 1)]
  const groups = [[first, other], [fast]]
  const next = (tried: ProviderSlot<string>[] = []) => chooseSlot(groups, tried, 1000, () => 0)?.provider
  equal(next(), 'first')
  equal(next([first]), 'other')
  equal(next([first, other]), 'fast')
  new Attempt(first, 1000).failed(1000, null, 0)
  equal(next(), 'other')
  new Attempt(other, 1000).failed(1000, null, 0)
  equal(next(), 'fast')
  equal(next([first, other, fast]), undefined)
})

test('rests are spread: up to half of its own, and a tenth above what it asked for, five minutes at most', () => {
  const rest = (pauseMs: number | null, random: number) => {
    const made = new ProviderSlot('a')
    new Attempt(made, 0).failed(0, pauseMs, random)
    return made.health.breaker.openUntil
  }
  deepEqual([rest(null, 0), rest(null, 0.5)], [500, 750])
  deepEqual([rest(10_000, 0), rest(10_000, 0.5)], [10_000, 10_500])
  equal(rest(86_400_000, 0), 300_000)
})
