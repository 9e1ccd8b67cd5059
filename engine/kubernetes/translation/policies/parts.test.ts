/** What it costs to give 1,024 providers of a GatewayBackend their policies, in walks over all of them. */
import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { gatewayBackend, OPTIONS, storeOf } from './cluster.fixture.ts'
import { translateBackend } from './index.ts'

const range = (count: number) => Array.from({ length: count }, (_, i) => i)

test('places inside a backend are walked through once for all of its providers', () => {
  let reads = 0
  const counted = backends.map((kind) => {
    const parts = kind.config?.parts
    if (parts === undefined) return kind
    const places: typeof parts.places = (value) => {
      reads++
      return parts.places(value)
    }
    return { ...kind, config: { ...kind.config!, parts: { ...parts, places } } }
  })
  const groups = range(32).map((g) => ({
    providers: range(32).map((i) => ({ name: `p${g}-${i}`, openai: { model: 'm' }, policies: { auth: { key: 'k' } } }))
  }))
  const backend = gatewayBackend('models', { ai: { groups } })
  const { isRefused, faults } = translateBackend(backend, storeOf(backend), { ...OPTIONS, backends: counted })
  equal(isRefused, false, JSON.stringify(faults[0]))
  ok(reads > 0 && reads < 10, String(reads))
})
