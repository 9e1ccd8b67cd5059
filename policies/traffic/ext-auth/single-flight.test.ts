import { deepEqual, equal } from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type Exchange, STEP_RECORDED } from '#engine/contract/exchange.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { VerdictCache } from './cache.ts'
import { type KeyedCheckSender, singleFlight } from './single-flight.ts'
import type { Allowed, Decision, Failed } from './verdict.ts'

const VERDICT: Allowed = {
  kind: 'allowed',
  fields: [],
  removed: [],
  setQuery: [],
  removedQuery: [],
  responseFields: [],
  metadata: null
}
const YES: Decision = { verdict: VERDICT, lifetimeMs: null }
const ONCE: Decision = { verdict: VERDICT, lifetimeMs: 0 }
const DOWN: Failed = { kind: 'failed', detail: 'down', reply: null }
const UNFIT: Failed = { ...DOWN, isOfRequest: true }

/** Checks under way, the oldest first, each with its exchange. */
let calls: { readonly ex: Exchange; readonly answer: (decision: Decision | Failed) => void }[] = []
let decisions: (Decision | Failed)[] = []
let cache: VerdictCache
let ask: KeyedCheckSender
beforeEach(() => {
  calls = []
  decisions = []
  cache = new VerdictCache([], { lifetimeMs: 1000, entriesMax: 10 }, () => 0)
  ask = singleFlight((ex, answer) => calls.push({ ex, answer }), cache)
})
const come = (key: string, count = 1): Exchange[] =>
  Array.from({ length: count }, () => {
    const ex = fakeExchange()
    ask(ex, key, (decision) => {
      decisions.push(decision)
      return 'kind' in decision ? null : decision
    })
    return ex
  })
const leave = (ex: Exchange) => {
  ex.step = STEP_RECORDED
}

describe('exchanges with the same key at the same time', () => {
  it('share one check, and later ones its verdict', () => {
    come('a', 3)
    come('b')
    equal(calls.length, 2)
    calls[0]!.answer(YES)
    deepEqual(decisions, [YES, YES, YES])
    equal(cache.get('a'), VERDICT)
  })

  it('share a failure, and none that come later', () => {
    come('a', 2)
    calls[0]!.answer(DOWN)
    deepEqual(decisions, [DOWN, DOWN])
    equal(cache.get('a'), null)
    come('a')
    equal(calls.length, 2)
  })

  it('share nothing that is about one request only', () => {
    for (const own of [ONCE, UNFIT]) {
      calls = []
      decisions = []
      come('a', 3)
      calls[0]!.answer(own)
      equal(calls.length, 3)
      deepEqual(decisions, [own])
      for (const { answer } of calls.slice(1)) answer(own)
      equal(decisions.length, 3)
      equal(cache.get('a'), null)
    }
  })

  it('do not lose the check with the client that it was made for', () => {
    const [first, second, third] = come('a', 4)
    leave(first!)
    leave(second!)
    calls[0]!.answer(DOWN)
    equal(calls.length, 2)
    equal(calls[1]!.ex, third)
    equal(decisions.length, 2)
    come('a')
    calls[1]!.answer(YES)
    equal(calls.length, 2)
    equal(decisions.length, 5)
    deepEqual(decisions.slice(2), [YES, YES, YES])
  })

  it('do not lose it with a client that waits, nor when all have gone', () => {
    const [, second] = come('a', 2)
    leave(second!)
    calls[0]!.answer(YES)
    deepEqual(decisions, [YES, YES])
    const gone = come('b', 2)
    for (const ex of gone) leave(ex)
    calls[1]!.answer(DOWN)
    equal(decisions.length, 4)
    equal(cache.get('b'), null)
  })

  it('are bounded in number: more make calls of their own', () => {
    come('a', 1003)
    equal(calls.length, 3)
    calls[1]!.answer(DOWN)
    equal(decisions.length, 1)
    calls[2]!.answer(YES)
    equal(cache.get('a'), VERDICT)
    calls[0]!.answer(YES)
    equal(decisions.length, 1003)
  })

  it('are all answered where newer keys took their place', () => {
    come('a', 2)
    for (let i = 0; i < 10; i++) come(`k${i}`)
    come('a', 2)
    equal(calls.length, 12)
    for (const { answer } of calls) answer(YES)
    equal(decisions.length, 14)
  })
})
