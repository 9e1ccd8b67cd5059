import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

const load = (text: string) => loadConfig(text, { file: 'f', env: {}, policies, backends, readFile: () => '' })

/** Messages and hints about one match of one listener. */
function mistakesOf(path: object, settings: object = {}): string[] {
  const route = { matches: [{ path }], policies: { directResponse: { status: 200 } } }
  const result = load(JSON.stringify({ binds: [{ port: 1, listeners: [{ ...settings, routes: [route] }] }] }))
  return result.ok ? [] : result.errors.map(({ message, hint }) => `${message}; ${hint ?? ''}`)
}

test('a path of a match that no request has is an error that says how to write it', () => {
  const cases: readonly (readonly [path: string, settings: object, expected: RegExp])[] = [
    ['/a%zz', {}, /begins no escape; write %25/],
    ['/100%', {}, /write %25/],
    ['/a\\b', {}, /set paths.backslashes: keep/],
    ['/a%5Cb', {}, /set paths.backslashes: keep/],
    ['/a/../b', {}, /come as \/b; write \/b/],
    ['/a/./b', {}, /write \/a\/b/],
    ['/a%00', {}, /control characters/],
    ['/a%FF', {}, /set paths.invalidUtf8: keep/],
    ['/a/..;/b', {}, /dot segments/],
    ['/a/..%2Fb', {}, /dot segments/],
    ['//a', { mergeSlashes: true }, /write \/a/],
    ['/a;b', { parameters: 'strip' }, /write \/a/],
    ['/a;b', { parameters: 'reject' }, /set paths.parameters: keep/],
    ['/a%2Fb', { escapedSlashes: 'redirect' }, /write \/a\/b/],
    ['/%252e', { doubleEncoding: 'reject' }, /set paths.doubleEncoding: keep/]
  ]
  for (const [path, paths, expected] of cases) {
    for (const key of ['exact', 'pathPrefix']) {
      const [mistake = '', ...more] = mistakesOf({ [key]: path }, Object.keys(paths).length === 0 ? {} : { paths })
      assert.match(mistake, expected, path)
      assert.deepEqual(more, [])
    }
  }
  for (const path of [
    '/',
    '/a/',
    '/caf%C3%A9',
    '/a%3Ab',
    '/p/a%2Fb',
    '/100%25',
    '//a',
    '/a;b',
    '/%252e',
    '/.well-known'
  ]) {
    assert.deepEqual(mistakesOf({ exact: path }), [], path)
  }
  const paths = { backslashes: 'keep', invalidUtf8: 'keep' }
  for (const path of ['/a\\b', '/a%5Cb', '/a%FF', '/a%ff']) assert.deepEqual(mistakesOf({ exact: path }, { paths }), [])
})

test('an expression of a match is written decoded', () => {
  assert.match(mistakesOf({ regex: '/r%3Ab' })[0] ?? '', /decoded path.*; write \/r:b/)
  assert.match(mistakesOf({ regex: '/r%28.*' })[0] ?? '', /write \/r\\\(\.\*/)
  assert.match(mistakesOf({ regex: '/%2fr' })[0] ?? '', /write \/%2Fr/)
  for (const regex of ['/r:b', '/a%2F.*', '/a%252F.*', '/x%25FF', '(?i)/a%2fb', '/[%]3A', '/100%', '/a%E9']) {
    assert.deepEqual(mistakesOf({ regex }), [], regex)
  }
})

test('names of header fields with "_" that never arrive are warned of, each with its place', () => {
  const key = { keys: [{ key: 'k-1234567890' }], location: { header: { name: 'x_key' } } }
  const file = (headersWithUnderscores?: string) => ({
    frontendPolicies: { accessLog: { add: { role: "request.headers['x_log']" } } },
    binds: [
      {
        port: 1,
        listeners: [
          {
            ...(headersWithUnderscores === undefined ? {} : { headersWithUnderscores }),
            routes: [
              {
                matches: [{ headers: [{ name: 'x_role', value: { exact: 'a_b' } }] }],
                policies: {
                  apiKeyAuthentication: key,
                  cors: { allowOrigins: ['https://a_b.example'], allowHeaders: ['x-a', 'x_cors'] },
                  authorization: { rules: ["request.headers['x_tenant'] == 'a_b' && 'x_in' in request.headers"] },
                  transformation: { request: { set: { 'x-b': 'request.headers.x_set' } } },
                  directResponse: { status: 200 }
                }
              }
            ]
          }
        ]
      }
    ]
  })
  const namesOf = (settings?: string) => {
    const result = load(JSON.stringify(file(settings)))
    assert.ok(result.ok, JSON.stringify(result))
    return result.warnings.flatMap((warning) => /"(\S+)" never arrives/.exec(warning)?.[1] ?? [])
  }
  const all = ['x_cors', 'x_in', 'x_key', 'x_log', 'x_role', 'x_set', 'x_tenant']
  assert.deepEqual(namesOf().toSorted(), all)
  assert.deepEqual(namesOf('reject').toSorted(), all)
  assert.deepEqual(namesOf('keep'), [])
})
