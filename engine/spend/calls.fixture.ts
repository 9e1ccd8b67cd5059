/** A gateway with one provider whose answers a test writes, and a receiver of the records of its calls. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { startGateway, type TestLog } from '#engine/testing/gateway.ts'
import { type Models, startModels } from '#engine/testing/models.ts'

export type SpendRecord = Readonly<Record<string, unknown>>

/** Keeps what the webhook of a gateway sends. */
export async function receiver(t: Pick<TestContext, 'after'>) {
  const records: SpendRecord[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      records.push(...(JSON.parse(body) as { records: SpendRecord[] }).records)
      response.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { records, port: (server.address() as AddressInfo).port }
}

const PRICES = { catalogue: false, models: [{ model: 'm*', input: 1, output: 1 }] }
export const ANSWER = {
  ...{ id: 'c', object: 'chat.completion', model: 'm-2' },
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
}
export const choice = (content: string, finish = 'stop') => ({
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }]
})

export function answerWith(models: Models, body: object): void {
  models.instead = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...ANSWER, ...body }))
    return true
  }
}

/** `llm` of a provider; `records` ends the gateway. */
export async function stand(t: TestContext, llm: (port: number) => object, more: object = {}, log?: TestLog) {
  const [models, { records, port: webhook }] = [await startModels(), await receiver(t)]
  t.after(() => models.close())
  answerWith(models, choice('Hello'))
  const gateway = await startGateway(
    JSON.stringify({
      config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
      frontendPolicies: { prices: PRICES, spendWebhook: { host: `127.0.0.1:${webhook}`, scheduleDelay: '1h' } },
      llm: { port: 0, ...llm(models.port) },
      ...more
    }),
    log === undefined ? {} : { log }
  )
  const ask = async (body: object | string, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body)
    })
    await response.arrayBuffer()
    return response.status
  }
  const ended = async () => {
    const metrics = gateway.metrics()
    await gateway.close()
    return { records, metrics }
  }
  t.after(() => gateway.close())
  return { ask, ended, models, gateway }
}

export const params = (port: number) => ({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'k' })
export const one =
  (more: object = {}, name = 'm') =>
  (port: number) => ({
    models: [{ name, provider: 'openai', params: params(port), ...more }]
  })
export const chat = (content = 'Hi', model = 'm') => ({ model, messages: [{ role: 'user', content }] })
export const pick = (records: readonly SpendRecord[], ...names: string[]) =>
  records.map((record) => names.map((name) => record[name]))
