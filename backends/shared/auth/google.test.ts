/** Tokens of Google against a token endpoint that checks the assertion with jose, and a metadata server. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type JWTPayload, jwtVerify } from 'jose'
import { fetchText } from './fetch-text.ts'
import { type GoogleTokenRequest, googleToken } from './google.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const AT = 1_800_000_000_000
const WISH: GoogleTokenRequest = { json: null, file: null, audience: null }

type Answer = (form: URLSearchParams, request: IncomingMessage, response: ServerResponse) => void

async function endpoint(t: TestContext, answer: Answer): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    answer(new URLSearchParams(Buffer.concat(chunks).toString()), request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const { signal } = new AbortController()
const world = (env: Record<string, string> = {}, home = '/nowhere') => ({
  ...{ env, home, ask: fetchText, signal },
  now: () => AT
})
const account = (more: object) => JSON.stringify({ type: 'service_account', client_email: 'me@p', ...more })
const idTokenOf = (exp: unknown) => `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.sig`

test('an assertion of the service account is exchanged for an access token, or for an id token', async (t) => {
  const seen: JWTPayload[] = []
  const url = await endpoint(t, (form, request, response) => {
    equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    const audience = `http://${request.headers.host}/`
    const options = { audience, issuer: 'me@p', currentDate: new Date(AT) }
    void jwtVerify(form.get('assertion')!, publicKey, options).then(({ payload, protectedHeader }) => {
      equal(protectedHeader.kid, 'k1')
      seen.push(payload)
      const isId = payload.target_audience !== undefined
      response.end(
        JSON.stringify(isId ? { id_token: idTokenOf(1_900_000_000) } : { access_token: 'ya29.x', expires_in: 3599 })
      )
    })
  })
  const json = account({ private_key: PEM, private_key_id: 'k1', token_uri: url })
  deepEqual(await googleToken({ ...WISH, json }, world()), { value: 'ya29.x', expiresAt: AT + 3_599_000 })
  const id = await googleToken({ ...WISH, json, audience: 'https://run.example' }, world())
  deepEqual(id, { value: idTokenOf(1_900_000_000), expiresAt: 1_900_000_000_000 })
  equal(seen[0]?.scope, 'https://www.googleapis.com/auth/cloud-platform')
  deepEqual([seen[1]?.target_audience, seen[1]?.scope], ['https://run.example', undefined])
  const file = join(mkdtempSync(join(tmpdir(), 'weir-gcp-')), 'account.json')
  writeFileSync(file, json)
  for (const [wish, env] of [
    [{ ...WISH, file }, {}],
    [WISH, { GOOGLE_APPLICATION_CREDENTIALS: file }]
  ] as const)
    equal((await googleToken(wish, world(env))).value, 'ya29.x')
})

test("a user's credential is refreshed, but gives no id token", async (t) => {
  const url = await endpoint(t, (form, _, response) => {
    deepEqual(Object.fromEntries(form), {
      grant_type: 'refresh_token',
      client_id: 'c',
      client_secret: 's',
      refresh_token: 'r'
    })
    response.end('{"access_token":"t","expires_in":10}')
  })
  const user = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r', token_uri: url }
  const json = JSON.stringify(user)
  equal((await googleToken({ ...WISH, json }, world())).value, 't')
  await rejects(googleToken({ ...WISH, json, audience: 'a' }, world()), /an id token needs a service account/)
})

test('without a credential the metadata server is asked', async (t) => {
  const requests: string[] = []
  const url = await endpoint(t, (_, request, response) => {
    requests.push(`${request.headers['metadata-flavor']} ${request.url}`)
    response.end(
      request.url!.includes('/identity') ? `${idTokenOf(1_900_000_000)}\n` : '{"access_token":"m","expires_in":60}'
    )
  })
  const env = { GCE_METADATA_HOST: new URL(url).host }
  equal((await googleToken(WISH, world(env))).value, 'm')
  equal((await googleToken({ ...WISH, audience: 'https://a/b?c' }, world(env))).expiresAt, 1_900_000_000_000)
  deepEqual(requests, [
    'Google /computeMetadata/v1/instance/service-accounts/default/token',
    'Google /computeMetadata/v1/instance/service-accounts/default/identity?audience=https%3A%2F%2Fa%2Fb%3Fc&format=full'
  ])
})

test('what is wrong is said without a secret', async (t) => {
  let body = ''
  let status = 200
  const url = await endpoint(t, (_, __, response) => response.writeHead(status).end(body))
  const good = account({ private_key: PEM, token_uri: url })
  const cases: [json: string, RegExp, answer?: string, status?: number][] = [
    ['{', /not valid JSON/],
    ['[]', /not a JSON object/],
    ['{"type":"external_account"}', /type external_account is not in this version/],
    [account({}), /has no private_key/],
    [account({ private_key: 'secret-canary', token_uri: url }), /is not a key/],
    [account({ private_key: PEM, token_uri: 'http://example.com/' }), /must be an https URL/],
    [account({ private_key: PEM, token_uri: 7 }), /must be an https URL/],
    [good, /status 400: invalid_grant$/, '{"error":"invalid_grant","error_description":"secret-canary"}', 400],
    [good, /status 302/, '', 302],
    [good, /not valid JSON/, 'secret-canary'],
    [good, /no expires_in/, '{"access_token":"secret-canary"}'],
    [good, /no access_token/, '{"expires_in":5,"access_token":{"a":"secret-canary"}}'],
    [good, /characters that it must not have/, '{"expires_in":5,"access_token":"secret-canary\\r\\nx: y"}'],
    [good, /more than 65536 bytes/, 'x'.repeat(70_000)]
  ]
  for (const [json, wanted, answer = '', code = 200] of cases) {
    ;[body, status] = [answer, code]
    await rejects(googleToken({ ...WISH, json }, world()), (error: Error) => {
      match(error.message, wanted)
      equal(error.message.includes('canary'), false)
      return true
    })
  }
  await rejects(googleToken({ ...WISH, file: '/no/such' }, world()), /cannot be read \(ENOENT\)/)
})
