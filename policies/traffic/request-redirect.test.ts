import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STOP } from '#engine/contract/filter.ts'
import type { CompiledMatch } from '#engine/contract/route.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, problemsOf, runRequest, takeMatch } from '#engine/testing/policy.ts'
import { requestRedirect } from './request-redirect.ts'

function redirect(config: unknown, request: ExchangeOptions, prefix = '') {
  const matches: CompiledMatch[] = [{ kind: 'prefix', path: prefix }]
  const ex = takeMatch(fakeExchange(request), matches)
  assert.equal(runRequest(compilePolicy(requestRedirect, config, matches), ex), STOP)
  const { status, body, headers } = ex.localReply!
  assert.equal(body, null)
  assert.equal(headers![0], 'location')
  return { status, location: headers![1] }
}

interface Case {
  readonly config: unknown
  readonly request: ExchangeOptions
  readonly location: string
}

const table: readonly Case[] = [
  { config: { scheme: 'https' }, request: { target: '/a?b=c' }, location: 'https://example.com/a?b=c' },
  { config: { scheme: 'https' }, request: { authority: 'example.com:8080' }, location: 'https://example.com/' },
  { config: { scheme: 'https', port: 443 }, request: {}, location: 'https://example.com/' },
  { config: { scheme: 'https', port: 8443 }, request: {}, location: 'https://example.com:8443/' },
  { config: { scheme: 'http', port: 443 }, request: {}, location: 'http://example.com:443/' },
  { config: { hostname: 'b.example' }, request: { target: '/x' }, location: 'http://b.example/x' },
  { config: { hostname: 'b.example' }, request: { authority: 'a:8080' }, location: 'http://b.example:8080/' },
  {
    config: { authority: { host: 'b.example' } },
    request: { authority: 'a:8080' },
    location: 'http://b.example:8080/'
  },
  { config: { port: 80 }, request: { authority: 'a:8080' }, location: 'http://a/' },
  { config: { authority: { port: 8081 } }, request: { authority: '[::1]:8080' }, location: 'http://[::1]:8081/' },
  {
    config: { authority: { full: 'b.example:9000' } },
    request: { target: '/x?y' },
    location: 'http://b.example:9000/x?y'
  },
  { config: { path: { full: '/new' } }, request: { target: '/old?q=1' }, location: '/new?q=1' },
  {
    config: { scheme: 'https', authority: { full: 'b.example' }, path: { full: '/new' } },
    request: {},
    location: 'https://b.example/new'
  },
  { config: { scheme: 'https' }, request: { authority: '', target: '/a' }, location: '/a' }
]

for (const { config, request, location } of table) {
  test(`${JSON.stringify(config)} of ${JSON.stringify(request)} is ${location}`, () => {
    assert.deepEqual(redirect(config, request), { status: 302, location })
  })
}

test('the prefix of the match is replaced', () => {
  assert.equal(redirect({ path: { prefix: '/new' } }, { target: '/old/x?y' }, '/old').location, '/new/x?y')
  assert.equal(redirect({ path: { prefix: '' } }, { target: '/old' }, '/old').location, '/')
})

test('no path makes the client go to a host of its own choice', () => {
  for (const target of ['//evil.example/x', '///evil.example/x', '/\\evil.example/x', '/\\/evil.example/x']) {
    assert.equal(redirect({ status: 301 }, { target }).location, '/evil.example/x')
    const stripped = redirect({ path: { prefix: '' } }, { target: `/old${target}` }, '/old').location
    assert.equal(stripped, '/evil.example/x')
  }
})

test('the path is the one that the client sent', () => {
  const ex = takeMatch(fakeExchange({ target: '/a' }), [{ kind: 'prefix', path: '' }])
  ex.path = '/rewritten'
  runRequest(compilePolicy(requestRedirect, { scheme: 'https' }), ex)
  assert.deepEqual(ex.localReply!.headers, ['location', 'https://example.com/a'])
})

test('statuses', () => {
  for (const status of [301, 302, 303, 307, 308]) assert.equal(redirect({ status }, {}).status, status)
  for (const status of [200, 300, 304, 306, 309, '302']) assert.equal(problemsOf(requestRedirect, { status }).length, 1)
})

test('contradictions and odd values are refused', () => {
  for (const config of [
    { authority: { host: 'a' }, hostname: 'b' },
    { authority: { host: 'a' }, port: 80 },
    { authority: 'auto' },
    { scheme: 'ftp' },
    { hostname: 'a:80' },
    { hostname: 'a/b' },
    { port: 65536 },
    { path: { full: 'x' } },
    { path: { full: '//evil.example' } }
  ]) {
    assert.notEqual(problemsOf(requestRedirect, config).length, 0, JSON.stringify(config))
  }
  const exact: CompiledMatch[] = [{ kind: 'exact', path: '/a' }]
  assert.throws(() => compilePolicy(requestRedirect, { path: { prefix: '/x' } }, exact), /matches\[0\] .* exact "\/a"/)
})

test('before routing the path was rewritten: the prefix of what was matched is replaced', () => {
  const matches: CompiledMatch[] = [{ kind: 'prefix', path: '/v2' }]
  const redirected = (target: string) => {
    const ex = takeMatch(fakeExchange({ target }), matches)
    ex.path = '/v2/a'
    runRequest(compilePolicy(requestRedirect, { path: { prefix: '/new' } }, matches), ex)
    return ex.localReply!.headers![1]
  }
  assert.equal(redirected('/longer/path?b=c'), '/new/a?b=c')
  // A rewrite for the upstream of a path that has the prefix is none of the client's business.
  assert.equal(redirected('/v2/own'), '/new/own')
})
