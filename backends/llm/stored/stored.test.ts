/** Objects that providers keep, with the vendors' own clients, through a whole gateway. */
import { deepEqual, equal, match, notEqual, ok, rejects } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { gatewayOf } from '#backends/llm/testing/llm-gateway.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Keeper, startKeeper } from './keeper.fixture.ts'

const KEYS = [
  { name: 'ann', key: 'sk-ann-000001' },
  { name: 'bob', key: 'sk-bob-000001' },
  { name: 'cut', key: 'sk-cut-000001', models: ['second'] },
  { name: 'poor', key: 'sk-poor-00001', budgets: [{ amount: 1, period: 'month' }] }
]

const openaiModel = (name: string, { port }: Keeper, apiKey: string) => ({
  name,
  provider: 'openai',
  params: { model: `gpt-${name}`, baseUrl: `http://127.0.0.1:${port}/v1`, apiKey }
})

/** Two accounts at OpenAI, one each at Anthropic and Google. */
async function port(t: TestContext, more: object = { keys: KEYS }) {
  const [first, second, claude, gemini] = await Promise.all([
    startKeeper(t),
    startKeeper(t),
    startKeeper(t),
    startKeeper(t)
  ])
  const llm = {
    port: 4000,
    models: [
      openaiModel('first', first, 'sk-account-of-the-first'),
      openaiModel('second', second, 'sk-account-of-the-second'),
      {
        name: 'claude',
        provider: 'anthropic',
        params: { model: 'claude-x', baseUrl: `http://127.0.0.1:${claude.port}/v1`, apiKey: 'sk-ant-account-000' }
      },
      {
        name: 'gem',
        provider: 'gemini',
        params: { model: 'gemini-x', baseUrl: `http://127.0.0.1:${gemini.port}/v1beta`, apiKey: 'AIza-account-0000' }
      }
    ],
    stored: { key: '0123456789abcdef' }
  }
  const { base } = await gatewayOf(t, { llm, ...more })
  const as = (key: string, headers: Record<string, string> = {}) =>
    new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 0, defaultHeaders: headers })
  return { base, as, first, second, claude, gemini }
}

const ANN = 'sk-ann-000001'
const BOB = 'sk-bob-000001'
const LINE = { custom_id: 'a', method: 'POST', url: '/v1/responses', body: { model: 'second', input: 'hi' } }

test('a response goes on, streamed and whole, at the account that keeps it, and for its tenant alone', async (t) => {
  const { as, first, second } = await port(t)
  const ann = as(ANN)
  const created = await ann.responses.create({ model: 'second', input: 'hi' })
  const [raw] = [...second.objects.keys()]
  ok(created.id.startsWith(raw!) && created.id.length === raw!.length + 28)
  const next = await ann.responses.create({ model: 'second', input: 'more', previous_response_id: created.id })
  equal(second.requests.at(-1)!.body.previous_response_id, raw)
  equal(next.previous_response_id, created.id)

  const ids: string[] = []
  let text = ''
  for await (const event of await ann.responses.create({ model: 'second', input: 'hi', stream: true })) {
    if ('response' in event) ids.push(event.response.id)
    if (event.type === 'response.output_text.delta') text += event.delta
  }
  const kept = [...second.objects.keys()].at(-1)!
  deepEqual(new Set(ids).size, 1)
  ok(ids[0]!.startsWith(kept))
  // What a model says is none of it.
  equal(text, kept)

  equal((await ann.responses.retrieve(ids[0]!)).id, ids[0])
  const again: string[] = []
  for await (const event of await ann.responses.retrieve(ids[0]!, { stream: true, starting_after: 1 })) {
    if ('response' in event) again.push(event.response.id)
  }
  deepEqual(again, [ids[0], ids[0]])
  equal(second.requests.at(-1)!.query.get('starting_after'), '1')
  equal((await ann.responses.inputItems.list(ids[0]!)).data[0]!.id, 'msg_1')
  equal((await ann.responses.cancel(ids[0]!)).status, 'cancelled')
  equal(first.requests.length, 0)

  const bob = as(BOB)
  await rejects(bob.responses.retrieve(created.id), { status: 404, message: /there is no response with this id/ })
  await rejects(bob.responses.create({ model: 'second', input: 'x', previous_response_id: created.id }), {
    status: 400,
    param: 'previous_response_id'
  })
  for (const id of [raw!, `${created.id}a`, 'resp_..', '%2e%2e'])
    await rejects(ann.responses.retrieve(id), { status: 404 })
  await rejects(ann.batches.retrieve(created.id), { status: 404 })
  await rejects(ann.responses.create({ model: 'first', input: 'x', previous_response_id: created.id }), {
    status: 400,
    message: /kept by a provider that does not serve this model/
  })
  await rejects(ann.responses.create({ model: 'claude', input: 'x', previous_response_id: created.id }), {
    status: 400
  })
  const seen = second.requests.length
  await ann.responses.delete(created.id)
  deepEqual([second.requests.length, second.requests.at(-1)!.path], [seen + 1, `/v1/responses/${raw}`])
})

test('files and batches: made where the client says, read where they are, with the models of the port', async (t) => {
  const { as, base, first, second } = await port(t)
  const file = async () => toFile(Buffer.from(`${JSON.stringify(LINE)}\n`), 'in.jsonl')
  const other = await as(ANN).files.create({ file: await toFile(Buffer.from('text'), 'a.txt'), purpose: 'user_data' })
  ok(other.id.startsWith([...first.objects.keys()][0]!))
  const chosen = as(ANN, { 'x-weir-model': 'second' })
  const { data: uploaded, response } = await chosen.files
    .create({ file: await file(), purpose: 'batch' })
    .withResponse()
  equal(response.headers.get('x-weir-provider'), 'second')
  const [raw] = [...second.objects.keys()]
  deepEqual(JSON.parse(second.contents.get(raw!)!.toString()), { ...LINE, body: { model: 'gpt-second', input: 'hi' } })
  equal(second.requests.at(-1)!.headers['x-weir-model'], undefined)

  // The file says where.
  const ann = as(ANN)
  const batch = await ann.batches.create({
    input_file_id: uploaded.id,
    endpoint: '/v1/responses',
    completion_window: '24h'
  })
  equal(second.requests.at(-1)!.body.input_file_id, raw)
  deepEqual([batch.input_file_id, batch.output_file_id], [uploaded.id, uploaded.id])
  equal((await ann.batches.retrieve(batch.id)).id, batch.id)
  equal((await ann.batches.cancel(batch.id)).status, 'cancelled')
  equal(await (await ann.files.content(batch.output_file_id!)).text(), second.contents.get(raw!)!.toString())

  await rejects(as(BOB).files.retrieve(uploaded.id), { status: 404 })
  await rejects(as(BOB).files.content(uploaded.id), { status: 404 })
  await rejects(as(BOB).files.delete(uploaded.id), { status: 404 })
  await rejects(
    as(BOB).batches.create({ input_file_id: uploaded.id, endpoint: '/v1/responses', completion_window: '24h' }),
    {
      status: 400,
      message: /input_file_id: there is no file/
    }
  )
  await rejects(
    ann.responses.create({
      model: 'second',
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: other.id }] }]
    }),
    {
      status: 400
    }
  )
  await rejects(
    ann.responses.create({
      model: 'second',
      previous_response_id: null,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', file_id: other.id },
            { type: 'input_file', file_id: uploaded.id }
          ]
        }
      ]
    }),
    { status: 400, message: /another provider than the other ids/ }
  )
  equal((await ann.files.delete(uploaded.id)).id, uploaded.id)
  await rejects(ann.files.list(), { status: 403, message: /files cannot be listed/ })
  const plain = await fetch(`${base}/v1/files/${uploaded.id}/../../models`, {
    headers: { authorization: `Bearer ${ANN}` }
  })
  equal(plain.status, 200)
})

test('models of a batch are those that its key may use, and a budget is not gone round', async (t) => {
  const { as, first, second } = await port(t)
  const file = (model: string) => toFile(Buffer.from(JSON.stringify({ ...LINE, body: { model } })), 'in.jsonl')
  const cut = as('sk-cut-000001')
  await rejects(cut.files.create({ file: await file('first'), purpose: 'batch' }), { status: 403, message: /"first"/ })
  const mine = await cut.files.create({ file: await file('second'), purpose: 'batch' })
  ok(mine.id.startsWith([...second.objects.keys()][0]!))
  // The account of a model that the key may not use.
  const text = await toFile(Buffer.from('x'), 'x.txt')
  equal((await cut.files.create({ file: text, purpose: 'user_data' })).object, 'file')
  equal(first.requests.length, 0)
  await rejects(as(ANN).files.create({ file: await file('gpt-second'), purpose: 'batch' }), {
    status: 400,
    message: /file: line 1: body\.model: .*does not serve the model "gpt-second"/
  })
  await rejects(
    cut.uploads.create({ bytes: 9, filename: 'in.jsonl', mime_type: 'application/jsonl', purpose: 'batch' }),
    {
      status: 403,
      message: /in one piece/
    }
  )
  const poor = as('sk-poor-00001')
  await rejects(poor.responses.create({ model: 'first', input: 'hi', background: true }), {
    status: 403,
    message: /in the background/
  })
  const own = await poor.files.create({ file: await file('first'), purpose: 'batch' })
  await rejects(poor.batches.create({ input_file_id: own.id, endpoint: '/v1/responses', completion_window: '24h' }), {
    status: 403,
    message: /a key with a budget/
  })
})

test("without keys: one account's ids pass, and of several each says where it is", async (t) => {
  const one = await startKeeper(t)
  const alone = await gatewayOf(t, {
    llm: { port: 4000, models: [openaiModel('first', one, 'sk-account-of-the-first')] }
  })
  const only = new OpenAI({ baseURL: `${alone.base}/v1`, apiKey: 'x', maxRetries: 0 })
  const created = await only.responses.create({ model: 'first', input: 'hi' })
  deepEqual([created.id], [...one.objects.keys()])
  equal((await only.responses.retrieve(created.id)).id, created.id)
  const { data } = await only.files.list()
  deepEqual(data, [])
  const before = one.requests.length
  for (const id of ['a%20b', 'a%3Fb', 'a%23b', '%2e%2e', 'a%2Fb', 'a%00', 'é', 'x'.repeat(600)]) {
    const { status } = await fetch(`${alone.base}/v1/files/${id}`)
    ok(status === 404 || status === 400, `${id}: ${status}`)
  }
  equal(one.requests.length, before)

  const { as, second } = await port(t, {})
  const anyone = as('x')
  const made = await anyone.responses.create({ model: 'second', input: 'hi' })
  notEqual(made.id, [...second.objects.keys()][0])
  equal((await anyone.responses.retrieve(made.id)).id, made.id)
  equal(second.requests.at(-1)!.path, `/v1/responses/${[...second.objects.keys()][0]}`)
})

test('the same configuration opens ids of the process before it', async (t) => {
  const keeper = await startKeeper(t)
  const file = { llm: { port: 4000, models: [openaiModel('first', keeper, 'sk-account-of-the-first')] }, keys: KEYS }
  const clientOf = async () => {
    const { base } = await gatewayOf(t, file)
    return new OpenAI({ baseURL: `${base}/v1`, apiKey: ANN, maxRetries: 0 })
  }
  const before = await (await clientOf()).conversations.create({})
  const after = await clientOf()
  equal((await after.conversations.retrieve(before.id)).id, before.id)
  const stores = await after.vectorStores.create({ name: 'x' })
  const file_ = await after.files.create({ file: await toFile(Buffer.from('x'), 'x.txt'), purpose: 'assistants' })
  const attached = await after.vectorStores.files.create(stores.id, { file_id: file_.id })
  deepEqual([attached.id, attached.vector_store_id], [file_.id, stores.id])
})

test("Anthropic's client: batches with their results, files", async (t) => {
  const { base, claude } = await port(t)
  const as = (key: string) => new Anthropic({ baseURL: base, apiKey: key, maxRetries: 0 })
  const ann = as(ANN)
  const request = {
    custom_id: 'a',
    params: { model: 'claude', max_tokens: 5, messages: [{ role: 'user' as const, content: 'hi' }] }
  }
  const batch = await ann.messages.batches.create({ requests: [request] })
  const [raw] = [...claude.objects.keys()]
  ok(batch.id.startsWith(raw!) && batch.id !== raw)
  deepEqual((claude.requests[0]!.body.requests as (typeof request)[])[0]!.params.model, 'claude-x')
  equal(batch.results_url, `${base}/v1/messages/batches/${batch.id}/results`)
  const results = []
  for await (const one of await ann.messages.batches.results(batch.id)) results.push(one.custom_id)
  deepEqual(results, ['a'])
  equal(claude.requests.at(-1)!.path, `/v1/messages/batches/${raw}/results`)
  await rejects(as(BOB).messages.batches.retrieve(batch.id), { status: 404 })
  await rejects(as(BOB).messages.batches.results(batch.id), { status: 404 })
  await rejects(as('sk-cut-000001').messages.batches.create({ requests: [request] }), { status: 403 })
  equal((await ann.messages.batches.delete(batch.id)).id, batch.id)

  const file = await ann.beta.files.upload({
    file: await toFile(Buffer.from('x'), 'x.txt'),
    betas: ['files-api-2025-04-14']
  })
  match(String(claude.requests.at(-1)!.headers['anthropic-beta']), /files-api/)
  const source = { type: 'file' as const, file_id: file.id }
  const messages = [{ role: 'user' as const, content: [{ type: 'document' as const, source }] }]
  await rejects(as(BOB).beta.messages.create({ model: 'claude', max_tokens: 5, messages }), { status: 400 })
})

test("Google's client: files by its upload protocol, caches, batches", async (t) => {
  const { base, gemini } = await port(t)
  const as = (key: string) => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: base } })
  const ann = as(ANN)
  const file = await ann.files.upload({ file: new Blob(['hello']), config: { mimeType: 'text/plain' } })
  const name = `files/abc${gemini.port}`
  ok(file.name!.startsWith(name) && file.name !== name)
  ok(file.uri!.endsWith(file.name!))
  equal(gemini.contents.get(`UP-${gemini.port}`)?.toString(), 'hello')
  equal((await ann.files.get({ name: file.name! })).name, file.name)
  equal(gemini.requests.at(-1)!.path, `/v1beta/${name}`)
  const part = { fileData: { fileUri: file.uri!, mimeType: 'text/plain' } }
  await ann.models.generateContent({ model: 'gem', contents: [{ role: 'user', parts: [part] }] })
  match(
    gemini.requests.at(-1)!.bytes.toString(),
    new RegExp(`"https://generativelanguage.googleapis.com/v1beta/${name}"`)
  )
  await rejects(as(BOB).models.generateContent({ model: 'gem', contents: [{ role: 'user', parts: [part] }] }), {
    status: 400
  })
  await rejects(as(BOB).files.get({ name: file.name! }), { status: 404 })

  const cache = await ann.caches.create({ model: 'gem', config: { contents: 'hello' } })
  equal(gemini.requests.at(-1)!.body.model, 'models/gemini-x')
  ok(cache.name!.startsWith(`cachedContents/c${gemini.port}`))
  await ann.models.generateContent({ model: 'gem', contents: 'hi', config: { cachedContent: cache.name! } })
  equal(gemini.requests.at(-1)!.body.cachedContent, `cachedContents/c${gemini.port}`)
  const batch = await ann.batches.create({ model: 'gem', src: [{ contents: 'hi' }] })
  equal(gemini.requests.at(-1)!.path, '/v1beta/models/gemini-x:batchGenerateContent')
  equal((await ann.batches.get({ name: batch.name! })).name, batch.name)
})

test('the example of the documentation: what one key has kept is not there for the other', async (t) => {
  const keeper = await startKeeper(t)
  const text = readFileSync(new URL('../../../docs/examples/llm-objects.yaml', import.meta.url), 'utf8')
    .replace('port: 8080', 'port: 0')
    .replaceAll('params: { apiKey', `params: { baseUrl: "http://127.0.0.1:${keeper.port}/v1", apiKey`)
  const gateway = await startGateway(text)
  t.after(() => gateway.close())
  const as = (apiKey: string) => new OpenAI({ baseURL: `http://127.0.0.1:${gateway.port}/v1`, apiKey, maxRetries: 0 })
  const made = await as('sk-ann-0123456789').files.create({
    file: await toFile(Buffer.from('a'), 'a.txt'),
    purpose: 'user_data'
  })
  equal((await as('sk-ann-0123456789').files.retrieve(made.id)).id, made.id)
  await rejects(as('sk-bob-0123456789').files.retrieve(made.id), OpenAI.NotFoundError)
})

test('a prefix of the gateway that is called like an API is none', async (t) => {
  const { first } = await port(t)
  const ai = {
    groups: [{ providers: [{ name: 'p', openai: {}, host: '127.0.0.1', port: first.port }] }],
    routes: {
      '/responses': 'Responses',
      '/files': 'Stored',
      '/messages': 'Messages',
      '/chat/completions': 'Completions'
    }
  }
  const { ask } = await gatewayOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
  for (const prefix of ['/responses', '/files']) {
    const before = first.requests.length
    await ask(`${prefix}/v1/messages`, { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
    deepEqual(
      first.requests.slice(before).map(({ path }) => path),
      ['/v1/chat/completions'],
      prefix
    )
  }
})
