/** What users of LiteLLM's proxy do, by the vendors' clients of npm. One row for each call. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

export type KeyName = 'alice' | 'spent' | 'slow' | 'all'

/** A gateway, and the keys that its own API has made. */
export interface Gateway {
  readonly base: string
  readonly keys: Readonly<Record<KeyName, string>>
}

const messages = [{ role: 'user' as const, content: 'Hi' }]

/** Asks the proxy; resolves with what a reader of the table should know. */
export type Call = (proxy: Gateway) => Promise<string>

const openai = (base: string, apiKey: string) => new OpenAI({ baseURL: `${base}/v1`, apiKey, maxRetries: 0 })
const anthropic = (base: string, apiKey: string) => new Anthropic({ baseURL: base, apiKey, maxRetries: 0 })

async function chat({ base }: Gateway, key: string, model = 'small'): Promise<string> {
  const { choices } = await openai(base, key).chat.completions.create({ model, messages })
  return `200 ${choices[0]!.message.content}`
}

async function twice(proxy: Gateway, key: string): Promise<string> {
  await chat(proxy, key)
  return chat(proxy, key)
}

async function streamed({ base, keys }: Gateway): Promise<string> {
  let text = ''
  const pieces = await openai(base, keys.alice).chat.completions.create({ model: 'small', messages, stream: true })
  for await (const { choices } of pieces) text += choices[0]?.delta.content ?? ''
  return `200 ${text}`
}

async function message({ base }: Gateway, key: string, model = 'claude'): Promise<string> {
  const { content } = await anthropic(base, key).messages.create({ model, max_tokens: 9, messages })
  const [first] = content
  return `200 ${first?.type === 'text' ? first.text : ''}`
}

async function modelsOf({ base, keys }: Gateway): Promise<string> {
  const { data } = await openai(base, keys.alice).models.list()
  return `200 ${data.map(({ id }) => id).join()}`
}

/** Names of header fields of a chat that fit, with their values where these are the same each time. */
async function fieldsOf({ base, keys }: Gateway, pattern: RegExp): Promise<string> {
  const { response } = await openai(base, keys.alice)
    .chat.completions.create({ model: 'small', messages })
    .withResponse()
  const names = [...response.headers.keys()].filter((name) => pattern.test(name))
  return names.length === 0 ? 'none' : names.toSorted().join(', ')
}

/** By the same names as in openai_calls.py. */
export const CALLS: Readonly<Record<string, Call>> = {
  'a chat': (proxy) => chat(proxy, proxy.keys.alice),
  'a stream': streamed,
  'a key that is not known': (proxy) => chat(proxy, 'sk-wrong'),
  'a model that the key may not use': (proxy) => chat(proxy, proxy.keys.alice, 'large'),
  'a model that is not there': (proxy) => chat(proxy, proxy.keys.all, 'none'),
  'the models of a key': modelsOf,
  'a budget that is spent': (proxy) => twice(proxy, proxy.keys.spent),
  'more than the limit': (proxy) => twice(proxy, proxy.keys.slow),
  'a model that fails, with a fallback': (proxy) => chat(proxy, proxy.keys.all, 'broken')
}

/** Only of these clients. */
export const MORE: Readonly<Record<string, Call>> = {
  'Anthropic: a message': (proxy) => message(proxy, proxy.keys.all),
  'Anthropic: a key that is not known': (proxy) => message(proxy, 'sk-wrong'),
  "Anthropic: a message of OpenAI's model": (proxy) => message(proxy, proxy.keys.all, 'small'),
  'Anthropic: a model that is not there': (proxy) => message(proxy, proxy.keys.all, 'none'),
  'fields: rate limits': (proxy) => fieldsOf(proxy, /ratelimit|limit$/),
  'fields: ids': (proxy) => fieldsOf(proxy, /request-id|call-id/),
  'fields: cost': (proxy) => fieldsOf(proxy, /cost$/)
}

/** Of the key that all may do: its books are written some seconds later. */
export async function spendOfLitellm({ base, keys }: Gateway, master: string): Promise<string> {
  const headers = { authorization: `Bearer ${master}` }
  const response = await fetch(`${base}/key/info?key=${keys.all}`, { headers })
  const text = await response.text()
  return `${response.status} ${/"spend":\d/.test(text) ? 'a sum' : `none ${text.slice(0, 300)}`}`
}

/** Of the records of calls. */
export async function spendOfWeir(admin: string): Promise<string> {
  const response = await fetch(`${admin}/api/v1/spend?groupBy=key`)
  const text = await response.text()
  return `${response.status} ${text.includes('"all"') ? 'a sum' : `none ${text.slice(0, 200)}`}`
}

/** An error of a client by its class, and what it says of itself. */
export async function outcomeOf(call: Call, proxy: Gateway): Promise<string> {
  try {
    return await call(proxy)
  } catch (error) {
    if (!(error instanceof OpenAI.APIError || error instanceof Anthropic.APIError)) return String(error)
    const { type, code } = errorOf(error.error)
    return `${error.constructor.name} ${error.status} ${type} ${code}`
  }
}

/** OpenAI's client takes the outermost object away, Anthropic's leaves it. */
function errorOf(value: unknown): { readonly type: string; readonly code: string } {
  const fields = Object(value) as Readonly<Record<string, unknown>>
  if (typeof fields.error === 'object' && fields.error !== null) return errorOf(fields.error)
  return { type: String(fields.type ?? null), code: String(fields.code ?? null) }
}
