/** Bedrock: signatures, streams in event-stream framing, and where credentials come from. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import type { AwsKeys } from '#engine/testing/aws.ts'
import {
  ASK,
  aws,
  CHAT,
  checkSignatures,
  environment,
  fileOf,
  gateway,
  KEYS,
  models,
  there
} from '#engine/testing/llm.ts'
import type { Models } from '#engine/testing/models.ts'

const bedrockClient = ({ port }: Models, keys: AwsKeys) =>
  new BedrockRuntimeClient({
    region: 'eu-west-1',
    endpoint: `http://127.0.0.1:${port}`,
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
    // The client marks the object that it gets.
    credentials: { ...keys }
  })

test("AWS's own client is answered by the mock, and signs as the mock checks it: both are right", async (t) => {
  const mock = await models(t)
  const problems = checkSignatures(mock, KEYS, (request, response) => mock.answer(request, response))
  const client = bedrockClient(mock, KEYS)
  const input = {
    modelId: 'arn:aws:bedrock:eu-west-1:1:p/x',
    messages: [{ role: 'user' as const, content: [{ text: 'Hi' }] }]
  }
  const { output, usage } = await client.send(new ConverseCommand(input))
  deepEqual([output?.message?.content?.[0]?.text, usage?.totalTokens], ['Hello, world', 19])
  let text = ''
  const { stream } = await client.send(new ConverseStreamCommand(input))
  for await (const event of stream!) text += event.contentBlockDelta?.delta?.text ?? ''
  deepEqual([text, problems], ['Hello, world', []])
  const stranger = bedrockClient(mock, { ...KEYS, secretAccessKey: 'other' })
  await rejects(stranger.send(new ConverseCommand(input)), { name: 'InvalidSignatureException' })
  client.destroy()
  stranger.destroy()
})

test('requests to Bedrock are signed: the path, the body as sent, and nothing of the client', async (t) => {
  const mock = await models(t)
  const problems = checkSignatures(mock, KEYS, (request, response) => mock.answer(request, response))
  const guardrail = { identifier: 'g-1', version: '3' }
  const { ask } = await gateway(t, {
    provider: { bedrock: { region: 'eu-west-1', guardrail }, ...there(mock), policies: aws(KEYS) },
    routes: { '/raw': 'Passthrough', '*': 'Completions' }
  })
  const client = bedrockClient(mock, KEYS)
  t.after(() => client.destroy())
  const strange = {
    authorization: 'Bearer of-the-client',
    'x-amz-security-token': 'of-the-client',
    'x-amz-odd': 'of-the-client',
    'x-amzn-bedrock-trace': 'of-the-client'
  }
  for (const model of ['us.claude-v1:0', "arn:aws:bedrock:eu-west-1:1:profile/a b(c)'d*é", 'ü~%2F..']) {
    for (const stream of [false, true]) {
      const answer = await ask(
        CHAT,
        { ...ASK, model, stream, messages: [{ role: 'user', content: 'é\u{1F600}' }] },
        strange
      )
      equal(answer.headers.get('content-type')?.split(';')[0], stream ? 'text/event-stream' : 'application/json')
      match(await answer.text(), /Hello, /)
    }
    deepEqual(problems, [], model)
    // AWS's own client spells the path of this model the same.
    const { path } = mock.requests.at(-2)!
    await client.send(new ConverseCommand({ modelId: model, messages: [] }))
    equal(path, mock.requests.at(-1)!.path)
  }
  const { headers, body } = mock.requests.at(-2)!
  equal(JSON.stringify(headers).includes('of-the-client'), false)
  deepEqual(body.guardrailConfig, { guardrailIdentifier: 'g-1', guardrailVersion: '3' })
  // Longer than what is hashed in this thread.
  const long = { ...ASK, messages: [{ role: 'user', content: 'x'.repeat(1_200_000) }] }
  equal((await ask(CHAT, long)).status, 200)
  // Passed through: the client's method, path, query and body are what is signed.
  await ask('/raw?b=2&a=%C3%A9', { odd: true }, strange)
  deepEqual(problems, [])
})

test('a signature mismatch is an error in the format of the client', async (t) => {
  const mock = await models(t)
  const problems = checkSignatures(mock, { ...KEYS, secretAccessKey: 'other' }, (request, response) =>
    mock.answer(request, response)
  )
  const { ask } = await gateway(t, {
    provider: { bedrock: { region: 'eu-west-1' }, ...there(mock), policies: aws(KEYS) }
  })
  const answer = await ask(CHAT, ASK)
  equal(answer.status, 403)
  match(await answer.text(), /^\{"error":\{"message":"The request signature does not match"/)
  deepEqual(problems, ['the signature does not fit'])
})

test('Bedrock that breaks in the middle of a stream, or of a message, ends it as a well-formed error', async (t) => {
  const mock = await models(t)
  const { ask } = await gateway(t, { provider: { bedrock: {}, ...there(mock), policies: aws(KEYS) } })
  const whole = await fetch(`http://127.0.0.1:${mock.port}/model/m/converse-stream`, { method: 'POST', body: '{}' })
  const wire = Buffer.from(await whole.arrayBuffer())
  const broken = Buffer.from(wire)
  broken[wire.length - 6] = broken[wire.length - 6]! ^ 1
  let sent = wire
  mock.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' }).end(sent)
    return true
  }
  for (const bytes of [wire.subarray(0, 300), wire.subarray(0, 8), broken, Buffer.alloc(64, 255), Buffer.alloc(0)]) {
    sent = bytes
    const text = await (await ask(CHAT, { ...ASK, stream: true })).text()
    match(text, /data: \{"error":\{[^\n]*\}\n\n(?:data: \[DONE\]\n\n)?$/)
  }
  sent = wire
  match(await (await ask(CHAT, { ...ASK, stream: true })).text(), /"finish_reason":"stop"[^\n]*\n\ndata: \[DONE\]\n\n$/)
})

test('the default chain: credentials are fetched once for all waiting requests, and again before they expire', async (t) => {
  const mock = await models(t)
  let current = KEYS
  let life = 3_600_000
  let calls = 0
  const container = createServer((_, response) => {
    calls++
    const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token } = current
    const Expiration = new Date(Date.now() + life).toISOString()
    response.end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token, Expiration }))
  })
  container.listen(0, '127.0.0.1')
  await once(container, 'listening')
  t.after(() => {
    container.close()
    container.closeAllConnections()
  })
  environment(t, {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${(container.address() as AddressInfo).port}/`,
    // A busy machine may take longer than a second.
    AWS_METADATA_SERVICE_TIMEOUT: '60',
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere'
  })
  const problems = checkSignatures(mock, KEYS, (request, response) => mock.answer(request, response))
  const ai = { provider: { bedrock: { region: 'eu-west-1' }, ...there(mock) } }
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const { ask, reload } = await gateway(t, ai)
  const answers = await Promise.all([1, 2, 3].map(() => ask(CHAT, ASK)))
  deepEqual([answers.map(({ status }) => status), problems, calls], [[200, 200, 200], [], 1])
  await reload(fileOf(ai))
  equal((await ask(CHAT, ASK)).status, 200)
  equal(calls, 1)
  // Withdrawn ahead of time: what was refused is fetched again, if it is not new.
  const renewed = { ...KEYS, accessKeyId: 'ASIARENEWED' }
  current = renewed
  checkSignatures(mock, renewed, (request, response) => mock.answer(request, response))
  equal((await ask(CHAT, ASK)).status, 403)
  equal((await ask(CHAT, ASK)).status, 403)
  t.mock.timers.tick(31_000)
  equal((await ask(CHAT, ASK)).status, 403)
  equal((await ask(CHAT, ASK)).status, 200)
  equal(calls, 2)
  // Of another gateway, so that what follows does not depend on the one above: a life that is over at once.
  life = 1
  const short = await gateway(t, ai)
  equal((await short.ask(CHAT, ASK)).status, 200)
  t.mock.timers.tick(2)
  current = { ...KEYS, accessKeyId: 'ASIANEXT' }
  checkSignatures(mock, current, (request, response) => mock.answer(request, response))
  equal((await short.ask(CHAT, ASK)).status, 200)
  equal(calls, 4)
})
