/** Files that are almost right: each of the examples with one thing changed. None may break the loader. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { backends } from '#backends/index.ts'
import { FAULT, type LoadResult, loadConfig } from '#engine/standalone/load.ts'
import { exampleFiles } from '#engine/testing/certificates.ts'
import { policies } from './index.ts'

const FOLDER = fileURLToPath(new URL('../docs/examples/', import.meta.url))
/** Where names are the user's own, so that another name is no mistake. */
const FREE = new RegExp(
  [
    '\\.(?:set|add)\\.(?!\\d)',
    '\\.metadata\\b',
    '\\.(?:ai|llm)\\.(?:routes|modelAliases)\\.',
    '\\.models\\.\\d+\\.(?:defaults|overrides)\\.',
    '\\.(?:resourceMetadata|env|schema|entries|labels|matchLabels)\\.',
    '\\.(?:contextExtensions|requestMetadata|responseMetadata|addRequestHeaders)\\.',
    '\\.(?:requestAttributes|responseAttributes|metadataContext)\\.'
  ].join('|')
)

const readFile = exampleFiles()

type Json = null | string | number | boolean | Json[] | { [key: string]: Json }

/** What the examples do not have. */
const MORE: readonly Json[] = [
  {
    backendTLS: { hostname: 'a', alpn: ['h2'], subjectAltNames: ['a'] },
    tcp: { connectTimeout: '1s', keepalives: { time: '1s' } }
  },
  { tls: { sni: 'a', insecureSkipVerify: 'Hostname', alpnProtocols: ['h2'] }, tcp: { keepalive: { time: '0s' } } },
  { apiKey: { keys: [{ key: 'a', metadata: { team: 'a' } }], location: { queryParameter: { name: 'key' } } } },
  { jwtAuth: { issuer: 'a', jwks: { url: 'https://a.example/' }, location: { cookie: { name: 'a' } } } },
  { jwtAuth: { providers: [{ issuer: 'a', jwks: { url: 'https://a.example/', cacheDuration: '1m' } }] } },
  { basicAuth: { users: ['ann:{SHA}2PRZAyDhNDqRW2OUFwZQqPNdaSY='], realm: 'a', mode: 'Optional' } },
  { authorization: { policy: { matchExpressions: ['true'] }, action: 'Deny' } },
  { authorization: { rules: [{ allow: 'true' }, { deny: 'false' }, { require: 'true' }] } },
  { requestMirror: { backendRef: { name: 'b' }, fraction: { numerator: 1, denominator: 2 } } },
  { retry: { attempts: 1, budget: { percent: 20, minPerSecond: 10 }, condition: 'true' } },
  { timeout: { requestTimeout: '1s', backendRequestTimeout: '1s' } },
  { transformation: { request: { set: { a: '"b"' }, remove: ['c'], body: '"d"' }, response: { add: { a: '"b"' } } } },
  { headerModifiers: { request: { add: [{ name: 'a', value: 'b' }] } } },
  { urlRewrite: { authority: { full: 'a' }, path: { prefix: '/a' } } },
  { requestRedirect: { scheme: 'https', authority: { host: 'a' }, path: { full: '/' }, status: 301 } },
  { directResponse: { status: 200, bodyExpression: '"a"' } },
  {
    mcpAuthentication: {
      ...{ issuer: 'https://a.example', audiences: ['a'], provider: { keycloak: {} }, mode: 'Optional', clientId: 'a' },
      ...{
        requiredScopes: ['a'],
        resourceMetadata: { a: 1 },
        leeway: '1s',
        jwtValidationOptions: { requiredClaims: [] }
      }
    }
  }
]

const MCP: Json = {
  mcp: {
    port: 3000,
    sessionRouting: 'Stateful',
    prefixMode: 'always',
    session: { key: '0123456789abcdef', idleTimeout: '1m' },
    maxMessageSize: 1024,
    targets: [
      { name: 'a', stdio: { cmd: 'a', args: ['b'], env: { A: 'b' }, cwd: '/' } },
      { name: 'b', sse: { host: 'b', port: 1, path: '/a' }, policies: { backendTLS: {}, backendAuth: { key: 'a' } } },
      { name: 'c', openapi: { host: 'c', schema: { openapi: '3.0.0', paths: {} } } },
      {
        name: 'd',
        static: {
          host: 'd',
          port: 1,
          protocol: 'SSE',
          policies: { auth: { key: 'a', location: { header: { name: 'b' } } } }
        },
        policies: { mcp: { authorization: { policy: { matchExpressions: ['true'] }, action: 'Deny' } } }
      }
    ]
  }
}

function load(file: Json): LoadResult {
  return loadConfig(JSON.stringify(file), {
    file: 'changed.json',
    folder: FOLDER,
    env: {},
    policies,
    backends,
    processors: 2,
    readFile
  })
}

function originals(): Json[] {
  const examples = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))
  const withEnv = (text: string) => text.replace(/\$\{\w+:-(\w+)\}/g, '$1')
  return [
    ...examples.map((name) => parse(withEnv(readFileSync(FOLDER + name, 'utf8'))) as Json),
    MCP,
    ...MORE.map((set) => ({
      backends: [{ name: 'b', host: 'localhost:1' }],
      binds: [{ port: 8080, listeners: [{ routes: [{ policies: set, backends: [{ backend: 'b' }] }] }] }]
    }))
  ]
}

/** Every value inside `value`, with its path and what puts another value in its place. */
function* places(value: Json, path = '', put: (other: Json) => Json = (other) => other): Generator<Place> {
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, Json>)[key]!
    const at = (other: Json): Json =>
      put(Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other })
    const renamed = Array.isArray(value) ? null : put(rename(value, key))
    yield { path: `${path}.${key}`, at, renamed }
    yield* places(inner, `${path}.${key}`, at)
  }
}

interface Place {
  readonly path: string
  readonly at: (other: Json) => Json
  /** The file with another name for the key; null in a list. */
  readonly renamed: Json | null
}

function rename(value: Record<string, Json>, key: string): Json {
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name === key ? `${key}x` : name, inner]))
}

function noFault(result: LoadResult, change: string): void {
  const faults = result.ok ? [] : result.errors.filter(({ message }) => message.startsWith(FAULT))
  assert.deepEqual(faults, [], change)
}

test('a misspelt key is a mistake, wherever it stands', () => {
  for (const file of originals()) {
    const right = load(file)
    assert.ok(right.ok, JSON.stringify(right))
    for (const { path, renamed } of places(file)) {
      if (renamed === null || FREE.test(path)) continue
      const result = load(renamed)
      assert.equal(result.ok, false, path)
      noFault(result, path)
    }
  }
})

test('a value of another kind never breaks the loader', () => {
  // The same place of another file is the same schema.
  const seen = new Set<string>()
  for (const file of originals()) {
    for (const { path, at } of places(file)) {
      const shape = path.replaceAll(/\.\d+(?=\.|$)/g, '.0')
      if (seen.has(shape)) continue
      seen.add(shape)
      for (const other of [null, 7, -1, true, '', 'text', [], [null], {}, { a: {} }]) {
        noFault(load(at(other)), `${path}: ${JSON.stringify(other)}`)
      }
    }
  }
})
