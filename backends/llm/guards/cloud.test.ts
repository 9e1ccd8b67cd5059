/** Guards of clouds before doubles of their APIs: what they are asked, and what becomes of what they say. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Body, startModels } from '#engine/testing/models.ts'
import { policies } from '#policies/index.ts'
import { CHAT, chat } from './guards.fixture.ts'
import { says, service } from './service.fixture.ts'

const BEDROCK = { guardrailIdentifier: 'abc1', guardrailVersion: 'DRAFT' }
const ARMOR = { templateId: 't-1', projectId: 'p-1', location: 'us-central1' }
const AWS = { aws: { accessKeyId: 'AKID', secretAccessKey: 'secret', region: 'us-west-2', service: 'bedrock' } }

/** A gateway whose guards ask the backend "cloud" with `auth`. */
async function stand(t: TestContext, promptGuard: object, auth: object = {}) {
  const [cloud, models] = await Promise.all([service(t), startModels()])
  t.after(() => models.close())
  const ai = { provider: { openai: {}, host: '127.0.0.1', port: models.port }, promptGuard }
  const gateway = await startGateway(
    JSON.stringify({
      backends: [{ name: 'cloud', host: `127.0.0.1:${cloud.port}`, ...auth }],
      binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
    })
  )
  t.after(() => gateway.close())
  const ask = (body: object) =>
    fetch(`http://127.0.0.1:${gateway.port}${CHAT}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
  return { cloud, models, ask }
}

const AT = { backendRef: { name: 'cloud' } }

test('a guardrail of Bedrock blocks, masks and passes; its calls are signed', async (t) => {
  const guard = { bedrockGuardrails: { ...BEDROCK, ...AT } }
  const { cloud, models, ask } = await stand(t, { request: [guard] }, { policies: { auth: AWS } })
  const intervenes = (action: string, outputs: object[]) =>
    says({
      action: 'GUARDRAIL_INTERVENED',
      outputs,
      assessments: [{ sensitiveInformationPolicy: { piiEntities: [{ type: 'NAME', action }] } }]
    })
  cloud.answer = says({ action: 'NONE', outputs: [], assessments: [] })
  equal((await ask(chat('hello'))).status, 200)
  const { path, headers, body } = cloud.seen[0]!
  deepEqual(
    [path, body],
    ['/guardrail/abc1/version/DRAFT/apply', { source: 'INPUT', content: [{ text: { text: 'hello' } }] }]
  )
  match(String(headers.authorization), /^AWS4-HMAC-SHA256 Credential=AKID\/\d+\/us-west-2\/bedrock\/aws4_request/)
  cloud.answer = intervenes('ANONYMIZED', [{ text: 'I am {NAME}' }])
  equal((await ask(chat('I am Ann'))).status, 200)
  equal(models.requests.at(-1)!.body.messages[0].content, 'I am {NAME}')
  const reached = models.requests.length
  cloud.answer = intervenes('BLOCKED', [{ text: 'no' }])
  equal((await ask(chat('a secret'))).status, 403)
  // One text for two: nobody knows of which.
  cloud.answer = intervenes('ANONYMIZED', [])
  equal((await ask(chat('I am Ann'))).status, 403)
  cloud.answer = says({ action: 'WHATEVER' })
  equal((await ask(chat('hello'))).status, 503)
  equal(models.requests.length, reached)
})

test('answers are judged as output, and masked', async (t) => {
  const guard = { bedrockGuardrails: { ...BEDROCK, ...AT } }
  const { cloud, ask } = await stand(t, { response: [guard] })
  cloud.answer = (body: Body, response) => {
    const outputs = body.content.map(() => ({ text: 'YY' }))
    response.end(
      JSON.stringify({ action: 'GUARDRAIL_INTERVENED', outputs, assessments: [{ a: { action: 'ANONYMIZED' } }] })
    )
  }
  const answer = (await (await ask(chat('hello'))).json()) as Body
  equal(answer.choices[0].message.content, 'YY')
  equal(cloud.seen[0]!.body.source, 'OUTPUT')
  const streamed = await (await ask({ ...chat('hello'), stream: true })).text()
  match(streamed, /YY/)
})

test('Azure Content Safety: severities, lists, attacks; long texts are asked about in pieces', async (t) => {
  const safety = { ...AT, analyzeText: { severityThreshold: 4, categories: ['Hate'] }, detectJailbreak: {} }
  const { cloud, models, ask } = await stand(t, { request: [{ azureContentSafety: safety }] })
  let severity: unknown = 2
  let isListed = false
  let isAttack = false
  cloud.answer = (body: Body, response) => {
    const analysis = { blocklistsMatch: isListed ? [{}] : [], categoriesAnalysis: [{ category: 'Hate', severity }] }
    const shield = { userPromptAnalysis: { attackDetected: isAttack }, documentsAnalysis: [] }
    response.end(JSON.stringify(body.userPrompt === undefined ? analysis : shield))
  }
  equal((await ask(chat('hello'))).status, 200)
  deepEqual(
    cloud.seen.map(({ path, body }) => [path, body]),
    [
      ['/contentsafety/text:analyze?api-version=2024-09-01', { text: 'hello', categories: ['Hate'] }],
      ['/contentsafety/text:shieldPrompt?api-version=2024-09-01', { userPrompt: 'hello', documents: [] }]
    ]
  )
  const refused = models.requests.length
  severity = 4
  equal((await ask(chat('hello'))).status, 403)
  for (severity of [null, '', [], 'NaN']) equal((await ask(chat('hello'))).status, 403)
  severity = 0
  isListed = true
  equal((await ask(chat('hello'))).status, 403)
  isListed = false
  isAttack = true
  equal((await ask(chat('hello'))).status, 403)
  equal(models.requests.length, refused)
  isAttack = false
  cloud.seen.length = 0
  const long = `a${'\u{1F600}'.repeat(12_000)}`
  equal((await ask(chat(long))).status, 200)
  const texts = cloud.seen.flatMap(({ body }) => (body.text === undefined ? [] : [String(body.text)]))
  // Each goes on ahead of the end of the one before it: what is parted there is whole in one of them.
  const rests = texts.map((text, i) => (i === 0 ? text : text.slice(200)))
  equal(rests.join(''), long)
  ok(texts.every((text) => text.isWellFormed() && [...text].length <= 10_000))
  equal((await ask(chat('a'.repeat(400_000)))).status, 400)
  for (const answer of [{}, { categoriesAnalysis: [] }]) {
    cloud.answer = says(answer)
    equal((await ask(chat('hello'))).status, 503)
  }
  const analyzing = await stand(t, { request: [{ azureContentSafety: { ...AT, analyzeText: {} } }] })
  analyzing.cloud.answer = says({ categoriesAnalysis: [] })
  equal((await analyzing.ask(chat('hello'))).status, 503)
})

test('Model Armor: a match rejects, a filter that did not run is no judgement', async (t) => {
  const guard = { googleModelArmor: { ...ARMOR, ...AT } }
  const { cloud, ask } = await stand(t, { request: [guard], response: [guard] })
  const result = (filterMatchState: string, invocationResult: string, filterResults: object = {}) =>
    says({ sanitizationResult: { filterMatchState, invocationResult, filterResults } })
  cloud.answer = result('NO_MATCH_FOUND', 'SUCCESS', { rai: { raiFilterResult: { matchState: 'NO_MATCH_FOUND' } } })
  equal((await ask(chat('hello'))).status, 200)
  const place = '/v1/projects/p-1/locations/us-central1/templates/t-1'
  deepEqual(
    cloud.seen.map(({ path }) => path),
    [`${place}:sanitizeUserPrompt`, `${place}:sanitizeModelResponse`]
  )
  deepEqual(cloud.seen[0]!.body, { userPromptData: { text: 'hello' } })
  ok(cloud.seen[1]!.body.modelResponseData.text.length > 0)
  cloud.answer = result('MATCH_FOUND', 'SUCCESS')
  equal((await ask(chat('hello'))).status, 403)
  const inside = { sdp: { sdpFilterResult: { inspectResult: { matchState: 'MATCH_FOUND' } } } }
  cloud.answer = result('NO_MATCH_FOUND', 'SUCCESS', inside)
  equal((await ask(chat('hello'))).status, 403)
  for (const [state, invocation] of [
    ['NO_MATCH_FOUND', 'PARTIAL'],
    ['', 'SUCCESS']
  ] as const) {
    cloud.answer = result(state, invocation)
    equal((await ask(chat('hello'))).status, 503)
  }
})

test('places of clouds are theirs alone, and one of Azure needs a key', () => {
  const mistakes = (guard: object): string => {
    const ai = { provider: { openai: {} }, promptGuard: { request: [guard] } }
    const text = JSON.stringify({ binds: [{ port: 8080, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
    const loaded = loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends })
    return loaded.ok ? '' : loaded.errors.map(({ message }) => message).join()
  }
  const azure = (more: object) => mistakes({ azureContentSafety: { analyzeText: {}, ...more } })
  const key = { policies: { auth: { key: 'k' } } }
  equal(azure({ endpoint: 'name.cognitiveservices.azure.com', ...key }), '')
  match(azure({ endpoint: 'name.cognitiveservices.azure.com' }), /needs policies\.auth/)
  match(azure({ endpoint: 'internal.example', ...key }), /must be the host of a resource/)
  match(azure({ endpoint: 'name.cognitiveservices.azure.com', ...AT }), /must have exactly one of endpoint, backendRef/)
  match(
    mistakes({ azureContentSafety: { endpoint: 'name.cognitiveservices.azure.com', ...key } }),
    /must have analyzeText/
  )
  equal(mistakes({ bedrockGuardrails: { ...BEDROCK, region: 'us-west-2' } }), '')
  match(mistakes({ bedrockGuardrails: { ...BEDROCK, region: 'x.example/' } }), /lower-case letters/)
  match(
    mistakes({ bedrockGuardrails: { ...BEDROCK, guardrailIdentifier: '../x', region: 'us-west-2' } }),
    /the id or the ARN/
  )
  equal(mistakes({ googleModelArmor: ARMOR }), '')
  match(mistakes({ googleModelArmor: { ...ARMOR, location: 'a.example' } }), /must be a location/)
})

test('the example asks each cloud at its own place, with what it takes for a credential', () => {
  const text = readFileSync(new URL('../../../docs/examples/cloud-guards.yaml', import.meta.url), 'utf8')
  const loaded = loadConfig(text, { file: 'weir.yaml', env: { AZURE_CONTENT_SAFETY_KEY: 'k' }, policies, backends })
  ok(loaded.ok)
  const found: Record<string, unknown> = {}
  JSON.stringify(loaded.snapshot, (_, value) => {
    if (value?.kind === 'cloud') {
      const { host, port, auth, transport } = value.server
      found[host] = [port, transport.tls !== null, auth.kind === 'key' ? auth.location.header : auth.kind]
    }
    return value
  })
  deepEqual(found, {
    'example.cognitiveservices.azure.com': [443, true, 'ocp-apim-subscription-key'],
    'bedrock-runtime.us-west-2.amazonaws.com': [443, true, 'aws'],
    'modelarmor.us-central1.rep.googleapis.com': [443, true, 'gcp']
  })
})
