/** What is refused, what is not tried elsewhere, and where pieces of a stream are cut. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { gatewayOf, jsonOf } from '#backends/llm/testing/llm-gateway.ts'
import { type Keeper, startKeeper } from './keeper.fixture.ts'
import { type Seal, sealId } from './seal.ts'
import { sealEvents } from './seal-tap.ts'

const KEYS = [
  { name: 'ann', key: 'sk-ann-000001' },
  { name: 'bob', key: 'sk-bob-000001' }
]
const ANN = 'sk-ann-000001'
const at = ({ port }: Pick<Keeper, 'port'>, apiKey = 'sk-account-of-the-first') => ({
  baseUrl: `http://127.0.0.1:${port}/v1`,
  apiKey
})
const clientOf = (base: string, apiKey = ANN) => new OpenAI({ baseURL: `${base}/v1`, apiKey, maxRetries: 0 })

async function portOf(t: TestContext, llm: object, more: object = {}) {
  const { base } = await gatewayOf(t, { llm: { port: 4000, ...llm }, keys: KEYS, ...more })
  return { base, ann: clientOf(base), bob: clientOf(base, 'sk-bob-000001') }
}

test('prompt guards: what they cannot see does not pass', async (t) => {
  const keeper = await startKeeper(t)
  const models = [{ name: 'm', provider: 'openai', params: at(keeper) }]
  const guard = { regex: { matches: ['secret'], action: 'Reject' } }
  const guarded = await portOf(t, { models, promptGuard: { request: [guard] } })
  const file = await toFile(Buffer.from('secret'), 'a.txt')
  await rejects(guarded.ann.files.create({ file, purpose: 'user_data' }), {
    status: 400,
    message: /guards of this model/
  })
  const made = await guarded.ann.responses.create({ model: 'm', input: 'hi' })
  equal((await guarded.ann.responses.retrieve(made.id)).id, made.id)
  const answered = await portOf(t, { models, promptGuard: { response: [guard] } })
  await rejects(answered.ann.responses.retrieve(made.id), { status: 400, message: /guards of this model/ })
  await answered.ann.responses.delete(made.id)
  equal(keeper.objects.size, 0)
})

test('an account that fails is not replaced by another, and the client gets its answer', async (t) => {
  const other = await startKeeper(t)
  const requests: string[] = []
  const broken = createServer((request, response) => {
    requests.push(request.url ?? '')
    request.resume()
    response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"message":"down"}}')
  })
  broken.listen(0, '127.0.0.1')
  await once(broken, 'listening')
  t.after(() => {
    broken.close()
    broken.closeAllConnections()
  })
  const { port } = broken.address() as AddressInfo
  const models = [
    { name: 'a', provider: 'openai', params: at({ port }) },
    { name: 'b', provider: 'openai', params: at(other, 'sk-account-of-the-second') }
  ]
  const virtualModels = [
    { name: 'ab', routing: { failover: { targets: [{ model: 'a' }, { model: 'b', priority: 1 }] } } }
  ]
  const { ann } = await portOf(t, { models, virtualModels })
  await rejects(ann.vectorStores.create({}), { status: 503, message: /down/ })
  deepEqual([requests, other.requests.length], [['/v1/vector_stores'], 0])
  // A chat goes where it can go, and goes on there.
  const first = await ann.responses.create({ model: 'ab', input: 'hi' })
  const next = await ann.responses.create({ model: 'ab', input: 'hi', previous_response_id: first.id })
  equal(next.previous_response_id, first.id)
  equal(other.requests.at(-1)!.body.previous_response_id, [...other.objects.keys()][0])
})

test('bodies: one that is too long is a 413, a large chat is opened in another thread, mistakes have their place', async (t) => {
  const keeper = await startKeeper(t)
  const models = [{ name: 'm', provider: 'openai', params: at(keeper) }]
  const { base, ann, bob } = await portOf(t, { models })
  const long = await toFile(Buffer.alloc(3 * 1024 * 1024, 97), 'a.txt')
  // Files go on while they come.
  const kept = await ann.files.create({ file: long, purpose: 'user_data' })
  equal((await (await ann.files.content(kept.id)).arrayBuffer()).byteLength, 3 * 1024 * 1024)
  await ann.files.delete(kept.id)
  await rejects(ann.responses.create({ model: 'm', input: 'x'.repeat(3 * 1024 * 1024) }), { status: 413 })
  const file = await ann.files.create({ file: await toFile(Buffer.from('x'), 'x.txt'), purpose: 'user_data' })
  const input = (text: string) => [
    {
      role: 'user' as const,
      content: [
        { type: 'input_text' as const, text },
        { type: 'input_file' as const, file_id: file.id }
      ]
    }
  ]
  const large = 'x'.repeat(300_000)
  await ann.responses.create({ model: 'm', input: input(large) })
  match(keeper.requests.at(-1)!.bytes.toString(), new RegExp(`"file_id":"${[...keeper.objects.keys()][0]}"`))
  await rejects(bob.responses.create({ model: 'm', input: input(large) }), {
    status: 400,
    param: 'input[0].content[1].file_id'
  })
  const post = (path: string, body: string, type: string) =>
    fetch(`${base}${path}`, { method: 'POST', body, headers: { 'content-type': type, authorization: `Bearer ${ANN}` } })
  for (const [path, body, type] of [
    ['/v1/batches', '{', 'application/json'],
    ['/v1/batches', 'input_file_id=file-1', 'application/x-www-form-urlencoded'],
    ['/v1/vector_stores', '[1]', 'application/json'],
    [
      '/v1/files',
      '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b--\r\n',
      'multipart/form-data; boundary=b'
    ],
    ['/v1/files', '--b', 'multipart/form-data; boundary=b'],
    ['/v1/batches', '{"input_file_id":"file-1"}', 'text/plain']
  ] as const) {
    const response = await post(path, body, type)
    deepEqual([response.status, (await jsonOf(response)).error.type], [400, 'invalid_request_error'], body)
  }
})

test('a large file of a batch is read and written in another thread', async (t) => {
  const [keeper, other] = [await startKeeper(t), await startKeeper(t)]
  const models = [
    { name: 'm', provider: 'openai', params: { ...at(keeper), model: 'gpt-m' } },
    { name: 'n', provider: 'openai', params: { ...at(other, 'sk-account-of-the-second'), model: 'gpt-n' } }
  ]
  const { ann, bob } = await portOf(t, { models })
  const line = (model: string, more: object = {}) =>
    JSON.stringify({ custom_id: 'a', body: { model, input: 'x'.repeat(900), ...more } })
  const fileOf = (...last: string[]) =>
    toFile(Buffer.from([...Array(300).fill(line('n')), ...last].join('\n')), 'in.jsonl')
  const made = await ann.files.create({ file: await fileOf(), purpose: 'batch' })
  const [raw] = [...other.objects.keys()]
  ok(made.id.startsWith(raw!))
  const lines = other.contents.get(raw!)!.toString().trim().split('\n')
  deepEqual([lines.length, JSON.parse(lines[299]!).body.model], [300, 'gpt-n'])
  equal(keeper.requests.length, 0)
  await rejects(ann.files.create({ file: await fileOf(line('elsewhere')), purpose: 'batch' }), {
    status: 400,
    message: /file: line \d+: body\.model: openai does not serve the model/
  })
  const foreign = await fileOf(line('n', { previous_response_id: made.id }))
  await rejects(bob.files.create({ file: foreign, purpose: 'batch' }), {
    status: 400,
    message: /line 301: body\.previous_response_id: there is no response/
  })
  // The id in the path is read with the body.
  const attributes = { text: 'x'.repeat(200_000) }
  await rejects(bob.conversations.update(made.id, { metadata: attributes }), { status: 404 })
})

test('a provider without such an API says so; an answer that was translated is kept nowhere', async (t) => {
  const keeper = await startKeeper(t)
  const claude = [{ name: 'c', provider: 'anthropic', params: at(keeper) }]
  const { base } = await gatewayOf(t, { llm: { port: 4000, models: claude } })
  const ann = clientOf(base)
  await rejects(ann.responses.retrieve('resp_1'), { status: 400, message: /translated for it are not kept/ })
  await rejects(ann.files.list(), { status: 400, message: /anthropic keeps no files/ })
  equal(keeper.requests.length, 0)
})

test('Realtime: a call is begun with the model of the port, and goes on where it is', async (t) => {
  const keeper = await startKeeper(t)
  const params = { ...at(keeper), model: 'gpt-realtime' }
  const { base, ann } = await portOf(t, { models: [{ name: 'voice', provider: 'openai', params }] })
  const secret = await ann.realtime.clientSecrets.create({ session: { type: 'realtime', model: 'voice' } })
  equal(secret.value, 'ek_1')
  deepEqual(keeper.requests.at(-1)!.body.session, { type: 'realtime', model: 'gpt-realtime' })
  const headers = { authorization: `Bearer ${ANN}` }
  const sdp = await fetch(`${base}/v1/realtime/calls?model=voice`, {
    method: 'POST',
    body: 'v=0\r\n',
    headers: { ...headers, 'content-type': 'application/sdp' }
  })
  equal(keeper.requests.at(-1)!.query.get('model'), 'gpt-realtime')
  equal(keeper.requests.at(-1)!.headers['content-type'], 'application/sdp')
  deepEqual([sdp.status, await sdp.text()], [201, 'v=0\r\n'])
  const [raw] = [...keeper.objects.keys()]
  const location = sdp.headers.get('location')!
  ok(location.startsWith(`/v1/realtime/calls/${raw}`))
  const hangup = (key: string) =>
    fetch(`${base}${location}/hangup`, { method: 'POST', headers: { authorization: `Bearer ${key}` } })
  equal((await hangup('sk-bob-000001')).status, 404)
  equal((await hangup(ANN)).status, 200)
  equal(keeper.requests.at(-1)!.path, `/v1/realtime/calls/${raw}/hangup`)
  const form = new FormData()
  form.set('sdp', 'v=0\r\n')
  form.set('session', JSON.stringify({ type: 'realtime', model: 'voice' }))
  equal((await fetch(`${base}/v1/realtime/calls`, { method: 'POST', body: form, headers })).status, 201)
  match(keeper.requests.at(-1)!.bytes.toString(), /"model":"gpt-realtime"/)
})

test('`ai` backends: routes name the APIs, and an id finds its group', async (t) => {
  const [first, second] = [await startKeeper(t), await startKeeper(t)]
  const provider = (name: string, { port }: Keeper, key: string) => ({
    name,
    openai: {},
    host: '127.0.0.1',
    port,
    policies: { auth: { key } }
  })
  const groups = [
    { providers: [provider('one', first, 'sk-account-of-the-first')] },
    { providers: [provider('two', second, 'sk-account-of-the-second')] }
  ]
  const routes = { '/files': 'Stored', '/responses': 'Responses' }
  const { base } = await gatewayOf(t, {
    binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai: { groups, routes } }] }] }] }]
  })
  const anyone = clientOf(base)
  const made = await anyone.files.create({ file: await toFile(Buffer.from('x'), 'x.txt'), purpose: 'user_data' })
  equal(first.objects.size, 1)
  equal((await anyone.files.retrieve(made.id)).id, made.id)
  const response = await anyone.responses.create({ model: 'm', input: 'hi' })
  equal((await anyone.responses.retrieve(response.id)).id, response.id)
  await rejects(anyone.batches.retrieve('batch_1'), { status: 404 })
})

test('a stream is marked alike wherever it is cut', () => {
  const seal: Seal = { tag: 'abcd', key: Buffer.alloc(32, 1), tenant: 'ann' }
  const id = sealId('resp_1', 'response', seal)
  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const delta = event('response.output_text.delta', { delta: '"response":{"id":"resp_1"}' })
  const made = (raw: string) => event('response.created', { response: { id: raw, object: 'response' } })
  equal(sealEvents(Buffer.from(delta + made('resp_1')), seal).toString(), delta + made(id))
  const plain = Buffer.from(event('response.output_text.delta', { item_id: 'msg_1', delta: 'hi' }))
  equal(sealEvents(plain, seal), plain)
  const broken = Buffer.from('data: {"response":{"id":"resp_1"\n\n')
  equal(sealEvents(broken, seal), broken)
})
