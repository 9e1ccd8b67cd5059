/** The port of `llm` before a provider of pictures and sound, with a key whose budget shows what calls have cost. */
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import OpenAI from 'openai'
import { readForm, singleText } from '#backends/llm/request/multipart.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import type { MockRequest, Models } from '#engine/testing/models.ts'
import { provider } from './llm-gateway.ts'

const QUIET = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } }
export const KEY = 'sk-alice-0001'

/** `models`: as of `llm`, each at the provider; `more`: beside them. */
export async function mediaGateway(t: TestContext, models: readonly object[], more: object = {}, file: object = {}) {
  const upstream = await provider(t)
  const params = { baseUrl: `http://127.0.0.1:${upstream.port}/v1`, apiKey: 'of-provider' }
  const placed = models.map((model) => ({ provider: 'openai', ...model, params: { ...params, ...paramsOf(model) } }))
  const keys = [{ name: 'alice', key: KEY, budgets: [{ amount: 100, period: 'month' }] }]
  const llm = { port: 0, models: placed, ...more }
  const started = await startGateway(JSON.stringify({ config: QUIET, llm, keys, ...file }))
  t.after(() => started.close())
  const base = `http://127.0.0.1:${started.port}`
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: KEY, maxRetries: 0 })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body)
    })
  /** Dollars, as text. */
  const spent = () => started.accounts.ledger.budgets.find(({ account }) => account === 'key/alice')!.spent
  return { ...started, upstream, base, openai, post, spent }
}

const paramsOf = (model: object): object => ('params' in model ? (model.params as object) : {})

/** Answers each request with `body`, of `type`. */
export function sends(models: Models, type: string, body: string | Buffer, status = 200): void {
  models.instead = (_, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type }).end(body)
    return true
  }
}

export const sendsJson = (models: Models, body: object): void => sends(models, 'application/json', JSON.stringify(body))

export const eventsOf = (...events: readonly object[]): string =>
  events.map((event) => `event: ${(event as { type?: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

/** Fields and files of a form, as the provider got them. */
export function formOf({ bytes, headers }: MockRequest) {
  const form = readForm(bytes, headers['content-type']!)
  const names = form.parts.map(({ name }) => name)
  const file = form.parts.find(({ filename }) => filename !== null)
  return {
    names,
    text: (name: string) => singleText(form, name),
    file: file === undefined ? null : bytes.subarray(file.start, file.end)
  }
}
