/** What a LiteLLM proxy would do with a file, and what weir does with what is imported of it, before real ports. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { jsonOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import { imported } from '#engine/importers/imported.fixture.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { policies } from '#policies/index.ts'
import { deployment, gateway, HI, modelsOf } from './litellm.fixture.ts'
import { PROVIDERS } from './providers.ts'

/** Of those that have no one address. */
const PLACES: Readonly<Record<string, string>> = {
  azure: ', api_base: "https://x.openai.azure.com", api_version: "2024-10-21"',
  bedrock: ', aws_region_name: us-east-1',
  vertex_ai: ', vertex_project: p, vertex_location: us-central1'
}

test('a wildcard passes the rest of the name on', async (t) => {
  const models = await provider(t)
  const { ask } = await gateway(
    t,
    `model_list:${deployment('openai/*', 'openai/*', models)}${deployment('x-*', 'openai/gpt-*', models)}`
  )
  equal((await ask('openai/gpt-5')).status, 200)
  equal((await ask('x-4o')).status, 200)
  equal((await ask('other')).status, 404)
  deepEqual(modelsOf(models), ['gpt-5', 'gpt-4o'])
})

test('drop_params leaves out what a provider cannot be told', async (t) => {
  const models = await provider(t)
  const claude = deployment('claude', 'anthropic/claude-opus-4-5', models)
  const dropping = await gateway(t, `model_list:${claude}\nlitellm_settings: { drop_params: true }`)
  const answer = await dropping.ask('claude', { logit_bias: { 5: 1 } })
  equal(answer.status, 200)
  match(answer.headers.get('x-weir-dropped') ?? '', /logit_bias/)
  const strict = await gateway(t, `model_list:${claude}`)
  equal((await strict.ask('claude', { logit_bias: { 5: 1 } })).status, 400)
})

test('the master key has no limits, at either port; one that is short is written as its hash', async (t) => {
  const models = await provider(t)
  const list = `model_list:${deployment('m', 'openai/a', models)}`
  const servers = 'mcp_servers: { local: { url: "http://127.0.0.1:1/mcp" } }'
  const settings = 'general_settings: { master_key: sk-1$2 }'
  const { text, notes } = imported('litellm', `${list}\n${servers}\n${settings}`)
  deepEqual(notes, [])
  ok(!text.includes('sk-1'), text)
  match(text, /# The master_key has less than 8 characters/)
  const at = text.indexOf('\nmcp:')
  ok(at > 0 && text.indexOf('virtualKeys: {}', at) > 0, text)
  const { ask } = await gateway(t, `${list}\n${settings}`)
  equal((await ask('m', {}, 'sk-1$2')).status, 200)
  equal((await ask('m', {}, 'sk-1$$2')).status, 401)
  const variable = imported('litellm', `${list}\ngeneral_settings: { master_key: os.environ/MASTER }`)
  match(variable.text, /- name: master\n\s+key: \$MASTER\n/)
})

test('what a model costs is what the file says, digit by digit', async (t) => {
  const models = await provider(t)
  const { text, notes } = imported(
    'litellm',
    `model_list:${deployment('m', 'openai/a', models, ', input_cost_per_token: 1.5e-7')}
    model_info: { output_cost_per_token: 0.0000006, cache_read_input_token_cost: "7.5e-08", input_cost_per_token: 9 }`
  )
  deepEqual(notes, [])
  match(text, /- input: 0\.15\n\s+output: 0\.6\n\s+cacheRead: 0\.075\n/)
  const started = await startGateway(text)
  t.after(() => started.close())
  const response = await fetch(`http://127.0.0.1:${started.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: HI })
  })
  const { usage } = await jsonOf(response)
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0
  const nanos = (usage.prompt_tokens - cached) * 150 + cached * 75 + usage.completion_tokens * 600
  equal(Number(response.headers.get('x-weir-cost')), nanos / 1e9)
  match(response.headers.get('x-request-id') ?? '', /^[\w-]{16,}$/)
})

test('the budget of the proxy is that of its organisation: when it is spent, calls are refused', async (t) => {
  const models = await provider(t)
  const priced = deployment('m', 'openai/a', models, ', input_cost_per_token: 0.001, output_cost_per_token: 0.001')
  const file = (settings: string) => `model_list:${priced}
general_settings: { master_key: sk-master }
litellm_settings: { ${settings} }`
  const { ask, text, notes } = await gateway(
    t,
    file('max_budget: 0.001, budget_duration: 30d, timezone: Europe/Berlin')
  )
  deepEqual(notes, [])
  match(text, /- amount: 0.001\n\s+period: Month\n\s+timeZone: Europe\/Berlin\n/)
  equal((await ask('m')).status, 200)
  const refused = await ask('m')
  equal(refused.status, 429)
  match(refused.body, /BUDGET_EXCEEDED/)
  const other = imported('litellm', file('max_budget: os.environ/MOST, budget_duration: 3d'))
  match(other.text, /- amount: \$MOST\n\s+rolling: 259200s\n/)
  const once = imported('litellm', file('max_budget: 2.5'))
  match(once.text, /- amount: 2\.5\n\s+period: Total\n/)
  const odd = imported('litellm', file('max_budget: 1, budget_duration: soon'))
  match(odd.notes.join(), /litellm_settings\.budget_duration: is no time/)
  match(odd.text, /period: Total/)
  const open = imported('litellm', `model_list:${priced}\nlitellm_settings: { max_budget: 1 }`)
  match(open.notes.join(), /max_budget: is counted by keys, and there is no master_key/)
})

test('a budget that weir refuses closes the port', async (t) => {
  const models = await provider(t)
  const { ask, notes } = await gateway(
    t,
    `model_list:${deployment('m', 'openai/a', models)}
general_settings: { master_key: sk-master }
litellm_settings: { max_budget: 10000000 }`
  )
  match(notes.join(), /must be an amount of money.*what it protects is closed/)
  equal((await ask('m')).status, 403)
})

test('the master key is a key of the port; what decides who may call closes it when it is not carried', async (t) => {
  const models = await provider(t)
  const list = `model_list:${deployment('m', 'openai/a', models)}`
  const { ask, port } = await gateway(t, `${list}\ngeneral_settings: { master_key: sk-master }`)
  equal((await ask('m')).status, 200)
  equal((await ask('m', {}, 'sk-other')).status, 401)
  equal((await fetch(`http://127.0.0.1:${port}/v1/models`)).status, 401)
  equal(models.requests[0]?.headers.authorization, 'Bearer sk-provider')
  const closed = await gateway(t, `${list}\ngeneral_settings: { master_key: sk-master, custom_auth: a.b }`)
  equal((await closed.ask('m')).status, 403)
  match(closed.notes.join(), /config\.yaml:4: general_settings\.custom_auth: decides who may call/)
  const guarded = await gateway(
    t,
    `${list}\nguardrails: [{ guardrail_name: g, litellm_params: { guardrail: x, default_on: true } }]`
  )
  equal((await guarded.ask('m')).status, 403)
})

test('retries, time limits, defaults and extra fields', async (t) => {
  const models = await provider(t)
  const { ask, text } = await gateway(
    t,
    `model_list:${deployment('m', 'openai/a', models, ', temperature: 0.2, extra_body: { provider: { order: [x] } }')}
litellm_settings: { num_retries: 2, request_timeout: 30 }`
  )
  let count = 0
  models.instead = (_, response) => {
    if (++count > 1) return false
    response.writeHead(500, { 'content-type': 'application/json' }).end('{}')
    return true
  }
  equal((await ask('m')).status, 200)
  equal(models.requests.length, 2)
  const { temperature, provider: order } = models.requests[1]!.body
  deepEqual([temperature, order], [0.2, { order: ['x'] }])
  match(text, /backendRequest: 30s/)
})

test('texts: variables, dollar signs, comments, and addresses of clouds', async () => {
  const { text, notes } = imported(
    'litellm',
    `environment_variables: { KNOWN: sk-$known }
model_list:
  # the big one
  - model_name: a # kept
    litellm_params: { model: openai/x, api_key: os.environ/KNOWN }
  - model_name: b
    litellm_params: { model: azure/dep, api_base: os.environ/BASE, api_key: os.environ/K, api_version: "2024-10-21" }
  - model_name: c
    litellm_params: { model: azure/dep, api_base: "https://res.openai.azure.com/", api_key: "\${K}" }
  - model_name: d
    litellm_params: { model: bedrock/converse/eu-west-1/anthropic.claude-v2:1 }
  - model_name: e
    litellm_params: { model: vertex_ai/gemini-2.5-pro, vertex_project: p, vertex_location: eu }
  - model_name: f
    litellm_params: { model: unheard/of }
  - model_name: g
    litellm_params: { model: sagemaker_chat/e, model_id: c, sagemaker_base_url: "https://vpce/endpoints/e/invocations" }
  - model_name: h
    litellm_params: { model: sagemaker/e, aws_region_name: eu-west-1 }
  - model_name: i
    litellm_params: { model: replicate/deployments/acme/own, api_key: os.environ/K }
`
  )
  deepEqual(notes.length, 2)
  match(
    notes[0]!,
    /config\.yaml:15: model_list\[5\]\.litellm_params\.model: nobody can tell whose model "unheard\/of" is/
  )
  match(notes[1]!, /model_list\[7\]\.litellm_params\.model: its container is asked in chat completions/)
  match(text, /# the big one\n\s+# kept\n\s+- name: a\n/)
  match(text, /apiKey: sk-\$\$known\n/)
  match(text, /baseUrl: \$BASE\n\s+azureApiVersion: 2024-10-21/)
  match(text, /azureResourceName: res\n/)
  match(text, /model: anthropic\.claude-v2:1\n\s+awsRegion: eu-west-1/)
  match(
    text,
    /model: e\n\s+sagemakerRegion: \$\{AWS_REGION_NAME:-us-west-2\}\n\s+sagemakerComponent: c\n\s+baseUrl: https:\/\/vpce\n/
  )
  match(text, /model: e\n\s+sagemakerRegion: eu-west-1\n/)
  match(text, /provider: replicate\n\s+params:\n\s+model: deployments\/acme\/own\n\s+apiKey: \$K\n/)
  const env = { BASE: 'https://x.openai.azure.com/', K: 'k' }
  deepEqual(loadConfig(text, { file: 'weir.yaml', env, policies, backends }).ok, true)
})

test('answers are kept as long as the file says', async (t) => {
  const models = await provider(t)
  const file = (params: string) => `model_list:${deployment('m', 'openai/a', models)}
litellm_settings: { cache: true, cache_params: { ${params} } }`
  const { ask, notes, text } = await gateway(t, file('type: local, ttl: 30'))
  deepEqual(notes, [])
  match(text, /cache:\n\s+ttl: 30s\n\s+scope: all\n/)
  for (let i = 0; i < 3; i++) equal((await ask('m')).status, 200)
  equal(models.requests.length, 1)
  const redis = imported('litellm', file('type: redis, host: os.environ/REDIS_HOST, password: x'))
  match(redis.notes.join(), /cache_params\.type: answers are kept by each process/)
  match(redis.text, /ttl: 600s/)
  ok(!redis.text.includes('password'))
  const similar = imported('litellm', file('type: qdrant-semantic, similarity_threshold: 0.8'))
  match(similar.notes.join(), /write llm\.cache\.semantic, with Qdrant/)
  ok(!similar.text.includes('ttl:'))
  match(imported('litellm', file('mode: default_off')).notes.join(), /mode: answers are kept unless/)
})

test('credentials by name, and requests at a time of all keys', async (t) => {
  const models = await provider(t)
  const { ask, notes, text } = await gateway(
    t,
    `model_list:
  - { model_name: m, litellm_params: { model: openai/a, litellm_credential_name: shared } }
credential_list:
  - credential_name: shared
    credential_values: { api_key: sk-shared, api_base: "http://127.0.0.1:${models.port}/v1" }
general_settings: { master_key: sk-master, global_max_parallel_requests: 5 }
`
  )
  deepEqual(notes, [])
  equal((await ask('m')).status, 200)
  equal(models.requests[0]?.headers.authorization, 'Bearer sk-shared')
  match(text, /- name: proxy\n\s+concurrency: 5\n/)
  const unknown = imported(
    'litellm',
    'model_list: [{ model_name: m, litellm_params: { model: openai/a, litellm_credential_name: x } }]'
  )
  match(unknown.notes.join(), /litellm_credential_name: is no credential of credential_list/)
})

test('MCP servers keep their rules', () => {
  const { text, notes } = imported(
    'litellm',
    `mcp_servers:
  Git_Hub:
    { url: "https://m.example/mcp", transport: http, auth_type: bearer_token, auth_value: os.environ/T,
      allowed_tools: [a] }
  old: { url: "https://mcp.example/sse", disallowed_tools: [b] }
  local: { transport: stdio, command: npx, args: [-y, s], env: { A: os.environ/B } }
`
  )
  deepEqual(notes, [])
  for (const part of ['name: git-hub', 'key: $T', 'mcp.tool.name in ["a"]', 'sse:', 'A: $B'])
    ok(text.includes(part), part)
})

test('an empty list, and a file of something else', async () => {
  const { text } = imported('litellm', 'model_list: []\n')
  equal(loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends }).ok, true)
  let message = ''
  try {
    imported('litellm', 'binds: []')
  } catch (error) {
    ;({ message } = error as Error)
  }
  match(message, /no configuration of LiteLLM/)
})

test('what would not load is left out with the reason that weir has', async () => {
  const { text, notes } = imported(
    'litellm',
    'model_list:\n  - { model_name: "a*b", litellm_params: { model: openai/a } }\n  - { model_name: b, litellm_params: { model: openai/b } }\n'
  )
  match(notes.join('\n'), /llm\.models\[0\].*may have one star, at its beginning or end/)
  equal(loadConfig(text, { file: 'weir.yaml', env: { OPENAI_API_KEY: 'k' }, policies, backends }).ok, true)
  ok(text.includes('name: b'))
})

test('the list of models is that of the groups', async (t) => {
  const models = await provider(t)
  const { port } = await gateway(
    t,
    `model_list:${deployment('m', 'openai/a', models)}${deployment('m', 'openai/b', models)}`
  )
  const { data } = await jsonOf(await fetch(`http://127.0.0.1:${port}/v1/models`))
  deepEqual(
    data.map(({ id }: { id: string }) => id),
    ['m']
  )
})

test('each provider that LiteLLM knows by a prefix is one that loads', () => {
  const prefixes = Object.keys(PROVIDERS).filter((name) => name !== 'azure_ai' && name !== 'databricks')
  const entries = prefixes.map((name) => {
    const { provider: row, baseUrl } = PROVIDERS[name]!
    const server = row === undefined && baseUrl === undefined ? ', api_base: "http://127.0.0.1:1/v1"' : ''
    return `  - { model_name: "${name}", litellm_params: { model: "${name}/m", api_key: k${PLACES[name] ?? server} } }`
  })
  const { text, notes } = imported('litellm', `model_list:\n${entries.join('\n')}\n`)
  // The one that LiteLLM asks in another way.
  deepEqual(
    notes.map((note) => note.split(': ')[2]),
    ['its container is asked in chat completions, not by `inputs`']
  )
  for (const name of prefixes) ok(text.includes(`name: ${name}\n`), name)
  match(text, /provider: perplexity\n/)
})
