/** What holds for a request holds when it is asked again without what was added to it (compatibility-retry.ts). */
import { deepEqual, equal, match } from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { at, gateway, provider } from '#backends/llm/testing/llm-gateway.ts'
import { createSigner, hashOf } from '#backends/shared/auth/sigv4.ts'
import type { Models } from '#engine/testing/models.ts'

const ROUTES = { '/messages': 'Messages', '*': 'Completions' }
const STREAM = { model: 'm', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
/** The thought cannot be told to who refuses it. */
const THOUGHTFUL = {
  model: 'm',
  max_tokens: 9,
  messages: [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'text', text: 'Ho' }
      ]
    },
    { role: 'user', content: 'And?' }
  ]
}

type Say = (response: ServerResponse) => void

const say =
  (status: number, body: object): Say =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

/** Refuses `member` and answers what comes without it by `then`; null: as usual. */
function refusing(models: Models, member: string, then: Say | null = null): void {
  models.instead = ({ body }, response) => {
    if (JSON.stringify(body).includes(`"${member}"`))
      say(400, { error: { message: `Unsupported: ${member}` } })(response)
    else if (then === null) return false
    else then(response)
    return true
  }
}

const groups = (...models: Models[]) =>
  models.map((one, i) => ({ providers: [{ name: `p${i}`, ...at('custom', one) }] }))

const FAILURES: Record<string, Say> = {
  'status 503': say(503, { error: { message: 'down' } }),
  'status 429': say(429, { error: { message: 'later' } }),
  'an error behind 200': say(200, { error: { message: 'overloaded', code: 503 } }),
  'an error as the first event': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: {"error":{"message":"overloaded","code":503}}\n\n')
  },
  'a closed connection': (response) => void response.socket!.destroy()
}

for (const [name, then] of Object.entries(FAILURES)) {
  test(`another provider is asked when what was asked again fails: ${name}`, async (t) => {
    const [a, b] = [await provider(t), await provider(t)]
    refusing(a, 'stream_options', then)
    const { ask } = await gateway(t, { groups: groups(a, b), routes: ROUTES })
    const response = await ask('/v1/chat/completions', STREAM)
    equal(response.status, 200)
    match(await response.text(), /Hello/)
    deepEqual(
      [a, b].map(({ requests }) => requests.map(({ body }) => body.stream_options ?? null)),
      // What one refuses is not kept from the next.
      [[{ include_usage: true }, null], [{ include_usage: true }]]
    )
  })
}

test('a refusal of one provider does not count for the next', async (t) => {
  const [a, b] = [await provider(t), await provider(t)]
  refusing(a, 'stream_options', FAILURES['status 503']!)
  const { ask } = await gateway(t, { groups: groups(a, b), routes: ROUTES })
  for (let i = 0; i < 3; i++) await (await ask('/v1/chat/completions', STREAM)).text()
  deepEqual(
    b.requests.map(({ body }) => body.stream_options),
    [1, 2, 3].map(() => ({ include_usage: true }))
  )
})

test('a body that is asked again is signed itself', async (t) => {
  const models = await provider(t)
  refusing(models, 'stream_options')
  const aws = { accessKeyId: 'AKIAEXAMPLEEXAMPLE00', secretAccessKey: 's', region: 'us-east-1' }
  const { ask } = await gateway(t, { provider: at('custom', models, { policies: { auth: { aws } } }), routes: ROUTES })
  const response = await ask('/v1/chat/completions', STREAM)
  equal(response.status, 200)
  await response.text()
  equal(models.requests.length, 2)
  const sign = createSigner(aws.region, 'bedrock')
  for (const { headers, bytes, path } of models.requests) {
    const at = Date.parse(String(headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
    const fields: [string, string][] = [['content-type', String(headers['content-type'])]]
    const message = {
      method: 'POST',
      host: headers.host!,
      path,
      query: '',
      headers: fields,
      payloadHash: hashOf(bytes)
    }
    const signed = sign(message, { ...aws, sessionToken: null }, at)
    equal(headers.authorization, new Map(signed).get('authorization'))
  }
})

test('with unsupported: refuse nothing is lost because a provider refuses it', async (t) => {
  const models = await provider(t)
  refusing(models, 'reasoning_content')
  const { ask } = await gateway(t, { provider: at('custom', models), routes: ROUTES, unsupported: 'refuse' })
  for (const nth of [1, 2]) {
    const response = await ask('/v1/messages', THOUGHTFUL)
    equal(response.status, 400)
    match(await response.text(), /messages\[1\]\.content\[0\]: cannot be carried/)
    equal(models.requests.length, nth)
  }
})

test('with unsupported: refuse one of the same group is asked that takes all of it', async (t) => {
  const [a, b] = [await provider(t), await provider(t)]
  refusing(a, 'reasoning_content')
  const providers = [a, b].map((one, i) => ({ name: `p${i}`, ...at('custom', one) }))
  const { ask } = await gateway(t, { groups: [{ providers }], routes: ROUTES, unsupported: 'refuse' })
  // Whichever is chosen first.
  for (let i = 0; i < 6; i++) {
    const response = await ask('/v1/messages', THOUGHTFUL)
    equal(response.status, 200)
    equal(response.headers.get('x-weir-dropped'), null)
    await response.text()
  }
  equal(b.requests.length, 6)
  for (const { body } of b.requests) equal(body.messages[1].reasoning_content, 'hm')
})
