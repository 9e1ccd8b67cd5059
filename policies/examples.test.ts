/** Every example of the documentation is accepted by the program and driven with real requests: none goes stale. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { exampleFiles } from '#engine/testing/certificates.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Seen, startOrigin } from '#engine/testing/origin.ts'
import { runProgram } from '#engine/testing/program.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { policies } from './index.ts'

const FOLDER = join(import.meta.dirname, '../docs/examples')
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'))

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

interface Stand {
  /** `target` may have a method before it; what follows are header lines. */
  ask(target: string, lines?: readonly string[], body?: string): Promise<Answer>
  /** What the backend saw last. */
  last(): Seen
}

/** Starts the example; `reply` is what every backend of it answers. */
async function stand(t: TestContext, name: string, reply?: Parameters<typeof startOrigin>[0]): Promise<Stand> {
  const origin = await startOrigin(reply)
  const text = readFileSync(join(FOLDER, `${name}.yaml`), 'utf8').replace('port: 8080', 'port: 0')
  const gateway = await startGateway(text.replaceAll(':9001', `:${origin.port}`), { folder: FOLDER })
  t.after(async () => {
    await gateway.close()
    origin.close()
  })
  return {
    last: () => origin.seen.at(-1)!,
    async ask(target, lines = [], body = '') {
      const [path, method = 'GET'] = target.split(' ').toReversed()
      const length = body === '' ? [] : [`Content-Length: ${body.length}`]
      const head = [`${method} ${path} HTTP/1.1`, 'Host: a.test', 'Connection: close', ...length, ...lines]
      const answer = await exchangeRaw(gateway.port, `${head.join('\r\n')}\r\n\r\n${body}`)
      const [first = '', ...rest] = answer.split('\r\n\r\n')
      return { status: Number(first.split(' ')[1]), head: first.toLowerCase(), body: rest.join('\r\n\r\n') }
    }
  }
}

/** The value of a header that a backend saw; undefined when there was none. */
function header({ headers }: Seen, name: string): string | undefined {
  const i = headers.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === name)
  return i < 0 ? undefined : headers[i + 1]
}

type Drive = (t: TestContext) => Promise<void>

/** Examples that are driven here. */
const DRIVES: Readonly<Record<string, Drive>> = {
  async authorization(t) {
    const { ask } = await stand(t, 'authorization')
    const statuses = []
    for (const [target, ...lines] of [
      ['/'],
      ['/', 'X-User: ann'],
      ['/internal/a', 'X-User: ann', 'X-Role: admin'],
      ['DELETE /', 'X-User: ann'],
      ['DELETE /', 'X-User: ann', 'X-Role: admin']
    ] as [string, ...string[]][]) {
      statuses.push((await ask(target, lines)).status)
    }
    assert.deepEqual(statuses, [403, 200, 403, 403, 200])
  },

  async 'direct-response'(t) {
    const { ask } = await stand(t, 'direct-response')
    const [robots, gone, missing] = [await ask('/robots.txt'), await ask('/gone/a'), await ask('/a"b')]
    assert.deepEqual([robots.status, robots.body], [200, 'User-agent: *\nDisallow: /\n'])
    assert.match(robots.head, /content-type: text\/plain/)
    assert.deepEqual([gone.status, gone.body], [410, ''])
    assert.deepEqual([missing.status, JSON.parse(missing.body)], [404, { error: 'not found', path: '/a"b' }])
    assert.match(missing.head, /content-type: application\/json(?!.*content-type)/s)
  },

  async 'header-modifiers'(t) {
    const { ask, last } = await stand(t, 'header-modifiers', (response) => {
      response.writeHead(200, { server: 'origin/1.0', 'x-powered-by': 'x', 'x-frame-options': 'SAMEORIGIN' }).end()
    })
    const { head } = await ask('/', ['X-Gateway: other', 'X-Tag: own', 'X-Debug: 1'])
    const seen = last()
    assert.deepEqual([header(seen, 'x-gateway'), header(seen, 'x-debug')], ['weir', undefined])
    assert.deepEqual(
      seen.headers.filter((_, i) => i % 2 === 1 && seen.headers[i - 1]!.toLowerCase() === 'x-tag'),
      ['own', 'edge']
    )
    assert.match(head, /x-frame-options: deny/)
    assert.doesNotMatch(head, /server:|x-powered-by|sameorigin/)
  },

  async 'host-rewrite'(t) {
    const { ask, last } = await stand(t, 'host-rewrite')
    const hosts = []
    for (const path of ['/', '/shop', '/named']) {
      assert.equal((await ask(path)).status, 200)
      hosts.push(header(last(), 'host')?.replace(/:\d+$/, ''))
    }
    assert.deepEqual(hosts, ['localhost', 'a.test', 'shop.example.com'])
  },

  async health(t) {
    const { ask } = await stand(t, 'health', (response, { url }) => response.writeHead(url === '/' ? 503 : 200).end())
    for (let i = 0; i < 4; i++) assert.equal((await ask('/')).status, 503)
    assert.equal((await ask('/well')).status, 200)
  },

  async 'load-balancing'(t) {
    const { ask, last } = await stand(t, 'load-balancing')
    for (const user of ['ann', 'bob', 'cid']) {
      assert.equal((await ask('/', [`X-User: ${user}`])).status, 200)
      assert.match(header(last(), 'host')!, /^(?:127\.0\.0\.1|localhost):\d+$/)
    }
  },

  async 'request-redirect'(t) {
    const { ask } = await stand(t, 'request-redirect')
    const location = async (path: string) => {
      const { status, head } = await ask(path)
      return `${status} ${/location: (\S+)/.exec(head)?.[1]}`
    }
    assert.equal(await location('/old/a?b=c'), '308 /new/a?b=c')
    assert.equal(await location('/login?next=%2f'), '302 https://accounts.example.com/sign-in?next=%2f')
    assert.equal(await location('/a'), '301 https://a.test/a')
  },

  async timeouts(t) {
    const { ask } = await stand(t, 'timeouts', (response, { url }) => {
      if (url === '/fast/silent') return
      response.writeHead(200, { 'content-length': '10' })
      // The rest never comes: a head in time does not make the response one.
      if (url === '/fast/half') response.write('12345')
      else response.end('1234567890')
    })
    assert.equal((await ask('/')).body, '1234567890')
    assert.equal((await ask('/fast')).body, '1234567890')
    assert.deepEqual([(await ask('/fast/silent')).status, (await ask('/fast/half')).body], [504, '12345'])
  },

  async transformation(t) {
    const { ask, last } = await stand(t, 'transformation', (response, { url, body }) => {
      response.statusCode = url.includes('missing') ? 404 : 200
      response.end(body)
    })
    const json = '{"model":"m","stream":true}'
    const answer = await ask('POST /chat?a=b', ['X-Internal: 1', 'X-Client: forged', 'X-Path: own'], json)
    const seen = last()
    assert.deepEqual(
      [seen.url, header(seen, 'x-client'), header(seen, 'x-internal')],
      ['/v2/chat?a=b', '127.0.0.1', undefined]
    )
    assert.deepEqual(JSON.parse(seen.body), { model: 'm', stream: false })
    assert.deepEqual([answer.status, JSON.parse(answer.body)], [200, { model: 'm', stream: false }])
    assert.match(answer.head, /x-path: \/chat/)
    const missing = await ask('POST /missing', [], json)
    assert.deepEqual([missing.status, missing.body], [404, '{"status":404}'])
  },

  async 'url-rewrite'(t) {
    const { ask, last } = await stand(t, 'url-rewrite')
    const seen = []
    for (const path of ['/api/v1/users?a=b', '/api/v1', '/health']) {
      assert.equal((await ask(path)).status, 200)
      seen.push(`${last().url} ${header(last(), 'host')}`)
    }
    assert.deepEqual(seen, ['/users?a=b a.test', '/ a.test', '/internal/healthz health.example.com'])
  }
}

/** Examples that the test of their policy drives. */
const DRIVEN: Readonly<Record<string, string>> = {
  prices: '../backends/llm/prices/prices.test.ts',
  'backend-tls': '../backends/http/tls.test.ts',
  'access-log': 'frontend/access-log.test.ts',
  'api-key-authentication': 'traffic/credentials-gateway.test.ts',
  'basic-authentication': 'traffic/credentials-gateway.test.ts',
  cors: 'traffic/cors.test.ts',
  tls: 'tls-example.test.ts',
  csrf: 'traffic/csrf.test.ts',
  edge: 'edge-example.test.ts',
  'ext-auth': 'traffic/ext-auth.test.ts',
  'ext-proc': 'traffic/ext-proc.test.ts',
  'ext-proc-streaming': 'traffic/ext-proc.test.ts',
  grpc: 'grpc-example.test.ts',
  llm: '../backends/llm/backend.test.ts',
  'llm-clouds': '../backends/llm/auth/cloud.test.ts',
  'llm-cache': '../backends/llm/cache/response-cache.test.ts',
  'llm-semantic-cache': '../backends/llm/cache/semantic/semantic-cache.test.ts',
  'llm-media': '../backends/llm/routes/media.test.ts',
  'llm-objects': '../backends/llm/stored/stored.test.ts',
  'inference-pool': 'traffic/ext-proc/endpoint-picker.test.ts',
  'llm-routing': '../backends/llm/plan/routing.test.ts',
  'llm-shortcut': '../backends/llm/models-backend.test.ts',
  'jwt-authentication': 'traffic/jwt-authentication-gateway.test.ts',
  mcp: '../backends/mcp/configured.test.ts',
  'mcp-authorization': '../backends/mcp/configured.test.ts',
  'mcp-authentication': 'traffic/mcp-authentication.test.ts',
  'backend-auth': '../backends/http/auth.test.ts',
  'policy-targets': '../backends/llm/testing/policy-targets.test.ts',
  'prompt-guard': '../backends/llm/guards/example.test.ts',
  'pre-routing': '../engine/build/phases.test.ts',
  'rate-limit': 'traffic/rate-limit.test.ts',
  'request-mirror': 'traffic/request-mirror.test.ts',
  metrics: 'frontend/otlp-export.test.ts',
  'spend-webhook': 'frontend/spend-webhook.test.ts',
  'spend-prompts': '../engine/process/spend.test.ts',
  'virtual-keys': 'traffic/virtual-keys.test.ts',
  tracing: 'frontend/tracing-collector.test.ts',
  retry: 'traffic/retry.test.ts',
  'cloud-guards': '../backends/llm/guards/cloud.test.ts',
  tcp: '../engine/downstream/tls/sni.test.ts'
}

test('every example is driven by a test', () => {
  const driven = [...Object.keys(DRIVES), ...Object.keys(DRIVEN)].map((name) => `${name}.yaml`)
  assert.deepEqual(FILES.toSorted(), driven.toSorted())
  for (const [name, file] of Object.entries(DRIVEN)) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    assert.ok(text.includes(`${name}.yaml'`), `${file} does not read ${name}.yaml`)
  }
})

test('every policy has its example', () => {
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  for (const { name } of policies) assert.ok(FILES.includes(`${kebab(name)}.yaml`), `docs/examples/${kebab(name)}.yaml`)
})

test('every policy and every name of it is in the documentation', () => {
  const page = readFileSync(join(FOLDER, '../configuration.md'), 'utf8')
  for (const { name, aliases } of policies) {
    for (const one of [name, ...aliases.map((alias) => alias.name)]) assert.match(page, new RegExp(`\\b${one}\\b`))
  }
})

test('every example is accepted, and has no warning', () => {
  const readFile = exampleFiles()
  for (const file of FILES) {
    const text = readFileSync(join(FOLDER, file), 'utf8')
    const result = loadConfig(text, {
      file,
      folder: FOLDER,
      env: process.env,
      policies,
      backends,
      processors: 2,
      readFile
    })
    assert.deepEqual(result.ok ? result.warnings : result, [], file)
  }
})

test('the program says so', async () => {
  const program = runProgram(['-f', join(FOLDER, 'edge.yaml'), '--validate-only'])
  assert.equal(await program.exited(), 0, program.output)
  assert.match(program.output, /^configuration is valid: /)
})

for (const [name, drive] of Object.entries(DRIVES)) test(`${name}.yaml does what it says`, drive)
