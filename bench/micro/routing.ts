/** Matching: what a request pays for its route, with one route of each kind and with many. */
import type { Bench } from 'tinybench'
import type { Router } from '#engine/contract/route.ts'
import type { RouterRoute } from '#engine/routing/misses.ts'
import { routerOf } from '#engine/testing/build-router.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'

/** Calls per sample: one call is shorter than the clock can tell. */
const BATCH = Number(process.env.WEIR_BENCH_BATCH ?? 1000)

export function register(bench: Bench): void {
  for (const count of [1, 100, 5000]) {
    const router = routerWith(count)
    const last = count - 1
    const ask = (what: string, options: ExchangeOptions) => add(bench, `${what}, ${count} routes`, router, options)
    ask('prefix', { target: `/api/${last % 70}/${last}/items` })
    ask('exact path', { target: `/exact/${last}` })
    ask('host', { target: '/hosted', authority: `h${last}.example.com:8080` })
    ask('header and query', {
      target: '/conditions?page=2&sort=name',
      headers: [
        ['User-Agent', 'bench'],
        ['X-Tenant', 'blue']
      ]
    })
    ask('expression', { target: '/v12/things' })
  }
}

/** `count` routes of each kind, so that no table is empty. */
function routerWith(count: number): Router {
  const routes: RouterRoute[] = []
  const none = { headers: [], query: [] }
  for (let i = 0; i < count; i++) {
    const prefix = `/api/${i % 70}/${i}`
    routes.push({ name: `prefix ${i}`, hostnames: [], matches: [{ path: { prefix }, ...none }] })
    routes.push({ name: `exact ${i}`, hostnames: [], matches: [{ path: { exact: `/exact/${i}` }, ...none }] })
    const hostnames = [`h${i}.example.com`]
    routes.push({ name: `host ${i}`, hostnames, matches: [{ path: { prefix: '/hosted' }, ...none }] })
  }
  const conditions = {
    path: { prefix: '/conditions' },
    headers: [{ name: 'x-tenant', value: { exact: 'blue' } }],
    query: [{ name: 'sort', value: { exact: 'name' } }]
  }
  routes.push({ name: 'conditions', hostnames: [], matches: [conditions] })
  routes.push({ name: 'expression', hostnames: [], matches: [{ path: { regex: '/v[0-9]+/.*' }, ...none }] })
  return routerOf([{ port: 80, listeners: [{ name: 'all', hostname: '*', routes }] }])
}

/** Times BATCH calls at once. A request without a route is a mistake of the bench. */
function add(bench: Bench, what: string, router: Router, options: ExchangeOptions): void {
  const ex = fakeExchange(options)
  bench.add(`routing: ${what}`, () => {
    let failed = 0
    const start = performance.now()
    for (let i = 0; i < BATCH; i++) if (router.route(ex) !== null) failed++
    const ms = performance.now() - start
    if (failed > 0) throw new Error(`${what}: no route`)
    return { overriddenDuration: ms / BATCH }
  })
}
