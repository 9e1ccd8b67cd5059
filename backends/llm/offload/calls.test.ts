/** Large embeddings and counts: read and written elsewhere, with the same outcome as small ones. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { dialectFor } from '#backends/llm/providers/dialects.ts'
import { answers, at, gateway, gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { MockRequest, Models } from '#engine/testing/models.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { type LargeJob, runLargeJob, type WrittenOperation } from './job.ts'
import { bare, LONG, TEXT, total, watchJson } from './large-bodies.fixture.ts'
import { LARGE_BYTES } from './threshold.ts'

const EMBEDDINGS = '/v1/embeddings'
const EMBED = '/v1beta/models/m:embedContent'
const BATCH = '/v1beta/models/m:batchEmbedContents'
const COUNT = '/v1/messages/count_tokens'
const GEMINI_COUNT = '/v1beta/models/m:countTokens'
const ROUTES = {
  '/embeddings': 'Embeddings',
  ':embedContent': 'Embeddings',
  ':batchEmbedContents': 'Embeddings',
  '/messages/count_tokens': 'AnthropicTokenCount',
  ':countTokens': 'GeminiTokenCount'
}

type Backend = (models: Models) => object
const one =
  (kind: string, more: object = {}): Backend =>
  (models) => ({ provider: at(kind, models), routes: ROUTES, ...more })
const both: Backend = (models) => ({
  groups: [{ providers: ['openai', 'gemini'].map((kind) => at(kind, models, { name: kind })) }],
  routes: ROUTES
})
const alias = { modelAliases: { m: 'n' } }
const prompt = {
  prompt: { prepend: [{ role: 'system', content: 'Be brief.' }], append: [{ role: 'user', content: 'Now.' }] }
}
const vertex: Backend = (models) => ({
  provider: {
    vertexai: { projectId: 'p', region: 'r' },
    host: '127.0.0.1',
    port: models.port,
    policies: { auth: { key: 'k' } }
  },
  routes: ROUTES
})

const embed = (more = '') => `{"model":"m"${more},"input":["${TEXT}","b"]}`
const embedOne = (more = '') => `{"content":{"parts":[{"text":"${TEXT}"}${more}]}}`
const embedMany = (more = '') => `{"requests":[{"model":"models/m"${more},"content":{"parts":[{"text":"${TEXT}"}]}}]}`
const count = (more = '') => `{"model":"m"${more},"messages":[{"role":"user","content":"${TEXT}"}]}`
const countInside = () =>
  `{"generateContentRequest":{"model":"models/m","contents":[{"role":"user","parts":[{"text":"${TEXT}"}]}]}}`
const countContents = () => `{"contents":[{"role":"user","parts":[{"text":"${TEXT}"}]}]}`
const DEEP = `,"x":${'['.repeat(60_000)}${']'.repeat(60_000)}`

const CASES: readonly (readonly [name: string, ai: Backend, path: string, body: string])[] = [
  ['embeddings, as they came', one('openai'), EMBEDDINGS, embed(',"x":12345678901234567890')],
  ['embeddings under an alias', one('openai', alias), EMBEDDINGS, embed(',"x":[{}]')],
  ['embeddings with a query', one('openai'), `${EMBEDDINGS}?x=1&key=k`, embed()],
  ["embeddings, OpenAI's to Gemini", one('gemini', alias), EMBEDDINGS, embed(',"dimensions":2')],
  ['embeddings to Gemini, packed', one('gemini'), EMBEDDINGS, embed(',"encoding_format":"base64"')],
  ['embeddings with a field that cannot be carried', one('gemini'), EMBEDDINGS, embed(',"late":"u"')],
  ['embeddings with a field that need not be', one('gemini'), EMBEDDINGS, embed(',"user":"u"')],
  ['embeddings: one that is dropped', one('gemini', { unsupported: 'drop' }), EMBEDDINGS, embed(',"user":"u"')],
  ['embeddings: one that one of two can be told', both, EMBEDDINGS, embed(',"late":"u"')],
  ['embeddings where there are none', one('anthropic'), EMBEDDINGS, embed()],
  ['embeddings without a model', one('openai'), EMBEDDINGS, embed().replace('"model":"m"', '"n":1')],
  ['embeddings with the model of the wrong type', one('openai'), EMBEDDINGS, embed().replace('"m"', '7')],
  ['embeddings of tokens', one('gemini'), EMBEDDINGS, embed().replace('"b"', '7')],
  ['embeddings that are no object', one('openai'), EMBEDDINGS, `["${TEXT}"]`],
  ['embeddings that are cut', one('openai'), EMBEDDINGS, embed().slice(0, -1)],
  ['embeddings that are deep', one('openai', alias), EMBEDDINGS, embed(DEEP)],
  ["Gemini's embedding", one('gemini', alias), EMBED, embedOne()],
  ["Gemini's embedding, to OpenAI", one('openai', alias), EMBED, embedOne()],
  ["Gemini's embeddings, under an alias", one('gemini', alias), BATCH, embedMany()],
  ["Gemini's embeddings, to OpenAI", one('openai'), BATCH, embedMany(',"outputDimensionality":3')],
  ["Gemini's embeddings, one field too many", one('openai'), BATCH, embedMany(',"taskType":"CLUSTERING"')],
  ['a count', one('anthropic'), COUNT, count()],
  ['a count under an alias', one('anthropic', alias), COUNT, count(',"system":"s"')],
  ['a count with a prompt', one('anthropic', prompt), COUNT, count()],
  ['a count by Gemini, and a field that it has not', one('gemini'), COUNT, count(',"metadata":{"user_id":"u"}')],
  ['a count by OpenAI', one('openai'), COUNT, count()],
  ['a count by Bedrock', one('bedrock', alias), COUNT, count()],
  ['a count of Claude at Vertex AI', vertex, COUNT, count().replace('"m"', '"claude-x-20250929"')],
  ['a count of Gemini at Vertex AI', vertex, '/v1beta/models/gemini-x:countTokens', countInside()],
  ['a count that is none', one('gemini'), COUNT, '{"model":"m","messages":"%"}'],
  ['a deep count', one('anthropic', alias), COUNT, count(DEEP)],
  ["Gemini's count", one('gemini', alias), GEMINI_COUNT, countInside()],
  ["Gemini's count with a prompt", one('gemini', prompt), GEMINI_COUNT, countContents()],
  ["Gemini's count, by Anthropic", one('anthropic', alias), GEMINI_COUNT, countContents()],
  ["Gemini's count at no model", one('gemini'), '/x:countTokens', countContents()]
]

test('however many fields a large request loses, the pool names few of them, and their number', async (t) => {
  const models = await provider(t)
  answers(models, '', answerOf)
  const { ask } = await gateway(t, one('openai', { unsupported: 'drop' })(models))
  const lost: number[] = []
  const { run } = OffloadPool.prototype
  t.mock.method(OffloadPool.prototype, 'run', async function (this: OffloadPool, job: string, argument: unknown) {
    const made = (await run.call(this, job, argument)) as WrittenOperation
    lost.push(made.printed.lost.fields.length)
    return made
  })
  for (const many of [40, 4000]) {
    const request = { taskType: 'CLUSTERING', content: { parts: [{ text: 'some text' }] } }
    const response = await ask(BATCH, { requests: Array.from({ length: many }, () => request) })
    equal(response.status, 200)
    const dropped = response.headers.get('x-weir-dropped') ?? ''
    ok(dropped.startsWith('requests[0].taskType, requests[1].taskType'))
    ok(dropped.endsWith(`requests[31].taskType, and ${many - 32} more`), dropped)
  }
  deepEqual(lost, [32])
})

/** What the providers of these tests answer. */
function answerOf({ path }: MockRequest): object {
  if (path.includes('/embeddings')) {
    const data = [0.5, 1].map((value, index) => ({ object: 'embedding', index, embedding: [value, 0.25] }))
    return { object: 'list', data, model: 'n', usage: { prompt_tokens: 6, total_tokens: 6 } }
  }
  if (path.includes(':batchEmbedContents')) {
    return { embeddings: [{ values: [0.5, 0.25] }, { values: [1, 2] }], usageMetadata: { promptTokenCount: 6 } }
  }
  if (path.includes(':embedContent')) return { embedding: { values: [0.5] } }
  return path.includes(':countTokens') ? { totalTokens: 15 } : { input_tokens: 16, inputTokens: 16 }
}

/** Fields that differ with the length, the connection or the time. */
const DIFFER = new Set(['content-length', 'host', 'date', 'connection', 'transfer-encoding', 'keep-alive'])

/** Of refusals: no two have the same. */
const withoutId = (text: unknown) => String(text).replaceAll(/req_[0-9a-f]{32}/g, 'req_')

const same = (fields: Iterable<[string, unknown]>) =>
  [...fields]
    .filter(([name]) => !DIFFER.has(name))
    .map(([name, value]) => [name, withoutId(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))

for (const [name, ai, path, body] of CASES) {
  test(`what is large is what is small: ${name}`, async (t) => {
    const models = await provider(t)
    answers(models, '', answerOf)
    const { ask, metrics } = await gateway(t, ai(models))
    const { run } = OffloadPool.prototype
    let jobs = 0
    t.mock.method(OffloadPool.prototype, 'run', function (this: OffloadPool, job: string, argument: unknown) {
      jobs++
      return run.call(this, job, argument)
    })
    const outcome = async (text: string) => {
      models.requests.length = 0
      const before = total(metrics())
      const response = await ask(
        path,
        body.replace(TEXT, () => text),
        { 'x-request-id': 'r' }
      )
      const requests = models.requests.map((seen) => {
        const sent = bare(seen.bytes.toString(), text)
        return { path: seen.path, headers: same(Object.entries(seen.headers)), body: sent }
      })
      const answered = withoutId(bare(await response.text(), text))
      return [response.status, same(response.headers), answered, requests, total(metrics()) - before]
    }
    const small = await outcome('short')
    equal(jobs, 0)
    deepEqual(await outcome(LONG), small)
    ok(jobs > 0)
  })
}

const SEVEN = { prompt_tokens: 7, total_tokens: 7 }
const VECTOR = { object: 'embedding', index: 0, embedding: [0.5, 1e-9] }

test('a large answer is what a small one is', async (t) => {
  const models = await provider(t)
  let [status, answer, pad] = [200, '', '']
  models.instead = (_, response) => {
    response.writeHead(status, { 'content-type': 'text/json', etag: 'x' }).end(pad + answer)
    return true
  }
  const openai = await gateway(t, one('openai')(models))
  const gemini = await gateway(t, one('gemini')(models))
  const asks = [
    [EMBEDDINGS, embed(), openai],
    [EMBEDDINGS, embed(), gemini],
    [EMBEDDINGS, embed(',"encoding_format":"base64"'), gemini],
    [EMBED, embedOne(), openai],
    [BATCH, embedMany(), openai],
    [COUNT, count(), gemini],
    [GEMINI_COUNT, countContents(), gemini],
    [GEMINI_COUNT, countContents(), openai]
  ] as const
  const cases: readonly (readonly [number, unknown])[] = [
    [200, { data: [VECTOR], usage: SEVEN, embeddings: [{ values: [0.5, 3] }], usageMetadata: { promptTokenCount: 5 } }],
    [200, { totalTokens: 3, input_tokens: 4 }],
    // What it has cost is owed, whatever is wrong with the rest.
    [200, { data: 7, usage: SEVEN, embeddings: 7, usageMetadata: { promptTokenCount: 5 } }],
    [200, { usage: 'x', usageMetadata: 'x' }],
    [200, [1]],
    [200, null],
    [400, { error: { message: 'no', type: 'invalid_request_error', code: 400, status: 'INVALID_ARGUMENT' } }],
    [500, { detail: 'x' }]
  ]
  const texts = cases.map(([code, value]) => [code, JSON.stringify(value)] as const)
  for (const [code, text] of [...texts, [200, '{"usage":'], [502, '<html>']] as const) {
    for (const [path, body, { ask, metrics }] of asks) {
      status = code
      answer = text
      const outcome = async (ahead: string) => {
        pad = ahead
        const before = total(metrics())
        const response = await ask(path, body.replace(TEXT, 'a'))
        const got = withoutId((await response.text()).trimStart())
        return [response.status, same(response.headers), got, total(metrics()) - before]
      }
      const small = await outcome('')
      deepEqual(await outcome(' '.repeat(LARGE_BYTES + 1)), small, `${path} ${code} ${text}`)
      if (text.includes('"data":7') && path !== COUNT && path !== GEMINI_COUNT) ok((small[3] as number) > 0)
    }
  }
})

test("what is of the client's own format and says no cost passes as it comes, however long, whatever it is", async (t) => {
  const models = await provider(t)
  const answer = `nothing${' '.repeat(3_000_000)}`
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
    return true
  }
  for (const [path, kind, body] of [
    [COUNT, 'anthropic', count()],
    [GEMINI_COUNT, 'gemini', countContents()]
  ] as const) {
    const { ask } = await gateway(t, one(kind)(models))
    const response = await ask(path, body)
    equal(response.status, 200)
    equal(await response.text(), answer)
  }
})

test("OpenAI's embeddings are native where only Responses are spoken beside them", async (t) => {
  const models = await provider(t)
  const custom = { custom: { formats: ['responses'] }, host: '127.0.0.1', port: models.port }
  const { ask } = await gateway(t, { provider: custom, routes: ROUTES })
  for (const status of [200, 400]) {
    models.instead = (_, response) => {
      response.writeHead(status).end('no JSON')
      return true
    }
    const response = await ask(EMBEDDINGS, embed())
    deepEqual([response.status, await response.text()], [status, 'no JSON'])
  }
})

const TEXTS = Array.from({ length: 40_000 }, (_, i) => `${i} ${'x'.repeat(250)}`)
const VALUES = Array.from({ length: 600_000 }, (_, i) => i / 7)

async function large(t: TestContext, ai: object) {
  const frontendPolicies = { http: { maxBufferSize: 33_554_432 } }
  return await gatewayOf(t, {
    frontendPolicies,
    binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
  })
}

/** Kinds of the jobs that the pool is given, and how they are told of their bodies. */
function watchJobs(t: TestContext): { readonly kind: string; readonly isOffloaded: boolean }[] {
  const jobs: { readonly kind: string; readonly isOffloaded: boolean }[] = []
  const { run } = OffloadPool.prototype
  t.mock.method(OffloadPool.prototype, 'run', function (this: OffloadPool, job: string, argument: unknown) {
    const { kind, bytes } = argument as LargeJob
    jobs.push({ kind, isOffloaded: bytes !== null })
    return run.call(this, job, argument)
  })
  return jobs
}

for (const [kind, path] of [
  ['openai', EMBEDDINGS],
  ['gemini', EMBEDDINGS]
] as const) {
  test(`10 MB of embeddings by ${kind}: none of it is parsed or printed here, and others are answered`, async (t) => {
    const models = await provider(t)
    answers(models, '', ({ body }) => {
      const values = (body.input ?? body.requests).length > 1 ? VALUES : [1]
      if (kind === 'openai') return { object: 'list', data: [{ ...VECTOR, embedding: values }], usage: SEVEN }
      return { embeddings: [{ values }], usageMetadata: { promptTokenCount: 7 } }
    })
    const { ask, metrics } = await large(t, one(kind, alias)(models))
    const jobs = watchJobs(t)
    let isOver = false
    let others = 0
    const meanwhile = (async () => {
      while (!isOver) {
        equal((await ask(path, { model: 'm', input: ['a'] })).status, 200)
        others++
      }
    })()
    const seen = watchJson(t)
    const response = await ask(path, JSON.stringify({ model: 'm', input: TEXTS }))
    const text = await response.text()
    isOver = true
    await meanwhile
    equal(response.status, 200)
    deepEqual(JSON.parse(text).data[0].embedding, VALUES)
    const largest = models.requests.find(({ bytes }) => bytes.length > LARGE_BYTES)!
    equal((largest.body.input ?? largest.body.requests).length, TEXTS.length)
    equal(kind === 'openai' ? largest.body.model : largest.body.requests[9].model, kind === 'openai' ? 'n' : 'models/n')
    equal(seen.longest, 0)
    deepEqual(
      jobs.map(({ kind: name }) => name),
      // A native answer passes as it comes.
      kind === 'openai' ? ['operation'] : ['operation', 'operationAnswer']
    )
    ok(others >= 3, `${others}`)
    equal(total(metrics()), 7 * (others + 1))
  })
}

test('a large request that fails at one provider goes to the next, and is read once', async (t) => {
  const models = await provider(t)
  let failures = 1
  models.instead = (request, response) => {
    const status = failures-- > 0 ? 500 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answerOf(request)))
    return true
  }
  const { ask } = await gateway(t, both(models))
  const jobs = watchJobs(t)
  const body = embed().replace(TEXT, () => LONG)
  const response = await ask(EMBEDDINGS, body)
  equal(response.status, 200)
  equal(JSON.parse(await response.text()).data[1].index, 1)
  const paths = models.requests.map(({ path }) => path)
  deepEqual(paths.toSorted(), [EMBEDDINGS, '/v1beta/models/m:batchEmbedContents'])
  deepEqual(jobs, [
    { kind: 'operation', isOffloaded: true },
    { kind: 'operation', isOffloaded: false }
  ])

  // No provider could be asked.
  for (const none of [body.slice(1), body.replace('"m"', '7')]) {
    jobs.length = 0
    equal((await ask(EMBEDDINGS, none)).status, 400)
    equal(jobs.length, 1)
  }

  // As the pool does it.
  const specs = [{ type: 'openai' }, { type: 'gemini' }].map((type) => {
    const more = { cloud: null, formats: [], model: null, path: null, pathPrefix: null, edits: { prompt: null } }
    return { settings: { ...type, ...more }, aliases: {}, learned: { dialect: dialectFor(null, '') } }
  })
  const parse = t.mock.method(JSON, 'parse')
  const job = { kind: 'operation', type: 'Embeddings', contentType: '', path: EMBEDDINGS, query: '', id: -7 } as const
  equal(runLargeJob({ ...job, id: -8, bytes: null, spec: specs[0] as never }).kind, 'evicted')
  for (const [i, spec] of specs.entries()) {
    const made = runLargeJob({ ...job, bytes: i === 0 ? Buffer.from(body) : null, spec: spec as never })
    equal(made.kind, 'operation')
  }
  equal(parse.mock.callCount(), 1)
})

test('by the name of the model: a large body is sent to the pool once', async (t) => {
  const models = await provider(t)
  answers(models, '', answerOf)
  const params = { baseUrl: `http://127.0.0.1:${models.port}/v1`, apiKey: 'k', model: 'real' }
  const { ask } = await gatewayOf(t, { llm: { port: 4000, models: [{ name: 'm', provider: 'openai', params }] } })
  const jobs = watchJobs(t)
  const response = await ask(
    EMBEDDINGS,
    embed().replace(TEXT, () => LONG)
  )
  deepEqual([response.status, models.requests[0]!.body.model], [200, 'real'])
  deepEqual(jobs, [
    { kind: 'model', isOffloaded: true },
    { kind: 'operation', isOffloaded: false }
  ])
})

test('with a full queue, large requests are refused, and small ones pass', async (t) => {
  const models = await provider(t)
  answers(models, '', answerOf)
  const { ask } = await gateway(t, both(models))
  t.mock.method(OffloadPool.prototype, 'run', () => Promise.reject(new Error('full')))
  const refused = await ask(
    EMBEDDINGS,
    embed().replace(TEXT, () => LONG)
  )
  // BODY_OVERLOAD
  equal(refused.status, 503)
  ok((await refused.text()).includes('too many large bodies wait to be read'))
  equal(models.requests.length, 0)
  equal((await ask(EMBEDDINGS, embed())).status, 200)
})

test('where too much waits, a large answer passes only as it is, and has cost what it says', async (t) => {
  const models = await provider(t)
  models.instead = (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(' '.repeat(LARGE_BYTES) + JSON.stringify(answerOf(request)))
    return true
  }
  t.mock.method(OffloadPool.prototype, 'run', () => Promise.reject(new Error('full')))
  for (const [path, kind, status, tokens] of [
    [EMBEDDINGS, 'openai', 200, 6],
    [EMBEDDINGS, 'gemini', 502, 6],
    [COUNT, 'gemini', 502, 0]
  ] as const) {
    const { ask, metrics } = await gateway(t, one(kind)(models))
    const response = await ask(path, path === COUNT ? count() : embed())
    const text = await response.text()
    deepEqual([response.status, total(metrics())], [status, tokens], path)
    equal(text.includes('too much is waiting to be read'), status === 502)
  }
})

/** A large body's job that goes on when `done` is resolved: `begun` and `over` tell how far it is. */
function holdJob(t: TestContext) {
  const [begun, done, over] = [1, 2, 3].map(() => Promise.withResolvers<void>())
  const { run } = OffloadPool.prototype
  t.mock.method(OffloadPool.prototype, 'run', async function (this: OffloadPool, job: string, argument: unknown) {
    begun!.resolve()
    await done!.promise
    try {
      return await run.call(this, job, argument)
    } finally {
      over!.resolve()
    }
  })
  return { begun: begun!, done: done!, over: over! }
}

test('a client that leaves while its large request is written costs others nothing', async (t) => {
  const models = await provider(t)
  answers(models, '', answerOf)
  const { base, ask } = await gateway(t, one('gemini')(models))
  const leaving = new AbortController()
  const { begun, done, over } = holdJob(t)
  const body = embed().replace(TEXT, () => LONG)
  const response = fetch(base + EMBEDDINGS, { method: 'POST', body, signal: leaving.signal })
  await begun.promise
  leaving.abort()
  await response.catch(() => null)
  // When that is answered, the gateway has seen who left.
  equal((await ask(COUNT, count())).status, 200)
  done.resolve()
  await over.promise
  equal((await ask(EMBEDDINGS, body)).status, 200)
  const large = models.requests.map(({ bytes }) => bytes.length > LARGE_BYTES)
  deepEqual(large, [false, true])
})

test('a client that leaves while a large answer is read is charged for it', async (t) => {
  const models = await provider(t)
  models.instead = (request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(' '.repeat(LARGE_BYTES) + JSON.stringify(answerOf(request)))
    return true
  }
  const policies = { localRateLimit: [{ type: 'tokens', maxTokens: 5, tokensPerFill: 5, fillInterval: '1h' }] }
  const backends = [{ ai: one('gemini')(models) }]
  const { base, ask } = await gatewayOf(t, {
    binds: [{ port: 0, listeners: [{ routes: [{ policies, backends }] }] }]
  })
  const leaving = new AbortController()
  const { begun, done, over } = holdJob(t)
  const response = fetch(base + EMBEDDINGS, { method: 'POST', body: embed(), signal: leaving.signal })
  await begun.promise
  leaving.abort()
  await response.catch(() => null)
  equal((await ask('/none/models/m:countTokens', '{')).status, 400)
  done.resolve()
  await over.promise
  equal((await ask(EMBEDDINGS, embed())).status, 429)
  equal(models.requests.length, 1)
})
