import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CONTINUE } from '#engine/contract/filter.ts'
import type { CompiledMatch } from '#engine/contract/route.ts'
import { compileMatch } from '#engine/routing/candidate.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, problemsOf, runRequest, takeMatch } from '#engine/testing/policy.ts'
import { urlRewrite } from './url-rewrite.ts'

const prefixMatch = (prefix: string): CompiledMatch => compileMatch({ path: { prefix }, headers: [], query: [] })

function rewritten(config: unknown, target: string, prefix = '/'): string {
  const matches = [prefixMatch(prefix)]
  const ex = takeMatch(fakeExchange({ target }), matches)
  assert.equal(runRequest(compilePolicy(urlRewrite, config, matches), ex), CONTINUE)
  return ex.path + ex.query
}

test('replacing the prefix, as the Gateway API tabulates it', () => {
  const table: [path: string, prefix: string, replacement: string, result: string][] = [
    ['/foo/bar', '/foo', '/xyz', '/xyz/bar'],
    ['/foo/bar', '/foo', '/xyz/', '/xyz/bar'],
    ['/foo/bar', '/foo/', '/xyz', '/xyz/bar'],
    ['/foo/bar', '/foo/', '/xyz/', '/xyz/bar'],
    ['/foo', '/foo', '/xyz', '/xyz'],
    ['/foo/', '/foo', '/xyz', '/xyz/'],
    ['/foo/bar', '/foo', '', '/bar'],
    ['/foo/', '/foo', '', '/'],
    ['/foo', '/foo', '', '/'],
    ['/foo/', '/foo', '/', '/'],
    ['/foo', '/foo', '/', '/'],
    ['/bar', '/', '/xyz', '/xyz/bar'],
    ['/', '/', '/xyz', '/xyz/']
  ]
  for (const [path, prefix, replacement, result] of table) {
    assert.equal(rewritten({ path: { prefix: replacement } }, path, prefix), result, `${path} ${prefix} ${replacement}`)
  }
})

test('the query stays', () => {
  assert.equal(rewritten({ path: { full: '/x' } }, '/a/b?c=/d'), '/x?c=/d')
  assert.equal(rewritten({ path: { prefix: '/x' } }, '/a?b', '/a'), '/x?b')
})

test('the rest of a rewritten path never names a host', () => {
  assert.equal(rewritten({ path: { prefix: '' } }, '/foo//evil.example/x', '/foo'), '/evil.example/x')
  assert.equal(rewritten({ path: { prefix: '/' } }, '/foo//evil.example/x', '/foo'), '/evil.example/x')
})

test('the prefix of the match that was taken is replaced', () => {
  const matches = [prefixMatch('/a'), prefixMatch('/a/b')]
  const ex = takeMatch(fakeExchange({ target: '/a/b/c' }), matches, 1)
  runRequest(compilePolicy(urlRewrite, { path: { prefix: '/x' } }, matches), ex)
  assert.equal(ex.path, '/x/c')
})

test('a path that a policy ahead has changed keeps what is not the prefix', () => {
  const matches = [prefixMatch('/api/v1')]
  for (const [changed, result] of [
    ['/abcdefghijk', '/abcdefghijk'],
    ['/api/v10', '/api/v10'],
    ['/api/v1/b', '/x/b']
  ] as const) {
    const ex = takeMatch(fakeExchange({ target: '/api/v1/a' }), matches)
    ex.path = changed
    runRequest(compilePolicy(urlRewrite, { path: { prefix: '/x' } }, matches), ex)
    assert.equal(ex.path, result)
  }
})

test('a prefix can only be replaced where every match has one', () => {
  const matches: CompiledMatch[] = [prefixMatch('/a'), { kind: 'regex', path: '/b.*' }]
  assert.throws(() => compilePolicy(urlRewrite, { path: { prefix: '/x' } }, matches), {
    message: 'path.prefix needs prefix matches, but matches[1] of the route is regex "/b.*"'
  })
  compilePolicy(urlRewrite, { path: { full: '/x' } }, matches)
})

test('the authority sent upstream', () => {
  const cases: [config: unknown, authority: string, host: string][] = [
    [{ full: 'b.example:8080' }, 'a.example', 'b.example:8080'],
    [{ full: 'b.example' }, 'a.example:81', 'b.example'],
    [{ host: 'b.example' }, 'a.example:81', 'b.example:81'],
    [{ host: 'b.example' }, 'a.example', 'b.example'],
    [{ port: 8080 }, 'a.example:81', 'a.example:8080'],
    [{ port: 8080 }, '[::1]', '[::1]:8080']
  ]
  for (const [authority, from, host] of cases) {
    const ex = fakeExchange({ authority: from })
    runRequest(compilePolicy(urlRewrite, { authority }), ex)
    assert.equal(ex.upstreamHost, host)
    assert.equal(ex.path, '/')
  }
})

test('auto and none decide as hostRewrite does', () => {
  assert.deepEqual(compilePolicy(urlRewrite, { authority: 'auto' }), { settings: { hostRewrite: 'auto' } })
  assert.deepEqual(compilePolicy(urlRewrite, { authority: 'none' }), { settings: { hostRewrite: 'none' } })
})

test('paths that could break the request line are refused', () => {
  for (const path of ['', 'x', '/a b', '/a\r\nb', '/a?b', '/a#b', '//a', '/\\a', '/\u00e4', `/${'x'.repeat(1024)}`]) {
    assert.notEqual(problemsOf(urlRewrite, { path: { full: path } }).length, 0, path)
  }
  for (const config of [
    {},
    { path: {} },
    { path: { full: '/a', prefix: '/b' } },
    { authority: {} },
    { authority: 'sometimes' },
    { authority: { host: 'a:80' } },
    { authority: { full: 'a b' } },
    { authority: { host: 'a', port: 80 } },
    { authority: { port: 0 } },
    { query: 'x' }
  ]) {
    assert.notEqual(problemsOf(urlRewrite, config).length, 0, JSON.stringify(config))
  }
})

test('any received path stays fit for a request line', () => {
  const segments = fc.array(fc.constantFrom('', 'a', 'evil.example', '%0d%0a', '\\', '..'), { maxLength: 5 })
  const replacement = fc.constantFrom('', '/', '/x', '/x/', '/x/y')
  fc.assert(
    fc.property(segments, replacement, fc.constantFrom('/', '/p'), (rest, prefix, matched) => {
      const target = matched === '/' ? `/${rest.join('/')}` : [matched, ...rest].join('/')
      const path = rewritten({ path: { prefix } }, target, matched)
      assert.match(path, /^\/(?![/\\])[!-~]*$/)
    })
  )
})
