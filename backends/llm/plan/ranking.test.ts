/** Ways to choose among equal providers, without a network. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { AiRanking } from '#backends/llm/config/snapshot.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { Attempt, ProviderSlot } from './balancer.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import { compileRanking } from './ranking.ts'

const NAMES = ['a', 'b', 'c', 'd']

/** `picos`: what a call costs at each of them. */
const slotsOf = (names: readonly string[], picos: Readonly<Record<string, number>> = {}) =>
  names.map((name) => {
    const settings = { name, model: name }
    const prices = { usual: () => picos[name] ?? null }
    return new ProviderSlot({ settings, prices, aliases: new ModelPatterns([]) } as unknown as ProviderRuntime)
  })

const nameOf = ({ provider }: ProviderSlot<ProviderRuntime>): string => provider.settings.name

/** What the ranking chooses for a request whose only turn is `prompt`. */
function chooser(ranking: AiRanking, random: () => number = () => 0) {
  const rank = compileRanking(ranking, random)!
  return (slots: readonly ProviderSlot<ProviderRuntime>[], prompt = 'Hi'): string => {
    const body = { messages: [{ role: 'user', content: prompt }] }
    const chat = { client: 'completions', model: 'v', body, bytes: Buffer.from(JSON.stringify(body)), count: 1 }
    const ex = { requestBytes: chat.bytes }
    return nameOf(rank(ex as never, { chat, client: 'completions' } as never)(slots))
  }
}

const HASH: AiRanking = { kind: 'consistentHash', key: null, prefixChars: 100 }

test('cost: the cheapest; a price that is not known is not a low one; without any the usual way decides', () => {
  const picos = { a: 30, b: 20, d: 25 }
  equal(chooser({ kind: 'cost' })(slotsOf(NAMES, picos)), 'b')
  equal(chooser({ kind: 'cost' })(slotsOf(['c', 'a'], picos)), 'a')
  ok(NAMES.includes(chooser({ kind: 'cost' })(slotsOf(NAMES))))
})

test('latency: one that was never asked first, then the fastest to its first token; exploring reaches the others', () => {
  const slots = slotsOf(['a', 'b'])
  const choose = chooser({ kind: 'latency', explore: 0 })
  const [a, b] = slots as [ProviderSlot<ProviderRuntime>, ProviderSlot<ProviderRuntime>]
  const measured = (slot: typeof a, headMs: number, tokenMs: number): void => {
    const attempt = new Attempt(slot, 1000)
    attempt.succeeded(1000 + headMs)
    attempt.begun(1000 + tokenMs)
  }
  measured(a, 10, 900)
  equal(choose(slots), 'b')
  // Its head comes later, and its first token sooner.
  measured(b, 100, 300)
  equal(choose(slots), 'b')
  for (let i = 0; i < 20; i++) measured(a, 10, 100)
  equal(choose(slots), 'a')
  const drawn = [0, 0.99]
  equal(chooser({ kind: 'latency', explore: 0.05 }, () => drawn.shift()!)(slots), 'b')
})

test('leastBusy: the one with the fewest calls under way', () => {
  const slots = slotsOf(['a', 'b', 'c'])
  new Attempt(slots[0]!, 0)
  new Attempt(slots[1]!, 0)
  equal(chooser({ kind: 'leastBusy' })(slots), 'c')
})

test('consistentHash: a provider that is gone moves its own prompts alone, and comes back to them', () => {
  const choose = chooser(HASH)
  const prompts = Array.from({ length: 200 }, (_, i) => `prompt ${i}`)
  const before = prompts.map((prompt) => choose(slotsOf(NAMES), prompt))
  const without = prompts.map((prompt) => choose(slotsOf(['a', 'b', 'd']), prompt))
  before.forEach((name, i) => {
    if (name !== 'c') equal(without[i], name)
  })
  deepEqual([...new Set(before)].sort(), NAMES)
  for (const name of NAMES) ok(before.filter((other) => other === name).length > 20, name)
})

test('consistentHash: one with more than its share of what is under way is passed over', () => {
  const slots = slotsOf(NAMES)
  const choose = chooser(HASH)
  const owner = slots.find((slot) => nameOf(slot) === choose(slots))!
  for (let i = 0; i < 3; i++) new Attempt(owner, 0)
  // Four calls among four: one has two of them at most.
  ok(choose(slots) !== nameOf(owner))
})

test('consistentHash: what is said later in a conversation does not move it', () => {
  const rank = compileRanking(HASH, () => 0)!
  const slots = slotsOf(NAMES)
  const first = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' }
  ]
  const later = [...first, { role: 'assistant', content: 'Hello' }, { role: 'user', content: 'Bye' }]
  const of = (messages: object[]) => {
    const chat = { client: 'completions', model: 'v', body: { messages }, bytes: Buffer.alloc(0), count: 1 }
    return nameOf(rank({ requestBytes: null } as never, { chat, client: 'completions' } as never)(slots))
  }
  equal(of(first), of(later))
})
