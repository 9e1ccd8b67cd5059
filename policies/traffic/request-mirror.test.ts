import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Seen, startOrigin } from '#engine/testing/origin.ts'
import { compilePolicy } from '#engine/testing/policy.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { policies } from '#policies/index.ts'
import { requestMirror } from './request-mirror.ts'

const host = { kind: 'static', host: 'b.example', port: 80, unixPath: null, policies: {} }
const backend = { host: 'b.example:80' }

/** The messages about the mirror of a file, with their paths. */
function problems(mirror: string): string[] {
  const file = `binds: [{ port: 1, listeners: [{ routes: [{ policies: { requestMirror: ${mirror} } }] }] }]`
  const loaded = loadConfig(file, { file: 'test.yaml', env: {}, policies, backends })
  return loaded.ok ? [] : loaded.errors.map(({ path, message }) => `${path.replace(/^.*policies\./, '')}: ${message}`)
}

test('a backend inline or by name, a share in four spellings, one mirror or several', () => {
  const shares = (config: unknown) => compilePolicy(requestMirror, config).mirrors
  assert.deepEqual(shares({ backend }), [{ backend: host, share: 1 }])
  assert.deepEqual(shares({ backend: { backend: 'b' }, percentage: 0.25 }), [{ backend: 'b', share: 0.25 }])
  assert.deepEqual(shares({ backendRef: { name: 'b' }, percent: 25 }), [{ backend: 'b', share: 0.25 }])
  assert.deepEqual(shares({ backendRef: { name: 'b' }, fraction: { numerator: 1 } }), [{ backend: 'b', share: 0.01 }])
  assert.deepEqual(shares([{ backend, fraction: { numerator: 1, denominator: 8 } }, { backend }]), [
    { backend: host, share: 0.125 },
    { backend: host, share: 1 }
  ])
})

test('limits', () => {
  for (const [mirror, expected] of [
    ['{}', 'requestMirror: must have exactly one of backend, backendRef'],
    ['{ backend: {} }', 'requestMirror.backend: must have exactly one of host, backend'],
    ['{ backend: { host: b } }', 'requestMirror.backend.host: must be "host:port"'],
    [
      '{ backendRef: { name: b }, backend: { host: "b:1" } }',
      'requestMirror: must have exactly one of backend, backendRef'
    ],
    ['{ backendRef: { name: b }, percentage: 1.5 }', 'requestMirror.percentage: must be a number from 0 to 1'],
    ['{ backendRef: { name: b }, percent: 101 }', 'requestMirror.percent: must be a whole number from 0 to 100'],
    ['{ backendRef: { name: b }, fraction: { numerator: 101 } }', 'requestMirror.fraction.numerator: must not be more'],
    [
      '{ backendRef: { name: b }, fraction: { numerator: 0, denominator: 0 } }',
      'requestMirror.fraction.denominator: must be a whole number from 1'
    ],
    ['{ backendRef: { name: b }, percent: 1, percentage: 1 }', 'requestMirror: must have at most one of percentage'],
    ['[]', 'requestMirror: ']
  ] as const) {
    const found = problems(mirror)
    assert.equal(found.length, 1, `${mirror}: ${found.join('; ')}`)
    assert.ok(found[0]!.startsWith(expected), `${mirror}: ${found[0]}`)
  }
})

test('the example of the docs: both get the request, the client one answer', async (t) => {
  let mirrored: (seen: Seen) => void = () => {}
  const copy = new Promise<Seen>((resolve) => {
    mirrored = resolve
  })
  const origin = await startOrigin()
  const shadow = await startOrigin((response, seen) => {
    mirrored(seen)
    response.end('from the mirror')
  })
  const example = readFileSync(new URL('../../docs/examples/request-mirror.yaml', import.meta.url), 'utf8')
  const gateway = await startGateway(
    example.replace('8080', '0').replace('9001', String(origin.port)).replace('9002', String(shadow.port))
  )
  t.after(async () => {
    await gateway.close()
    origin.close()
    shadow.close()
  })
  const request = 'POST /a HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'
  const answer = await exchangeRaw(gateway.port, request)
  assert.match(answer, /^HTTP\/1.1 200 [\s\S]*\r\n\r\nhello$/)
  const { method, url, body, headers } = await copy
  assert.deepEqual([method, url, body, headers.slice(0, 2)], ['POST', '/a', 'hello', ['Host', 'a.test']])
})
