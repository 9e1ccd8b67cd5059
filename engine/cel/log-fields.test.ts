import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityOf } from '#engine/contract/identity.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { LOG_ROOTS } from './exchange.ts'
import { compileExpression } from './expression.ts'
import { writeField } from './log-fields.ts'

const CANARY = 'canary7c1f'
/** Credentials that clients send, by where they are sent. */
const HEADERS = [
  ...['Authorization', 'Proxy-Authorization', 'Cookie', 'X-Api-Key', 'Api-Key', 'X-Goog-Api-Key'],
  ...['X-Amz-Security-Token', 'X-Amz-Signature', 'X-Auth-Token', 'X-Csrf-Token', 'Ocp-Apim-Subscription-Key'],
  ...['X-Vault-Token', 'Private-Token', 'X-Goog-Iam-Authorization-Token', 'X-Secret', 'CF-Access-Client-Secret']
]
const PARAMETERS = [
  ...['access_token', 'token', 'id_token', 'refresh_token', 'api_key', 'apikey', 'key', 'client_secret', 'password'],
  ...['X-Amz-Security-Token', 'X-Amz-Signature', 'X-Amz-Credential']
]

function fieldsOf(source: string): string {
  const ex = fakeExchange({
    target: `/v1?page=2&${PARAMETERS.map((name) => `${name}=${CANARY}`).join('&')}`,
    headers: [
      ...HEADERS.map((name): [string, string] => [name, name === 'Authorization' ? `Bearer ${CANARY}` : CANARY]),
      ['Referer', `https://u:${CANARY}@a.test/?token=${CANARY}&page=3`],
      ['X-Note', `Bearer ${CANARY}`],
      ['Accept', 'text/plain']
    ]
  })
  identityOf(ex).rawToken = CANARY
  identityOf(ex).rawKey = CANARY
  identityOf(ex).jwt = { sub: 'alice', access_token: CANARY, nested: [{ password: CANARY }] }
  identityOf(ex).apiKey = { id: 'k1' }
  const found: unknown[] = []
  const add = (name: string, value: unknown) => found.push([name, value]) > 0
  writeField({ name: 'it', program: compileExpression(source, LOG_ROOTS) }, ex, { add })
  return JSON.stringify(found)
}

test('no credential of a client comes into a line by a field that takes a map or an address whole', () => {
  for (const source of [
    ...[
      'request.headers',
      'flatten(request.headers)',
      'flattenRecursive({"h": request.headers})',
      '{"a": [request.headers]}'
    ],
    ...['request.headers.redacted()', 'request.headers.raw()', 'request.headers.join()', 'request', 'flatten(request)'],
    ...['request.uri', 'request.pathAndQuery', '[request.uri]', '{"uri": request.uri}', 'variables()'],
    ...[
      'jwt',
      'jwt.rawToken',
      'apiKey',
      'apiKey.key',
      'string(jwt.rawToken)',
      'flattenRecursive(jwt)',
      'request.headers.referer'
    ]
  ]) {
    const text = fieldsOf(source)
    assert.ok(text.length > 2, `${source} gives something`)
    assert.ok(!text.includes(CANARY), `${source}: ${text}`)
  }
  assert.match(fieldsOf('request.headers'), /text\/plain/)
  assert.match(fieldsOf('request.uri'), /page=2&access_token=<redacted>/)
})

test('a secret field requested by its own name is logged, and token counts are not secrets', () => {
  assert.match(fieldsOf('request.headers["x-amz-security-token"]'), new RegExp(CANARY))
  assert.match(fieldsOf('jwt.rawToken.unredacted()'), new RegExp(CANARY))
  assert.match(fieldsOf('{"inputTokens": 7}'), /inputTokens\\*":7/)
})
