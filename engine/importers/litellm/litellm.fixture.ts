/** A gateway with what is imported of a file of LiteLLM, for the tests of this folder. */
import type { TestContext } from 'node:test'
import { imported } from '#engine/importers/imported.fixture.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { Models } from '#engine/testing/models.ts'

export const HI = [{ role: 'user', content: 'Hi' }]

/** A gateway with what is imported of `text`. `ask` resolves with the status, and the body's text. */
export async function gateway(t: TestContext, text: string) {
  const made = imported('litellm', text)
  const started = await startGateway(made.text)
  t.after(() => started.close())
  const ask = async (model: string, more: object = {}, key = 'sk-master') => {
    const response = await fetch(`http://127.0.0.1:${started.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ model, messages: HI, ...more })
    })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  return { ...made, ask, port: started.port }
}

export const deployment = (group: string, model: string, { port }: Models, more = '') => `
  - model_name: "${group}"
    litellm_params: { model: "${model}", api_base: "http://127.0.0.1:${port}/v1", api_key: sk-provider${more} }`

export const modelsOf = ({ requests }: Models) => requests.map(({ body }) => body.model)
export const fails = (models: Models, status: number): void => {
  models.instead = (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    return true
  }
}
