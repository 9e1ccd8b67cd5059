import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import type { MatchSpec } from './candidate.ts'
import { missesOf, nearestOf, nearestText, type RouterRoute } from './misses.ts'

const on = (name: string, match: Partial<MatchSpec>, hostnames: readonly string[] = []): RouterRoute => ({
  name,
  hostnames,
  matches: [{ path: { prefix: '/' }, headers: [], query: [], ...match }]
})
const ROUTES = [
  on('elsewhere', {}, ['*.other.example']),
  on('orders', { path: { prefix: '/orders' }, method: 'POST' }),
  on('team', { path: { exact: '/team' }, headers: [{ name: 'x-team', value: { exact: 'blue' } }] }),
  on('locked', { path: { exact: '/locked' }, headers: [{ name: 'x-secret', value: { exact: 'abc' } }] }),
  on('paged', { path: { regex: '/pages/[0-9]+' }, query: [{ name: 'v', value: { exact: '2' } }] })
]

interface Case {
  readonly request: ExchangeOptions
  readonly nearest: readonly [route: string, part: string]
  readonly says: RegExp
}

const CASES: readonly Case[] = [
  {
    request: { target: '/ordres' },
    nearest: ['orders', 'path'],
    says: /its path is "\/orders" and below, asked is "\/ordres"/
  },
  { request: { target: '/orders/1' }, nearest: ['orders', 'method'], says: /its method is POST, asked is "GET"/ },
  {
    request: { target: '/team', headers: [['x-team', 'red']] },
    nearest: ['team', 'header'],
    says: /header x-team is "blue", that of the request is "red"/
  },
  { request: { target: '/team' }, nearest: ['team', 'header'], says: /that of the request is not there/ },
  {
    request: { target: '/locked', headers: [['x-secret', 'guess']] },
    nearest: ['locked', 'header'],
    says: /header x-secret has a value of its own, that of the request is another$/
  },
  { request: { target: '/pages/7?v=1' }, nearest: ['paged', 'query'], says: /query parameter v is "2"/ }
]

for (const { request, nearest, says } of CASES) {
  test(`${request.target} is nearest to ${nearest.join(' by its ')}`, () => {
    const ex = fakeExchange(request)
    const found = nearestOf(missesOf(ROUTES, ex, 'a.example'))
    assert.deepEqual([found?.route, found?.part], nearest)
    assert.match(nearestText(ROUTES, ex, 'a.example'), says)
  })
}

test('a host that no route names is reported when no closer mismatch is found', () => {
  const text = nearestText(ROUTES.slice(0, 1), fakeExchange({ target: '/' }), 'a.example')
  assert.match(text, /^nearest of 1 is routes\[0\]\.matches\[0\] \(elsewhere\): its hostnames are "\*\.other\.example"/)
})

test('a match that fits is no miss, and of many routes some are looked at', () => {
  assert.deepEqual(missesOf(ROUTES.slice(0, 1), fakeExchange({ target: '/' }), 'b.other.example'), [])
  const many = Array.from({ length: 1_000 }, (_, i) => on(`r${i}`, { path: { exact: `/${i}` } }))
  assert.equal(missesOf(many, fakeExchange({ target: '/none' }), 'a.example').length, 256)
})

test('request values are cut, and likely keys are not shown', () => {
  const text = nearestText(ROUTES, fakeExchange({ target: `/${'a'.repeat(5_000)}` }), 'a.example')
  assert.ok(text.length < 300, text)
  const keyed = fakeExchange({ target: '/team', headers: [['x-team', 'sk-live1234567890']] })
  assert.doesNotMatch(nearestText(ROUTES, keyed, 'a.example'), /live1234567890/)
})
