/** What users of LiteLLM's proxy do, by the vendors' clients of npm. One row for each call. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

export const KEYS = {
  alice: 'sk-alice-0000000000',
  spent: 'sk-spent-0000000000',
  slow: 'sk-slow-00000000000',
  all: 'sk-all-000000000000'
} as const
const messages = [{ role: 'user' as const, content: 'Hi' }]

/** Asks the proxy at `base`; resolves with what a reader of the table should know. */
export type Call = (base: string) => Promise<string>

const openai = (base: string, apiKey: string) => new OpenAI({ baseURL: `${base}/v1`, apiKey, maxRetries: 0 })
const anthropic = (base: string, apiKey: string) => new Anthropic({ baseURL: base, apiKey, maxRetries: 0 })

async function chat(base: string, key: string, model = 'small'): Promise<string> {
  const { choices } = await openai(base, key).chat.completions.create({ model, messages })
  return `200 ${choices[0]!.message.content}`
}

async function twice(base: string, key: string): Promise<string> {
  await chat(base, key)
  return chat(base, key)
}

async function streamed(base: string): Promise<string> {
  let text = ''
  const pieces = await openai(base, KEYS.alice).chat.completions.create({ model: 'small', messages, stream: true })
  for await (const { choices } of pieces) text += choices[0]?.delta.content ?? ''
  return `200 ${text}`
}

async function message(base: string, key: string, model = 'claude'): Promise<string> {
  const { content } = await anthropic(base, key).messages.create({ model, max_tokens: 9, messages })
  const [first] = content
  return `200 ${first?.type === 'text' ? first.text : ''}`
}

async function modelsOf(base: string): Promise<string> {
  const { data } = await openai(base, KEYS.alice).models.list()
  return `200 ${data.map(({ id }) => id).join()}`
}

/** Names of header fields of a chat that fit, with their values where these are the same each time. */
async function fieldsOf(base: string, pattern: RegExp): Promise<string> {
  const { response } = await openai(base, KEYS.alice)
    .chat.completions.create({ model: 'small', messages })
    .withResponse()
  const names = [...response.headers.keys()].filter((name) => pattern.test(name))
  return names.length === 0 ? 'none' : names.toSorted().join(', ')
}

/** By the same names as in openai_calls.py. */
export const CALLS: Readonly<Record<string, Call>> = {
  'a chat': (base) => chat(base, KEYS.alice),
  'a stream': streamed,
  'a key that is not known': (base) => chat(base, 'sk-wrong'),
  'a model that the key may not use': (base) => chat(base, KEYS.alice, 'large'),
  'a model that is not there': (base) => chat(base, KEYS.all, 'none'),
  'the models of a key': modelsOf,
  'a budget that is spent': (base) => twice(base, KEYS.spent),
  'more than the limit': (base) => twice(base, KEYS.slow),
  'a model that fails, with a fallback': (base) => chat(base, KEYS.all, 'broken')
}

/** Only of these clients. */
export const MORE: Readonly<Record<string, Call>> = {
  'Anthropic: a message': (base) => message(base, KEYS.all),
  'Anthropic: a key that is not known': (base) => message(base, 'sk-wrong'),
  "Anthropic: a message of OpenAI's model": (base) => message(base, KEYS.all, 'small'),
  'Anthropic: a model that is not there': (base) => message(base, KEYS.all, 'none'),
  'fields: rate limits': (base) => fieldsOf(base, /ratelimit|limit$/),
  'fields: ids': (base) => fieldsOf(base, /request-id|call-id/),
  'fields: cost': (base) => fieldsOf(base, /cost$/)
}

/** Of the key that all may do: its books are written some seconds later. */
export async function spendOfLitellm(base: string, master: string): Promise<string> {
  const headers = { authorization: `Bearer ${master}` }
  const response = await fetch(`${base}/key/info?key=${KEYS.all}`, { headers })
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
export async function outcomeOf(call: Call, base: string): Promise<string> {
  try {
    return await call(base)
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
