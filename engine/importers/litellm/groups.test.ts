/** Which deployment of an imported file is asked, and which one follows, before real ports. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { provider } from '#backends/llm/testing/llm-gateway.ts'
import { imported } from '#engine/importers/imported.fixture.ts'
import { deployment, fails, gateway, HI, modelsOf } from './litellm.fixture.ts'

test('a fallback is asked when a model fails, and an alias is its model', async (t) => {
  const [first, second] = await Promise.all([provider(t), provider(t)])
  const { ask, notes } = await gateway(
    t,
    `model_list:${deployment('main', 'openai/gpt-a', first)}${deployment('spare', 'openai/gpt-b', second)}
litellm_settings: { fallbacks: [{ main: [spare] }] }
router_settings: { model_group_alias: { chat: main, hidden: { model: spare, hidden: true } } }
`
  )
  deepEqual(notes, [])
  equal((await ask('main')).status, 200)
  fails(first, 500)
  equal((await ask('chat')).status, 200)
  equal((await ask('hidden')).status, 200)
  deepEqual(modelsOf(first), ['gpt-a', 'gpt-a'])
  deepEqual(modelsOf(second), ['gpt-b', 'gpt-b'])
  deepEqual(first.requests[0]?.headers.authorization, 'Bearer sk-provider')
})

test('two deployments of a name share its calls, and stand in for each other', async (t) => {
  const [first, second] = await Promise.all([provider(t), provider(t)])
  const { ask } = await gateway(
    t,
    `model_list:${deployment('m', 'openai/a', first)}${deployment('m', 'openai/b', second)}`
  )
  for (let i = 0; i < 40; i++) equal((await ask('m')).status, 200)
  ok(first.requests.length > 0 && second.requests.length > 0)
  fails(first, 503)
  for (let i = 0; i < 8; i++) equal((await ask('m')).status, 200)
  equal((await ask('m@1')).status, 404)
})

test('weights share calls out, and the order of deployments is that of failover', async (t) => {
  const [first, second] = await Promise.all([provider(t), provider(t)])
  const file = (more: [string, string]) =>
    `model_list:${deployment('m', 'openai/a', first, more[0])}${deployment('m', 'openai/b', second, more[1])}`
  const weighted = await gateway(t, file([', weight: 0', ', weight: 5']))
  for (let i = 0; i < 10; i++) equal((await weighted.ask('m')).status, 200)
  deepEqual([first.requests.length, second.requests.length], [0, 10])
  const ordered = await gateway(t, file([', order: 1', ', order: 2']))
  for (let i = 0; i < 10; i++) equal((await ordered.ask('m')).status, 200)
  deepEqual([first.requests.length, second.requests.length], [10, 10])
})

test('calls are drawn by rpm, and one without a share stands in when the others fail', async (t) => {
  const [first, second] = await Promise.all([provider(t), provider(t)])
  const { ask, text, notes } = await gateway(
    t,
    `model_list:${deployment('m', 'openai/a', first, ', rpm: 60')}${deployment('m', 'openai/b', second)}`
  )
  deepEqual(notes, [])
  match(text, /model: m@1\n\s+weight: 60\n\s+- model: m@2\n\s+weight: 0\n/)
  for (let i = 0; i < 10; i++) equal((await ask('m')).status, 200)
  deepEqual([first.requests.length, second.requests.length], [10, 0])
  fails(first, 503)
  equal((await ask('m')).status, 200)
  equal(second.requests.length, 1)
})

test('strategies of the router are those of the virtual models', () => {
  const list = `model_list:
  - { model_name: m, litellm_params: { model: openai/gpt-5-mini } }
  - { model_name: m, litellm_params: { model: anthropic/claude-haiku-4-5 } }
  - { model_name: other, litellm_params: { model: openai/gpt-5 } }
`
  const of = (settings: string) => imported('litellm', `${list}router_settings: { ${settings} }`)
  const ways = { 'cost-based-routing': 'cost', 'latency-based-routing': 'latency', 'least-busy': 'leastBusy' }
  for (const [there, here] of Object.entries(ways)) {
    const { text, notes } = of(`routing_strategy: ${there}, fallbacks: [{ m: [other] }]`)
    deepEqual(notes, [])
    const targets = 'm@1\n.*priority: 0\n.*m@2\n.*priority: 0\n.*other\n.*priority: 1\n'
    match(text, new RegExp(`routing:\n\\s+${here}:\n\\s+targets:\n.*${targets}`))
  }
  match(of('routing_strategy: usage-based-routing-v2').notes.join(), /routing_strategy: is no strategy here/)
})

test('what follows an error depends on its kind', async (t) => {
  const [first, second, third] = await Promise.all([provider(t), provider(t), provider(t)])
  const { ask, notes } = await gateway(
    t,
    `model_list:${deployment('m', 'openai/a', first)}${deployment('long', 'openai/b', second)}${deployment('spare', 'openai/c', third)}
    model_info: { max_input_tokens: 100000 }
router_settings: { enable_pre_call_checks: true }
litellm_settings: { context_window_fallbacks: [{ m: [long] }], fallbacks: [{ m: [spare] }] }
`
  )
  deepEqual(notes, [])
  const refuses = (status: number, code: string): void => {
    first.instead = (_, response) => {
      const error = { message: 'no', type: 'invalid_request_error', code }
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      return true
    }
  }
  refuses(400, 'context_length_exceeded')
  equal((await ask('m')).status, 200)
  refuses(400, 'content_filter')
  equal((await ask('m')).status, 200)
  refuses(401, 'invalid_api_key')
  equal((await ask('m')).status, 200)
  refuses(500, 'oops')
  equal((await ask('m')).status, 200)
  deepEqual([first, second, third].map(modelsOf), [['a', 'a', 'a', 'a'], ['b'], ['c', 'c', 'c']])
})

test('who says a tag gets the deployment that has it', async (t) => {
  const [free, paid] = await Promise.all([provider(t), provider(t)])
  const { port } = await gateway(
    t,
    `model_list:${deployment('m', 'openai/free', free, ', tags: [default]')}${deployment('m', 'openai/paid', paid, ', tags: [paid]')}
router_settings: { enable_tag_filtering: true }`
  )
  for (const tags of ['', 'paid', 'other, paid', 'unheard']) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(tags === '' ? {} : { 'x-litellm-tags': tags }) },
      body: JSON.stringify({ model: 'm', messages: HI })
    })
    equal(response.status, 200)
  }
  deepEqual([free.requests.length, paid.requests.length], [2, 2])
})
