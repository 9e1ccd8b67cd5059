/** What nobody knows of a request, and a provider may read, is looked through; what cannot be is refused. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { CHAT, chat, regex, SSN, stand } from './guards.fixture.ts'

/** Beside and below what is known; of providers and servers, and of nobody. */
const unknown = (text: string) => ({
  extra_body: { instruction: text, name: text, deep: [[{ note: text }]] },
  metadata: { note: text, user_id: SSN },
  stop: [text],
  provider_section: { system: text, url: `https://x/${SSN}`, api_key: SSN },
  response_format: { type: 'text', hint: text },
  mcp_servers: [{ type: 'url', url: `https://x/${SSN}`, authorization_token: SSN }],
  user: SSN
})

test('unknown members are masked, ids and credentials stay', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] })
  await ask(CHAT, chat('hi', unknown(`Of ${SSN}`)))
  deepEqual(models.requests.at(-1)!.body, chat('hi', unknown('Of <SSN>')))
  const closed = await stand(t, { request: [regex({ action: 'Reject' })] })
  equal((await closed.ask(CHAT, chat('hi', { labels: { a: SSN } }))).status, 403)
})

test('a name that sounds like data, a key or a format hides no text', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] })
  const answerOf = (text: string) => ({
    extra_data: { note: text },
    output_format: text,
    container: { note: text, id: 'cntr_1' },
    conversation: text,
    session_key: [text],
    model_kwargs: { template_type: text },
    mcp_servers: [{ name: 'n', prompt: text }]
  })
  const part = (text: string) => [{ role: 'user', content: [{ type: 'hologram', data: text, more: { data: [text] } }] }]
  const requestOf = (text: string) => ({ ...chat('hi', answerOf(text)), messages: part(text) })
  await ask(CHAT, requestOf(`Of ${SSN} here`))
  deepEqual(models.requests.at(-1)!.body, requestOf('Of <SSN> here'))
  const words = { input_data: `UNVTVC1${SSN}`, container: 'cntr_1', extra_key: `sk-${SSN}`, tool_choice: 'auto' }
  await ask(CHAT, chat('hi', words))
  deepEqual(models.requests.at(-1)!.body, chat('hi', words))
})

test('so are integers there, and a match in a key rejects', async (t) => {
  const card = 4111111111111111
  const builtins = [regex({ builtins: ['CreditCard', 'Ssn', 'Email'] })]
  const { models, ask } = await stand(t, { request: builtins })
  const answerOf = (number: unknown) => ({
    metadata: { number, all: [number, 1.5] },
    seed: 536221234,
    logit_bias: { 50256: 1 }
  })
  await ask(CHAT, chat('hi', answerOf(card)))
  deepEqual(models.requests.at(-1)!.body, chat('hi', answerOf('<CREDIT_CARD>')))
  for (const key of ['ann@example.com', '4111 1111 1111 1111', 'card_4111111111111111', SSN])
    equal((await ask(CHAT, chat('hi', { metadata: { deep: [{ [key]: 1 }] } }))).status, 403, key)
  equal(models.requests.length, 1)
})

test('so are all texts of embeddings, whatever field they are in', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] }, { openai: {} }, {}, { '/embeddings': 'Embeddings' })
  const body = (text: string) => ({
    model: 'm',
    input: [text, 'b'],
    messages: [{ role: 'user', content: [{ type: 'text', text: text }] }],
    texts: [text],
    encoding_format: 'float'
  })
  await ask('/v1/embeddings', body(`Of ${SSN}`))
  deepEqual(models.requests.at(-1)!.body, body('Of <SSN>'))
})

test('tokens are refused by name: they cannot be searched', async (t) => {
  const { models, ask } = await stand(t, { request: [regex()] }, { openai: {} }, {}, { '/embeddings': 'Embeddings' })
  for (const [path, body] of [
    ['/v1/embeddings', { model: 'm', input: [1, 2, 3] }],
    ['/v1/embeddings', { model: 'm', input: [[1, 2], [3]] }],
    [CHAT, chat('hi', { prompt: [1, 2] })]
  ] as const) {
    const answer = await ask(path, body)
    equal(answer.status, 400)
    ok(/guards cannot read the tokens in (?:input|prompt)/.test(await answer.text()))
  }
  equal(models.requests.length, 0)
})
