import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { ListenerNode, RouteNode } from './graph.ts'
import { hitsOf, strayOf } from './traffic.ts'

const listener: ListenerNode = {
  ...{ port: 8080, name: 'public', hostname: '*', protocol: 'HTTP', before: [], routes: [] }
}
const node = (name: string, route = name): RouteNode => ({
  ...{ name, route, hostnames: [], matches: [], policies: [], backends: [] }
})
const row = { port: 8080, listener: 'public', requests: 0, refused: 0, failed: 0, total: 0 }
const traffic = {
  ...{ seconds: 300, leftOut: 0 },
  routes: [
    { ...row, route: 'cart', requests: 200, refused: 20, failed: 1, total: 5000 },
    { ...row, route: 'cart', listener: 'inner', requests: 7, total: 7 },
    { ...row, route: '', requests: 3, refused: 3, total: 3 }
  ]
}

test('a route shows its own traffic, and what of it went wrong', () => {
  deepEqual(hitsOf(traffic, listener, node('cart')), {
    ...{ requests: 200, text: '200 in 5 min, 5,000 in all' },
    ...{ failed: '0.5 % failed, 1 of 200', refused: '10 % refused, 20 of 200' }
  })
  equal(hitsOf(traffic, listener, node('cart/1', 'cart'))!.text, '200 in 5 min, 5,000 in all (all its rules)')
  deepEqual(hitsOf(traffic, listener, node('dead')), {
    ...{ requests: 0, text: 'nothing since the start', failed: null, refused: null }
  })
  equal(strayOf(traffic, listener), 3)
})

test('what is not known is not shown as nothing', () => {
  equal(hitsOf(null, listener, node('cart')), null)
  equal(hitsOf({ ...traffic, leftOut: 4 }, listener, node('dead')), null)
  equal(strayOf(null, listener), 0)
})
