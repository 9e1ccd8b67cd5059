/** What is explained of the examples of the documentation is what a gateway that runs them does. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { explainer } from '#engine/testing/explain.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

const FOLDER = join(import.meta.dirname, '../../docs/examples')

/** Behind them stand services, models or sessions of their own, or TLS; limits take what an explanation does not. */
const OTHERS =
  /^(ext-|llm|mcp|prices|prompt-guard|spend|tls|tcp|grpc|edge|backend-tls|tracing|rate-limit|retry|policy-targets)/
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml') && !OTHERS.test(file))

type Header = readonly [name: string, value: string]
interface Sent {
  readonly method: string
  readonly target: string
  readonly headers: readonly Header[]
}

const PREFLIGHT: readonly Header[] = [
  ['Origin', 'https://app.example'],
  ['Access-Control-Request-Method', 'PUT']
]
const BASIC = Buffer.from('alice:wonderland').toString('base64')

/** Every path that the file names, some that no file has, and requests that policies look at. */
function requestsFor(text: string): Sent[] {
  const named = [...text.matchAll(/(?:exact|pathPrefix|prefix): ["']?(\/[^\s"',}]*)/g)].map(([, path]) => path!)
  const paths = [
    ...new Set([
      '/',
      '/nowhere/at/all',
      '/a/../b',
      '/%zz',
      '/a%2Fb',
      '/api?x=1',
      ...named,
      ...named.map((path) => `${path}/below`)
    ])
  ]
  const ask = (target: string, method: string, headers: readonly Header[] = []): Sent => ({ method, target, headers })
  return paths.flatMap((path) => [
    ask(path, 'GET'),
    ask(path, 'POST'),
    ask(path, 'OPTIONS', PREFLIGHT),
    ask(path, 'GET', [['Authorization', `Basic ${BASIC}`]]),
    ask(path, 'POST', [
      ['Sec-Fetch-Site', 'cross-site'],
      ['Origin', 'https://evil.example']
    ]),
    ask(path, 'GET', [
      ['x-api-key', 'nobody'],
      ['x-team', 'blue'],
      ['x-user', 'ann']
    ])
  ])
}

for (const file of FILES) {
  test(`${file}: status, code and what the backend gets are predicted`, async (t) => {
    const origin = await startOrigin()
    const text = readFileSync(join(FOLDER, file), 'utf8').replaceAll(':9001', `:${origin.port}`)
    const gateway = await startGateway(text.replace('port: 8080', 'port: 0'), { folder: FOLDER })
    t.after(async () => {
      await gateway.close()
      await origin.close()
    })
    const explain = explainer(text, FOLDER)
    for (const { method, target, headers } of requestsFor(text)) {
      const label = `${method} ${target} ${JSON.stringify(headers)}`
      const { outcome, upstream } = await explain({ method, url: `http://a.test:8080${target}`, headers })
      const before = origin.seen.length
      const lines = ['Host: a.test:8080', 'Connection: close', ...headers.map(([name, value]) => `${name}: ${value}`)]
      const answer = await exchangeRaw(gateway.port, [`${method} ${target} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
      const status = Number(answer.slice(9, 12))
      if (outcome.kind === 'answer') {
        assert.equal(outcome.status, status, label)
        assert.equal(answer.slice(answer.indexOf('\r\n\r\n') + 4), outcome.body, label)
        continue
      }
      assert.equal(outcome.kind, 'upstream', label)
      const seen = origin.seen.slice(before).find(({ url }) => url === upstream!.target)
      // A backend of another address: nobody listens there.
      if (seen === undefined) assert.ok(status >= 502 && status <= 504, `${label}: ${status}`)
      else {
        const names = seen.headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
        const predicted = ['host', ...upstream!.headers.map(([name]) => name.toLowerCase())]
        const ofConnection = ['connection', 'content-length']
        const some = (list: readonly string[]) =>
          [...new Set(list)].filter((name) => !ofConnection.includes(name)).toSorted()
        assert.deepEqual(some(names), some(predicted), label)
        assert.equal(seen.method, upstream!.method, label)
      }
    }
  })
}

test('most examples are compared', () => {
  assert.ok(FILES.length >= 15, String(FILES.length))
})
