/** Tenants who look for the objects of others, or for models and money that their keys have not got. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gatewayOf, jsonOf } from '#backends/llm/testing/llm-gateway.ts'
import { startKeeper } from './keeper.fixture.ts'
import { References, sealBody } from './references.ts'
import { type Seal, sealId } from './seal.ts'

const KEYS = [
  { name: 'ann', key: 'sk-ann-000001' },
  { name: 'cut', key: 'sk-cut-000001', models: ['cheap'] },
  { name: 'poor', key: 'sk-poor-00001', budgets: [{ amount: 1, period: 'month' }] }
]

async function port(t: TestContext) {
  const keeper = await startKeeper(t)
  const openai = { baseUrl: `http://127.0.0.1:${keeper.port}/v1`, apiKey: 'sk-account-of-all' }
  const google = { baseUrl: `http://127.0.0.1:${keeper.port}/v1beta`, apiKey: 'AIza-account-0000' }
  const models = [
    { name: 'cheap', provider: 'openai', params: { ...openai, model: 'gpt-cheap' }, prices: [{ input: 1, output: 1 }] },
    { name: 'dear', provider: 'openai', params: { ...openai, model: 'gpt-dear' } },
    { name: 'gem', provider: 'gemini', params: { ...google, model: 'gemini-x' } }
  ]
  const { base } = await gatewayOf(t, { llm: { port: 4000, models }, keys: KEYS })
  const send = async (key: string, path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body)
    })
    return { status: response.status, text: await response.text() }
  }
  return { base, keeper, send }
}

const ANN = 'sk-ann-000001'
const CUT = 'sk-cut-000001'
const seal: Seal = { tag: 'abcd', key: Buffer.alloc(32, 1), tenant: 'ann' }

test('what an answer repeats of the client is not sealed: it would open the objects of others', () => {
  const own = { object: 'file', id: 'file-OfBob', file_id: 'file-OfBob' }
  const answers = [
    { object: 'list', data: [{ type: 'local_shell_call', action: { type: 'exec', env: own } }] },
    { object: 'response', tools: [{ type: 'mcp', headers: own }], prompt: { variables: own } },
    { object: 'response', output: [{ type: 'mcp_list_tools', tools: [{ name: 'f', annotations: own }] }] },
    { object: 'eval.run', data_source: { source: { type: 'file_content', content: [{ item: own }] } } },
    { object: 'list', data: [{ object: 'eval.run.output_item', datasource_item: own, sample: own }] }
  ]
  for (const answer of answers) equal(sealBody(answer, seal, 'response'), answer)
  const quoted = { candidates: [{ web: { uri: 'https://a.example/files/ofbob', name: 'files/ofbob' } }] }
  equal(sealBody(quoted, seal, null), quoted)
  // An item of a stream, and what it cites, are the provider's words.
  const event = { type: 'response.output_item.done', item: { container_id: 'c', annotations: [{ file_id: 'f' }] } }
  match(JSON.stringify(sealBody(event, seal, null)), /"c[a-z2-7]{28}".*"f[a-z2-7]{28}"/)
})

test('ids of others: in rows of evaluations, and however a URI of Google is spelled', () => {
  const access = { stores: [seal], tenant: 'ann' }
  const google = 'https://generativelanguage.googleapis.com/v1beta'
  const bodies = [
    { data_source: { source: { type: 'file_id', id: 'file-OfBob' } } },
    ...[`${google}/files/ofbob`, `${google}/files/ofbob?alt=media`, `${google}/%66iles/ofbob`, `${google}/files/ofbob/`]
      .concat([' files/ofbob', 'HTTPS://GENERATIVELANGUAGE.googleapis.com:443/v1/files/ofbob#a'])
      .map((fileUri) => ({ fileData: { fileUri } }))
  ]
  for (const body of bodies) {
    let message = 'nothing'
    try {
      new References(access).openBody(body)
    } catch (error) {
      message = String(error)
    }
    match(message, /there is no file with this id/, JSON.stringify(body))
  }
  const source = { type: 'file_id', id: sealId('file-1', 'file', seal) }
  deepEqual(new References(access).openBody({ source }), { source: { type: 'file_id', id: 'file-1' } })
  const elsewhere = { fileData: { fileUri: 'https://a.example/a/files/b.pdf' } }
  equal(new References(access).openBody(elsewhere), elsewhere)
})

test('what all clients have made is read by none: lists under another method, evaluations of kept answers', async (t) => {
  const { base, keeper, send } = await port(t)
  const head = await fetch(`${base}/v1/files`, { method: 'HEAD', headers: { authorization: `Bearer ${ANN}` } })
  equal(head.status, 403)
  for (const type of ['stored_completions', 'responses']) {
    const run = { data_source: { type: 'completions', source: { type } } }
    const { status, text } = await send(ANN, '/v1/evals', run)
    deepEqual([status, /what all clients/.test(text)], [403, true])
  }
  equal((await send(ANN, '/v1/evals', { data_source_config: { type: 'logs' } })).status, 403)
  equal(keeper.requests.length, 0)
  const names = ['x-http-method-override', 'x-http-method', 'x-method-override']
  await send(ANN, '/v1/vector_stores', {}, Object.fromEntries(names.map((name) => [name, 'GET'])))
  equal(keeper.requests.length, 1)
  for (const name of names) equal(keeper.requests[0]!.headers[name], undefined)
})

test('a batch whose lines are not seen names what others have made', async (t) => {
  const { keeper, send } = await port(t)
  const upload = { bytes: 9, filename: 'a', mime_type: 'a/b', purpose: 'batch' }
  match((await send(ANN, '/v1/uploads', upload)).text, /in one piece, to files/)
  equal((await send(ANN, '/v1/uploads', { ...upload, purpose: 'user_data' })).status, 200)
  const piece = { 'x-goog-upload-command': 'upload, finalize' }
  const { file } = JSON.parse((await send(ANN, '/upload/v1beta/files', '{}', piece)).text) as { file: { name: string } }
  const before = keeper.requests.length
  const batch = { batch: { inputConfig: { fileName: file.name } } }
  match((await send(ANN, '/v1beta/models/gem:batchGenerateContent', batch)).text, /has its requests in its body/)
  equal(keeper.requests.length, before)
})

test('a key with a list of models names each of them: nested, encoded, or left to the provider', async (t) => {
  const { keeper, send } = await port(t)
  const grader = { type: 'score_model', model: 'dear' }
  const request = { model: 'models/dear', contents: [] }
  const refused: readonly (readonly [path: string, body: unknown, headers?: Record<string, string>])[] = [
    ['/v1/evals', { testing_criteria: [{ type: 'multi', graders: { a: grader } }] }],
    ['/v1/fine_tuning/jobs', { model: 'cheap', method: { reinforcement: { grader } } }],
    ['/v1/fine_tuning/jobs', { training_file: '' }],
    ['/v1/realtime/client_secrets', {}],
    ['/v1/realtime/client_secrets', { session: { model: 'cheap', audio: { input: { transcription: grader } } } }],
    ['/v1/realtime/calls?mode%6C=dear', 'v=0\r\n', { 'content-type': 'application/sdp' }],
    ['/v1/realtime/calls', 'v=0\r\n', { 'content-type': 'application/sdp' }]
  ]
  for (const [path, body, headers] of refused) {
    const { status, text } = await send(CUT, path, body, headers)
    deepEqual([status, /may not use the model|must name one/.test(text)], [403, true], `${path}: ${text}`)
  }
  const requests = { batch: { inputConfig: { requests: { requests: [{ request }] } } } }
  equal((await send(CUT, '/v1beta/models/cheap:batchGenerateContent', requests)).status, 403)
  equal(keeper.requests.length, 0)
  await send(ANN, '/v1/evals', { testing_criteria: [{ graders: [grader] }], metadata: { model: 'none' } })
  const { testing_criteria: criteria, metadata } = keeper.requests[0]!.body
  deepEqual([criteria, metadata], [[{ graders: [{ type: 'score_model', model: 'gpt-dear' }] }], { model: 'none' }])
})

test('an answer in the background is found in a large body, however its name is written', async (t) => {
  const { keeper, send } = await port(t)
  const input = 'x'.repeat(300_000)
  for (const name of ['background', '\\u0062ackground', 'backgroun\\u0064']) {
    const { status, text } = await send(
      'sk-poor-00001',
      '/v1/responses',
      `{"model":"cheap","input":"${input}","${name}":true}`
    )
    deepEqual([status, /in the background/.test(text)], [403, true], name)
  }
  equal(keeper.requests.length, 0)
})

test('who shows no key, where that is optional, gets less than those who do', async (t) => {
  const keeper = await startKeeper(t)
  const provider = {
    openai: {},
    host: '127.0.0.1',
    port: keeper.port,
    policies: { auth: { key: 'sk-account-of-all' } }
  }
  const routes = { '/vector_stores': 'Stored', '/responses': 'Responses' }
  const ai = { groups: [{ providers: [{ name: 'one', ...provider }] }], routes }
  const policies = { apiKey: { mode: 'optional', keys: [{ key: ANN, metadata: { id: 'ann' } }] } }
  const { base } = await gatewayOf(t, {
    binds: [{ port: 0, listeners: [{ routes: [{ policies, backends: [{ ai }] }] }] }]
  })
  const ask = (path: string, method: string, headers: Record<string, string> = {}) =>
    fetch(`${base}${path}`, { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) })
  const ann = { authorization: `Bearer ${ANN}`, 'content-type': 'application/json' }
  const { id } = await jsonOf(await ask('/v1/vector_stores', 'POST', ann))
  const [raw] = [...keeper.objects.keys()]
  ok(id.startsWith(raw) && id !== raw)
  for (const path of [`/v1/vector_stores/${raw}`, `/v1/vector_stores/${id}`])
    equal((await ask(path, 'GET')).status, 404)
  equal((await ask('/v1/vector_stores', 'GET')).status, 403)
  equal((await ask(`/v1/vector_stores/${id}`, 'GET', ann)).status, 200)
})

test('a body of another shape is an error of the client', async (t) => {
  const { send } = await port(t)
  const deep = `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`
  for (const [path, body] of [
    ['/v1/evals', deep],
    ['/v1/evals', '{"__proto__":{"model":"cheap"}}'],
    ['/v1/vector_stores', '{"file_ids":[["file-1"],{"__proto__":{"file_id":"x"}}]}'],
    ['/v1/realtime/client_secrets', '{"session":[1]}']
  ] as const) {
    const response = await send(ANN, path, body)
    ok(response.status === 400 || response.status === 404 || response.status === 200, `${path}: ${response.status}`)
    ok(await jsonOf(new Response(response.text)))
  }
})
