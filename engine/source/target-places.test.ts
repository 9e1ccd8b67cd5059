/** What it costs to find 10,000 targets, in how often lists are walked through. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Placed } from '#engine/schema/placed.ts'
import { Targets } from './target-places.ts'
import type { ConfigTree, PlacedBackend } from './tree.ts'

const COUNT = 10_000
const names = (prefix: string) => Array.from({ length: COUNT }, (_, i) => `${prefix}${i}`)
const placed = (name: string, more: object = {}): Placed => ({ raw: { name, ...more }, path: [name] })

function treeOf() {
  const walks = { listeners: 0, backends: 0, parts: 0 }
  const parts = {
    word: 'provider',
    places: () => [],
    policies: [],
    of: () => {
      walks.parts++
      return names('p').map((name) => placed(name))
    }
  }
  const backend = { ...placed('all'), config: { parts }, value: placed('all') } as unknown as PlacedBackend
  const rules = names('rule').map((ruleName) => ({ ...placed('route', { ruleName }), name: 'route', references: [] }))
  const listeners = names('l').map((name, i) => ({ ...placed(name), name, routes: i === 0 ? rules : [] }))
  const tree = {
    get binds() {
      walks.listeners++
      return [{ listeners, shortcut: null }]
    },
    get backends() {
      walks.backends++
      return [backend, { ...backend, raw: { name: 'all', other: 1 } }]
    }
  }
  return { targets: new Targets(tree as unknown as ConfigTree), walks, backend }
}

test('lists of targets are walked through once', () => {
  const { targets, walks, backend } = treeOf()
  for (let i = 0; i < COUNT; i++) {
    equal(targets.listeners(`l${i}`).found[0]?.name, `l${i}`)
    equal(targets.rules('route', `rule${i}`).found.length, 1)
    equal(targets.backend('all').found, backend)
    equal(targets.part(backend, `p${i}`).found?.raw.name, `p${i}`)
  }
  deepEqual([targets.routes('gone').found, targets.routes('gone').known()], [[], ['route']])
  equal(targets.part(backend, 'gone').known(), targets.part(backend, 'lost').known())
  equal(walks.parts, 1)
  // For each of listeners, routes and backends a few times.
  ok(walks.backends <= 3 && walks.listeners <= 3, JSON.stringify(walks))
})
