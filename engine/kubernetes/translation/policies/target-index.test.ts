/** What it costs to look for the policies of an object with many labels, in reads of its labels. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { policy } from '#engine/kubernetes/translation/cluster.fixture.ts'
import { TargetIndex } from './target-index.ts'

const selecting = (name: string, matchLabels: object) =>
  policy(name, { targetSelectors: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', matchLabels }] })

function counted(labels: Readonly<Record<string, string>>) {
  const count = { lists: 0, asks: 0, reads: 0 }
  const proxy = new Proxy(labels, {
    ownKeys: (held) => {
      count.lists++
      return Reflect.ownKeys(held)
    },
    getOwnPropertyDescriptor: (held, key) => {
      count.asks++
      return Reflect.getOwnPropertyDescriptor(held, key)
    },
    get: (held, key) => {
      count.reads++
      return Reflect.get(held, key)
    }
  })
  return { proxy, count }
}

const LABELS = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`l${i}`, 'v']))

test('10,000 labels of an object are listed once, and those that policies want are read', () => {
  const names = Array.from({ length: 16 }, (_, i) => `p${i}`)
  const others = selecting('other', { elsewhere: 'v' })
  const index = new TargetIndex([...names.map((name, i) => selecting(name, { [`l${i}`]: 'v' })), others])
  const { proxy, count } = counted(LABELS)
  for (let i = 0; i < 100; i++) {
    const found = index.aimsAt('HTTPRoute', 'r', () => proxy)
    deepEqual(
      found.map(({ policy: { metadata } }) => metadata.name),
      names
    )
  }
  equal(count.lists, 1)
  ok(count.reads <= 100 * 16 * 4, String(count.reads))
})

test('of 10,000 policies those are looked at that want a label of the object', () => {
  const policies = Array.from({ length: 10_000 }, (_, i) => selecting(`p${i}`, { [`l${i}`]: 'v' }))
  const index = new TargetIndex([...policies, selecting('all', {}), selecting('wrong', { l5: 'w' })])
  const { proxy, count } = counted({ l5: 'v', l9999: 'v' })
  const found = index.aimsAt('HTTPRoute', 'r', () => proxy).map(({ policy: { metadata } }) => metadata.name)
  deepEqual(found.sort(), ['all', 'p5', 'p9999'])
  ok(count.asks + count.reads < 50, JSON.stringify(count))
})
