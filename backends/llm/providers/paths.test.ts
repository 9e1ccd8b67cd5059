/** The name of a model that a client sends is one segment of a path, or it is refused. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { aws, gateway, KEYS, models, there } from '#engine/testing/llm.ts'

const messages = [{ role: 'user', content: 'Hi' }]
const watsonx = { projectId: 'p', iamUrl: 'http://127.0.0.1:1' }

/** The name that would take the path somewhere else, by provider. */
const PROVIDERS: readonly (readonly [object, string])[] = [
  [{ bedrock: { region: 'eu-west-1' }, policies: aws(KEYS) }, ''],
  [{ watsonx, policies: { auth: { key: 'k' } } }, 'deployment/']
]

test('no name of a model leads out of its place in the path', async (t) => {
  for (const [provider, before] of PROVIDERS) {
    const mock = await models(t)
    const { ask } = await gateway(t, { provider: { ...provider, ...there(mock) }, routes: { '*': 'Completions' } })
    for (const dots of ['.', '..']) {
      const answer = await ask('/v1/chat/completions', { model: before + dots, messages })
      const text = await answer.text()
      equal(answer.status, 400, `${Object.keys(provider)[0]} ${text}`)
      match(text, /model: must be the name of a model, not/)
    }
    deepEqual(mock.requests, [])
  }
})
