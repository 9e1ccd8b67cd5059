/** docs/examples/edge.yaml: many policies of several levels in one file, as a real gateway has them. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Seen, startOrigin } from '#engine/testing/origin.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

const FOLDER = fileURLToPath(new URL('../docs/examples/', import.meta.url))
const example = (name: string) => readFileSync(FOLDER + name, 'utf8')
const TOKEN = /TOKEN=(\S+)/.exec(example('jwt-authentication.yaml'))![1]!
const BEARER = `Authorization: Bearer ${TOKEN}`
const KEY = /X-API-Key: (\w+)/.exec(example('api-key-authentication.yaml'))![0]
const ALICE = `Authorization: Basic ${Buffer.from('alice:wonderland').toString('base64')}`

test('an edge: every kind of caller, the refusals, and the requests that backends see', async (t) => {
  let mirrored: (seen: Seen) => void = () => {}
  const copy = new Promise<Seen>((resolve) => {
    mirrored = resolve
  })
  let answers = 0
  const api = await startOrigin((response, { body }) => response.writeHead(++answers === 1 ? 503 : 200).end(body))
  const next = await startOrigin((response, seen) => {
    mirrored(seen)
    response.end()
  })
  const file = example('edge.yaml').replace('8080', '0').replace('9001', `${api.port}`).replace('9002', `${next.port}`)
  const gateway = await startGateway(file, { folder: FOLDER })
  t.after(async () => {
    await gateway.close()
    api.close()
    next.close()
  })
  const ask = (line: string, ...headers: string[]) =>
    exchangeRaw(
      gateway.port,
      `${line} HTTP/1.1\r\n${['Host: a', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`
    )

  const first = await ask('GET /api/a', BEARER, 'x-debug: 1', 'Origin: https://app.example.com')
  assert.match(first, /^HTTP\/1.1 200 /)
  assert.match(first, /\r\nx-served-by: weir\r\n/)
  assert.match(first, /\r\nAccess-Control-Allow-Origin: https:\/\/app.example.com\r\n/)
  assert.equal(api.seen.length, 2, 'the 503 was followed by another attempt')
  for (const { headers } of [api.seen[1]!, await copy]) {
    const lines = headers.join(' ').toLowerCase()
    assert.match(lines, /x-user alice x-roles dev/)
    assert.doesNotMatch(lines, /x-debug|authorization/)
  }

  const rows: readonly (readonly [answer: RegExp, line: string, ...headers: string[]])[] = [
    [/^HTTP\/1.1 401 [\s\S]*Bearer realm/, 'GET /api/a'],
    [/^HTTP\/1.1 403 /, 'GET /api/internal/x', BEARER],
    [/^HTTP\/1.1 200 /, 'GET /api/a', BEARER],
    [/^HTTP\/1.1 200 /, 'GET /api/a', BEARER],
    [/^HTTP\/1.1 429 [\s\S]*Retry-After/, 'GET /api/a', BEARER],
    [/hello alice$/, 'GET /staff', ALICE],
    [/^HTTP\/1.1 403 /, 'POST /staff', ALICE, 'Origin: https://evil.example', 'Content-Length: 0'],
    [/hello alice$/, 'POST /staff', ALICE, 'Origin: https://staff.example.com', 'Content-Length: 0'],
    [/hello blue$/, 'GET /partners', KEY],
    [/^HTTP\/1.1 401 /, 'GET /partners'],
    [/\r\n\r\nok$/, 'GET /healthz'],
    [/^HTTP\/1.1 404 [\s\S]*Access-Control-Allow-Origin/, 'GET /no', 'Origin: https://app.example.com'],
    [/^HTTP\/1.1 413 /, 'POST /healthz', 'Content-Length: 10485761']
  ]
  for (const [answer, line, ...headers] of rows) assert.match(await ask(line, ...headers), answer, line)
})
