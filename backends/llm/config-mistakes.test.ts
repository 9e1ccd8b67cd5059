/** What people get wrong in a file with models: what they are told, and where. */

import { deepEqual, match } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

function mistakes(config: object): string[] {
  const options = { file: 'f', env: {}, policies, backends, folder: '.', processors: 1 }
  const result = loadConfig(JSON.stringify(config), options)
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`)
}

function inAi(ai: object): string[] {
  const found = mistakes({ binds: [{ port: 1, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] })
  return found.map((text) => text.replace('binds[0].listeners[0].routes[0].backends[0].', ''))
}

const PROVIDER = { openai: {} }

test('a moderation is refused an authentication that it could not show', () => {
  const withAuth = (auth: object) =>
    inAi({ provider: PROVIDER, promptGuard: { request: [{ openAIModeration: { policies: { auth } } }] } })
  const where = 'ai.promptGuard.request[0].openAIModeration.policies.auth'
  for (const auth of [{ key: 'sk' }, { gcp: {} }, { aws: { region: 'r', service: 's' } }]) deepEqual(withAuth(auth), [])
  match(withAuth({ passthrough: {} }).join(), /policies\.auth: passthrough means nothing to a guard/)
  match(withAuth({ aws: {} }).join(), /policies\.auth: needs aws\.region and aws\.service here/)
  deepEqual(withAuth({ secretRef: { name: 'x' } }), [`${where}.secretRef.name: there is no secret 'x' in secrets`])
  const hurried = { openAIModeration: { timeout: '0s' } }
  deepEqual(inAi({ provider: PROVIDER, promptGuard: { request: [hurried] } }), [
    'ai.promptGuard.request[0].openAIModeration.timeout: must be longer than nothing: no answer comes in no time'
  ])
})

test('settings of TLS that other gateways have are refused by name', () => {
  const found = inAi({
    provider: { custom: {}, host: 'a', policies: { tls: { sni: 'a', insecureSkipVerify: 'All', spiffe: {} } } }
  })
  deepEqual(found, ["ai.provider.policies.tls.spiffe: TLS setting 'spiffe' is not in this version of weir"])
})

test('the message for a misplaced setting names its place', () => {
  const models = [{ name: 'm', provider: 'openai', apiKey: 'k', params: { key: 'k' } }]
  deepEqual(mistakes({ llm: { models, providers: [{ name: 'p', provider: 'openai', baseUrl: 'http://a/v1' }] } }), [
    'llm.models[0].apiKey: belongs into params',
    'llm.models[0].params.key: is called apiKey here',
    'llm.providers[0].baseUrl: belongs into params'
  ])
})

test('a dialect of a provider with a format of its own, and one beside params, are refused', () => {
  const models = [
    { name: 'a', provider: 'anthropic', params: { dialect: 'vllm' } },
    { name: 'b', provider: 'openai', dialect: 'vllm' },
    { name: 'c', provider: 'openai', params: { dialect: 'vllm' } },
    { name: 'd', provider: 'groq', params: { dialect: { limit: 'max_tokens' } } }
  ]
  deepEqual(mistakes({ llm: { models } }), [
    'llm.models[0].params.dialect: is for openai, azureopenai, cohere, watsonx, sagemaker, custom: only they are asked in the format of chat completions',
    'llm.models[1].dialect: belongs into params'
  ])
})

test("LiteLLM's way to name a variable is no key", () => {
  const models = [{ name: 'a', provider: 'openai', params: { apiKey: 'os.environ/OPENAI_API_KEY' } }]
  deepEqual(mistakes({ llm: { models } }), [
    'llm.models[0].params.apiKey: is how LiteLLM names a variable: write $NAME, not os.environ/NAME'
  ])
})

test('each repeated provider name is reported at its place', () => {
  const group = (...names: string[]) => ({ providers: names.map((name) => ({ name, openai: {} })) })
  deepEqual(inAi({ groups: [group('a', 'b'), group('c', 'a'), group('b')] }), [
    'ai.groups[1].providers[1].name: two providers are called a',
    'ai.groups[2].providers[0].name: two providers are called b'
  ])
})

test('a provider that is only a word, and guards that see nothing, are reported with advice', () => {
  deepEqual(inAi({ provider: 'openai' }), ['ai.provider: must be an object, such as { openai: ... }, not a text'])
  deepEqual(inAi({ provider: 'sk-secret' }), ['ai.provider: must be an object, not a text'])
  const promptGuard = { request: [{ regex: { builtins: ['Ssn'] } }] }
  deepEqual(inAi({ provider: PROVIDER, routes: { '/e': 'Realtime' }, promptGuard }), [
    'ai.promptGuard: prompt guards cannot see what passes as Realtime (route /e); that needs a backend without them'
  ])
})

test('llm: an unknown provider, a key with line ends, an alias of nothing', () => {
  const found = (more: object) => mistakes({ llm: { models: [{ name: 'a', provider: 'openai', ...more }] } })
  match(
    found({ provider: 'antropic' })[0]!,
    /must be the name of a provider .*llm-providers\.md.* \{ reference \}; did you mean "anthropic"\?$/
  )
  match(found({ provider: 7 })[0]!, /^llm.models\[0\].provider: must be the name of a provider .* or \{ reference \}$/)
  match(found({ provider: 'fireworls' })[0]!, /did you mean "fireworks"\?$/)
  match(found({ provider: 'novida' })[0]!, /did you mean "novita" or "nvidia"\?$/)
  deepEqual(found({ provider: 'copilot' }), [
    "llm.models[0].provider: provider 'copilot' is not in this version of weir's llm"
  ])
  deepEqual(found({ params: { apiKey: 'a\r\nx-admin: yes' } }), [
    'llm.models[0].params.apiKey: must be visible ASCII characters, without spaces around them'
  ])
  const models = [{ name: 'a', provider: 'openai' }]
  const virtualModels = [{ name: 'v', routing: { weighted: { targets: [{ model: 'a' }] } } }]
  deepEqual(mistakes({ llm: { models, virtualModels, modelAliases: { x: 'v', y: 'a' } } }), [])
  deepEqual(mistakes({ llm: { models, virtualModels, modelAliases: { x: 'nothing' } } }), [
    'llm.modelAliases.x: no model of llm.models or llm.virtualModels serves "nothing"'
  ])
})

test('fallbacks of a model are names that other models serve, once each', () => {
  const found = (name: string, ...fallbacks: string[]) =>
    mistakes({
      llm: {
        models: [
          { name, provider: 'openai', fallbacks },
          { name: 'b', provider: 'openai' },
          { name: 'c-*', provider: 'openai' }
        ]
      }
    })
  deepEqual(found('a', 'b', 'c-1'), [])
  deepEqual(found('a', 'a', 'b', 'b'), [
    'llm.models[0].fallbacks[0]: "a" is asked before already',
    'llm.models[0].fallbacks[2]: "b" is asked before already'
  ])
  deepEqual(found('a', 'none', 'c-*'), [
    'llm.models[0].fallbacks[0]: no model of llm.models serves "none"',
    'llm.models[0].fallbacks[1]: must be the name of a model, without a star'
  ])
  deepEqual(found('a*', 'b'), ['llm.models[0].fallbacks: is for a name without a star'])
  match(found('a').join(), /^llm\.models\[0\]\.fallbacks: /)
})

test('a suffix of paths has no * in it: such a route would never be taken', () => {
  deepEqual(inAi({ provider: PROVIDER, routes: { '*/messages': 'Messages', '/v1/*': 'Models', '*': 'Passthrough' } }), [
    'ai.routes["*/messages"]: is a suffix of paths, and none has a *: write /messages',
    'ai.routes["/v1/*"]: is a suffix of paths, and none has a *: write *'
  ])
})

test('a single provider has a name, which a backend with groups has not', () => {
  deepEqual(inAi({ name: 'main', provider: PROVIDER }), [])
  const groups = [{ providers: [{ name: 'a', ...PROVIDER }] }]
  deepEqual(inAi({ name: 'main', groups }), [
    'ai.name: is for a backend with one provider: each provider of a group has its own name'
  ])
})

test("routes and providers may be written as in the closest peer's file", () => {
  deepEqual(inAi({ provider: { openAI: {} }, routes: { '/v1/responses': 'responses', '*': 'completions' } }), [])
  deepEqual(
    inAi({
      provider: { openAI: {} },
      routes: { '/r': 'realtime' },
      promptGuard: { request: [{ regex: { matches: ['a'] } }] }
    }),
    ['ai.promptGuard: prompt guards cannot see what passes as Realtime (route /r); that needs a backend without them']
  )
})
