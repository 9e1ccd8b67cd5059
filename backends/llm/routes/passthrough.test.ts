/** What passes as it is, and what of it does not pass: credentials, accounts and cookies. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'

const KEYS = {
  authorization: 'Bearer canary-a',
  'x-api-key': 'canary-b',
  'api-key': 'canary-c',
  'x-goog-api-key': 'canary-d',
  'ocp-apim-subscription-key': 'canary-e',
  'x-amz-security-token': 'canary-f'
}
const ACCOUNT = { 'openai-organization': 'canary-o', 'OpenAI-Project': 'canary-p', 'x-goog-user-project': 'canary-u' }
const SENT = { ...KEYS, ...ACCOUNT, Cookie: 'session=canary-z', 'x-harmless': 'stays' }
const ROUTES = { '/raw': 'Passthrough', '/models': 'Models', '*': 'Completions' }
const CASES: readonly (readonly [auth: object, kept: readonly string[]])[] = [
  [{ auth: { key: 'of-the-gateway' } }, []],
  [{ auth: { aws: { accessKeyId: 'AKIA', secretAccessKey: 's' } } }, []],
  [{}, ['canary-a', 'canary-o', 'canary-p', 'canary-u']],
  [{ auth: { passthrough: {} } }, ['canary-a', 'canary-o', 'canary-p', 'canary-u', 'canary-z']]
]

for (const [policies, kept] of CASES) {
  test(`what a client shows, with ${JSON.stringify(policies)}`, async (t) => {
    const models = await provider(t)
    const more = Object.keys(policies).length === 0 ? {} : { policies }
    const { ask } = await gateway(t, { provider: at('openai', models, more), routes: ROUTES })
    const canaries = () => JSON.stringify(models.requests.at(-1)!.headers).match(/canary-\w/g) ?? []
    await ask('/raw', { a: 1 }, SENT)
    deepEqual(canaries().toSorted(), kept)
    equal(models.requests.at(-1)!.headers['x-harmless'], 'stays')
    // Chat and lists of models have no place for cookies at all.
    for (const path of ['/v1/chat/completions', '/v1/models']) {
      await ask(path, path.endsWith('models') ? undefined : { model: 'm', messages: [] }, SENT)
      deepEqual(
        canaries().toSorted(),
        kept.filter((name) => name !== 'canary-z'),
        path
      )
    }
  })
}

test("a provider's cookies do not come back, whatever was asked", async (t) => {
  const models = await provider(t)
  models.instead = (_, response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'set-cookie': ['__cf_bm=a', 'b=c'],
      'x-harmless': 'a'
    })
    response.end('{}')
    return true
  }
  const { ask } = await gateway(t, { provider: at('openai', models), routes: ROUTES })
  for (const [path, body] of [
    ['/raw', {}],
    ['/v1/models', undefined],
    ['/v1/chat/completions', { model: 'm', messages: [] }]
  ] as const) {
    const { headers } = await ask(path, body)
    deepEqual(
      [headers.getSetCookie(), headers.get('x-harmless')],
      [[], path === '/raw' ? 'a' : headers.get('x-harmless')],
      path
    )
  }
})
