import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { admit, type Running } from './admission.ts'

const NOW = 100_000
const spec = { backend: 'b', isWire: false }

/** `idleMs`: null, it is in use. */
const one = (party: string, idleMs: number | null, backend = 'b'): Running => ({
  party,
  session: { spec: { ...spec, backend }, isIdle: idleMs !== null, usedAt: NOW - (idleMs ?? 0) }
})

function room(party: string, ...all: Running[]) {
  const running = new Map(all.map((each, i) => [String(i), each]))
  return admit(running, { spec, party, ending: 0, childrenMax: 4, now: NOW })
}

test('a party at its share evicts its own idle processes', () => {
  const others = one('b', 90_000)
  deepEqual(room('a', one('a', 0), one('a', null), others), { end: null })
  deepEqual(room('a', one('a', null), one('a', null), one('a', 9_000)), { why: 'share' })
  deepEqual(room('a', one('a', 11_000), one('a', null), one('a', 20_000)), { end: '2' })
  deepEqual(room('a', others, one('a', null), one('a', null), one('a', null)), { why: 'all' })
})

test('a party below its share evicts idle processes of all', () => {
  deepEqual(room('c', one('a', null), one('a', 11_000), one('a', 12_000), one('b', null)), { end: '2' })
  deepEqual(room('c', one('a', null), one('a', null), one('a', 9_000), one('b', null)), { why: 'all' })
})

test('backends have rooms of their own', () => {
  deepEqual(room('a', ...Array.from({ length: 8 }, () => one('a', null, 'other'))), { end: null })
})
