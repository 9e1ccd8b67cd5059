import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSecret, reveal, secret } from '#engine/kit/secret.ts'
import { isSensitive, REDACTED, redactText } from '#engine/kit/sensitive.ts'
import { redact } from './redact.ts'

class Secret {
  readonly value = 'canary'
}

test('whatever way a secret is written, it does not come out', () => {
  const value: unknown = {
    marked: secret('canary'),
    clone: structuredClone({ inner: [secret('canary')] }),
    instance: new Secret(),
    bytes: Buffer.from('canary'),
    map: new Map([['password', 'canary']]),
    set: new Set(['authorization', 'canary']),
    jwt: { clientSecret: 'canary', access_token: 'canary', 'API-Key': 'canary', privateKeyFile: 'canary' },
    key: 'canary',
    authorization: [{ action: 'canary' }, 'canary'],
    nested: { credentials: { user: { list: ['canary', { any: 'canary' }] } } },
    set_headers: [{ name: 'Authorization', value: 'canary' }],
    match: { name: 'x-api-key', value: { exact: 'canary' } },
    pairs: [['Proxy-Authorization', 'canary']],
    flat: ['accept', 'text/html', 'cookie', 'canary'],
    odd: { name: 'authorization', key: 'canary' },
    text: 'Bearer canary',
    sentence: 'the upstream refused "authorization: Basic canary", twice',
    url: 'https://user:canary@example.com/x',
    query: '/path?a=1&api_key=canary&b=2',
    pem: '-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----',
    cutPem: '-----BEGIN PRIVATE KEY-----\ncanary',
    fn: () => 'canary'
  }
  const text = JSON.stringify(redact(value))
  assert.equal(/canary/.exec(text), null, text)
})

test('what is not secret stays readable', () => {
  const value = {
    binds: [{ port: 80, listeners: [{ name: 'main', hostname: '*.example.com' }] }],
    backends: { web: { kind: 'static', host: 'web.internal', port: 8080 } },
    tokens: 100,
    keepalive: { retries: 9 },
    authorization: [{ action: 'Deny', expressions: ['jwt.sub == "eve"'] }],
    hostnames: ['token.example.com', 'a.example.com'],
    keyword: 'monkey',
    url: 'https://example.com/x?page=2',
    absent: null
  }
  assert.deepEqual(redact(value), value)
  assert.deepEqual(redact({ any: secret('x') }), { any: REDACTED })
  assert.deepEqual(redact({ name: 'authorization', value: 'x' }), { name: 'authorization', value: REDACTED })
  assert.equal(
    redactText('https://u:p@example.com/?token=x&page=2'),
    `https://${REDACTED}@example.com/?token=${REDACTED}&page=2`
  )
})

test('what MCP targets are shown is hidden, and who may do what is not', () => {
  const rules = { allow: ['mcp.tool.name == "add"'], deny: [], require: [] }
  const target = {
    name: 'a',
    auth: { header: 'x-mine', value: 'canary' },
    env: { HOME: 'canary' },
    authorization: rules
  }
  assert.deepEqual(redact({ targets: [target], session: { key: 'canary', idleMs: 1 } }), {
    targets: [
      { name: 'a', auth: { header: 'x-mine', value: REDACTED }, env: { HOME: REDACTED }, authorization: rules }
    ],
    session: { key: REDACTED, idleMs: 1 }
  })
})

test('a cycle, an odd key and a long text do no harm', () => {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  assert.match(JSON.stringify(redact(cycle)), /too deep/)
  const odd = JSON.parse('{"__proto__": {"polluted": "yes"}}')
  assert.equal(JSON.stringify(redact(odd)), '{"__proto__":{"polluted":"yes"}}')
  for (const piece of ['a', 'a:', 'a://', 'Bearer ', '-----BEGIN PRIVATE KEY-----', '?a', 'https://a']) {
    const long = piece.repeat(100_000)
    const before = process.cpuUsage()
    redactText(long)
    const { user } = process.cpuUsage(before)
    assert.ok(user < 5e6, `${piece} took ${user} us`)
  }
})

test('names that sound like secrets', () => {
  for (const name of [
    'authorization',
    'Proxy-Authorization',
    'X_API_KEY',
    'apiKey',
    'key',
    'keys',
    'signingKey',
    'Set-Cookie'
  ]) {
    assert.ok(isSensitive(name), name)
  }
  for (const name of ['keyword', 'monkey', 'keepalive', 'host', 'name', 'turkey']) assert.ok(!isSensitive(name), name)
})

test('a secret is plain data, told from everything else', () => {
  const made = secret('s')
  assert.equal(reveal(structuredClone(made)), 's')
  assert.ok(isSecret(structuredClone(made)))
  for (const other of ['s', null, undefined, {}, [], Object.create(made)]) assert.ok(!isSecret(other))
})

test('of MCP targets neither arguments nor values of a query are seen, whatever they are called', () => {
  const canary = 'c4n4ry'
  const targets = [
    { kind: 'stdio', name: 'a', cmd: 'npx', args: ['-y', 'server', '--token', canary, canary], env: {}, cwd: null },
    { kind: 'http', name: 'b', host: 'h', port: 1, path: `/mcp?who=${canary}&${canary}&x=`, hasTls: true },
    { kind: 'sse', name: 'c', host: 'h', port: 1, path: '/sse', hasTls: true }
  ]
  const shown = redact({ targets }) as { targets: Record<string, unknown>[] }
  assert.ok(!JSON.stringify(shown).includes(canary), JSON.stringify(shown))
  const [a, b, c] = shown.targets
  assert.deepEqual([a!.cmd, a!.args], ['npx', '<5 redacted>'])
  assert.equal(b!.path, '/mcp?who=<redacted>&<redacted>&x=<redacted>')
  assert.equal(c!.path, '/sse')
})
