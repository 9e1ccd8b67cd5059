/** Addresses by state are reported by one worker, while a configuration has them; on a clock of the test's own. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { AddressState } from '#engine/contract/endpoint.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { AddressStates, type CountedEndpoint } from './address-states.ts'
import type { AddressCounts } from './shared.ts'

interface Worker {
  readonly states: AddressStates
  readonly shown: Map<string, AddressCounts>
}

function bench() {
  let now = 1_000_000
  const memory = SharedRows.create()
  const worker = (index: number): Worker => {
    const shown = new Map<string, AddressCounts>()
    const counted = (destination: string, counts: AddressCounts | null) => {
      if (counts === null) shown.delete(destination)
      else shown.set(destination, counts)
    }
    const rows = new SharedRows(memory, () => now)
    return { states: new AddressStates({ rows, worker: { index }, observer: { counted } }), shown }
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { worker, pass, memory }
}

const endpoint = (name: string, ...states: readonly AddressState[]): CountedEndpoint => ({
  name,
  knownAddresses: states.map((state, i) => ({ label: `10.0.0.${i}:80`, host: { name }, health: { state } }))
})

const look = (...workers: readonly Worker[]) => workers.forEach(({ states }) => void states.look())
const NONE = { healthy: 0, unreachable: 0, unhealthy: 0, ejected: 0 }

test('one of the workers reports, and another one when that has gone without a word', () => {
  const { worker, pass } = bench()
  const [one, other] = [worker(0), worker(1)]
  const shop = endpoint('shop', 'healthy', 'ejected', 'healthy')
  for (const { states } of [one, other]) states.of(shop).begin()
  look(one, other)
  deepEqual([...one.shown, ...other.shown], [['shop', { ...NONE, healthy: 2, ejected: 1 }]])
  for (let i = 0; i < 100; i++) {
    pass(500)
    look(other, one)
  }
  equal(other.shown.size, 0)
  pass(44_000)
  look(other)
  equal(other.shown.size, 0)
  pass(2_000)
  look(other)
  equal(other.shown.size, 1)
  // It has only been slow.
  look(one)
  equal(one.shown.size, 0)
})

test('who replaces it goes on, and one that knows no address leaves the report to others', () => {
  const { worker } = bench()
  const [one, other] = [worker(0), worker(1)]
  const shop = endpoint('shop', 'healthy')
  const unknown = { ...endpoint('shop') }
  one.states.of(shop).begin()
  look(one)
  const heir = worker(0)
  heir.states.of(shop).begin()
  other.states.of(shop).begin()
  look(other, heir)
  deepEqual([heir.shown.size, other.shown.size], [1, 0])
  heir.states.of(unknown).begin()
  heir.states.of(shop).end()
  look(heir, other)
  deepEqual([heir.shown.size, other.shown.size], [0, 1])
})

test('what several endpoints of a destination reach counts once, by its worst state', () => {
  const { worker } = bench()
  const { states, shown } = worker(0)
  states.of(endpoint('shop', 'healthy', 'unhealthy')).begin()
  states.of(endpoint('shop', 'unreachable', 'healthy', 'healthy')).begin()
  states.look()
  deepEqual(shown.get('shop'), { healthy: 1, unreachable: 1, unhealthy: 1, ejected: 0 })
})

test('a destination is reported as long as a configuration has it', () => {
  const { worker } = bench()
  const { states, shown } = worker(0)
  const use = states.of(endpoint('shop', 'healthy'))
  use.begin()
  states.look()
  // A reload.
  use.begin()
  use.end()
  states.look()
  equal(shown.size, 1)
  use.end()
  equal(shown.size, 0)
  states.look()
  equal(shown.size, 0)
})

test('of very many destinations some are reported, others when those are gone', () => {
  const { worker } = bench()
  const { states, shown } = worker(0)
  const uses = Array.from({ length: 1_002 }, (_, i) => states.of(endpoint(`shop-${i}`, 'healthy')))
  for (const use of uses) use.begin()
  states.look()
  equal(shown.size, 1_000)
  uses[0]!.end()
  states.look()
  deepEqual([shown.size, shown.has('shop-1000'), shown.has('shop-1001')], [1_000, true, false])
})
