/**
 * Every refusal of the gateway on every route of models is JSON of the client's format, with an id: a table of statuses
 * and routes; and the class of errors that each vendor's client makes of it.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { Body } from '#backends/demo/models/wire.ts'
import { gatewayOf, provider } from '#backends/llm/testing/llm-gateway.ts'
import type { Models } from '#engine/testing/models.ts'

type Vendor = 'openai' | 'anthropic' | 'google' | 'cohere' | 'jina' | 'voyage'

/** `name`: of a model that is asked for, where one is. */
interface Route {
  readonly vendor: Vendor
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object | FormData
  readonly fields?: Readonly<Record<string, string>>
}

const messages = [{ role: 'user' as const, content: 'Hi' }]
const contents = [{ parts: [{ text: 'Hi' }] }]
const RANK = { model: 'm', query: 'Hi', documents: ['a'] }
const VERSION = { 'anthropic-version': '2023-06-01' }

function form(fields: Readonly<Record<string, string>>): FormData {
  const made = new FormData()
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  made.append('file', new Blob(['a file']), 'a.txt')
  return made
}

const post = (vendor: Vendor, path: string, body: object | FormData, fields = {}): Route => {
  return { vendor, method: 'POST', path, body, fields }
}
const get = (vendor: Vendor, path: string, fields = {}): Route => ({ vendor, method: 'GET', path, fields })

const ROUTES: readonly Route[] = [
  post('openai', '/v1/chat/completions', { model: 'm', messages }),
  post('openai', '/v1/responses', { model: 'm', input: 'Hi' }),
  post('anthropic', '/v1/messages', { model: 'm', max_tokens: 9, messages }),
  post('google', '/v1beta/models/m:generateContent', { contents }),
  post('google', '/v1beta/models/m:streamGenerateContent?alt=sse', { contents }),
  post('openai', '/v1/embeddings', { model: 'm', input: 'Hi' }),
  post('anthropic', '/v1/messages/count_tokens', { model: 'm', messages }),
  post('google', '/v1beta/models/m:countTokens', { contents }),
  get('openai', '/v1/models'),
  get('anthropic', '/v1/models', VERSION),
  get('google', '/v1beta/models'),
  post('openai', '/v1/moderations', { model: 'm', input: 'Hi' }),
  post('openai', '/v1/images/generations', { model: 'm', prompt: 'a cat' }),
  post('openai', '/v1/images/edits', form({ model: 'm', prompt: 'a cat' })),
  post('openai', '/v1/audio/speech', { model: 'm', input: 'Hi', voice: 'alloy' }),
  post('openai', '/v1/audio/transcriptions', form({ model: 'm' })),
  post('openai', '/v1/files', form({ purpose: 'batch' })),
  get('openai', '/v1/files/file-1'),
  post('openai', '/v1/batches', { input_file_id: 'file-1', endpoint: '/v1/chat/completions' }),
  get('openai', '/v1/responses/resp_1'),
  post('openai', '/v1/conversations', {}),
  post('openai', '/v1/vector_stores', { name: 'a' }),
  post('anthropic', '/v1/messages/batches', { requests: [] }),
  post('cohere', '/v2/rerank', RANK),
  post('cohere', '/v2/embed', { model: 'm', texts: ['Hi'], input_type: 'search_query' }),
  post('cohere', '/v1/rerank', RANK, { 'x-fern-sdk-name': 'cohere-ai' }),
  post('jina', '/v1/rerank', RANK),
  post('voyage', '/v1/rerank', { ...RANK, top_k: 1 }),
  post('voyage', '/v1/embeddings', { model: 'm', input: ['Hi'], input_type: 'query', truncation: true })
]

interface Refusal {
  readonly status: number
  readonly policies?: object
  readonly more?: object
  /** Of the provider, instead of its answers. */
  readonly silent?: true
  /** The provider cannot be reached. */
  readonly gone?: true
  /** A request is under way when the others come. */
  readonly isBusy?: true
  readonly guards?: object
  /** Of the one model. */
  readonly name?: string
  /** Which routes get it; default: all. */
  readonly of?: (route: Route) => boolean
  readonly fields?: Readonly<Record<string, string>>
}

const DEAD = '127.0.0.1:1'
const takesBody = ({ method, body }: Route): boolean => method === 'POST' && !(body instanceof FormData)
/** Of what the provider keeps: no model is named. */
const isKept = ({ path }: Route): boolean => /files|batches|conversations|vector_stores/.test(path)
const KEYS = [{ name: 'one', key: 'gateway-key-1' }]

/** Its signature is looked at when there are keys. */
const TOKEN = [
  { alg: 'ES256', kid: 'k' },
  { iss: 'https://i.example', exp: 4_000_000_000 }
]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .concat('A'.repeat(86))
  .join('.')

const REFUSALS: Readonly<Record<string, Refusal>> = {
  'no key': { status: 401, more: { keys: KEYS } },
  'a rule': { status: 403, policies: { authorization: { rules: [{ deny: 'true' }] } } },
  'a limit': { status: 429, policies: { localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h' }] } },
  'a processor that is gone': { status: 500, policies: { extProc: { host: DEAD } } },
  'keys that are not there yet': {
    status: 503,
    policies: { jwtAuth: { issuer: 'https://i.example', jwks: { url: `http://${DEAD}/` } } },
    // A token whose key is looked for.
    fields: { authorization: `Bearer ${TOKEN}` }
  },
  'no answer in time': {
    status: 504,
    policies: { timeouts: { request: '100ms' } },
    silent: true,
    of: (route) => takesBody(route) && !isKept(route)
  },
  'a guard that is gone': {
    status: 503,
    guards: { request: [{ webhook: { backend: { host: DEAD } } }] },
    of: (route) => takesBody(route) && !isKept(route)
  },
  'a provider that is gone': { status: 502, gone: true, of: (route) => takesBody(route) && !isKept(route) },
  'a model that is not there': { status: 404, name: 'none', of: (route) => takesBody(route) && !isKept(route) },
  'as much under way as may be': {
    status: 503,
    policies: { circuitBreaker: { maxRequests: 1 } },
    silent: true,
    isBusy: true,
    of: (route) => takesBody(route) && !isKept(route)
  },
  'a body that is too long': {
    status: 413,
    more: { frontendPolicies: { http: { maxBufferSize: 1024 } } },
    of: (route) => takesBody(route) && !isKept(route)
  }
}

async function stand(t: TestContext, { policies, more = {}, silent, gone, isBusy, guards, name = 'm' }: Refusal) {
  const models = await provider(t)
  if (silent === true) models.instead = () => true
  const baseUrl = `http://${gone === true ? DEAD : `127.0.0.1:${models.port}`}/v1`
  const llm = {
    port: 4000,
    models: [{ name, provider: 'openai', params: { baseUrl, apiKey: 'k' } }],
    ...(guards === undefined ? {} : { promptGuard: guards }),
    ...(policies === undefined ? {} : { policies })
  }
  const started = await gatewayOf(t, { llm, ...more })
  if (isBusy === true) await heldRequest(t, models, started.base)
  return { models, ...started }
}

/** Resolves when the provider has it. */
async function heldRequest(t: TestContext, models: Models, base: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  models.instead = () => {
    resolve()
    return true
  }
  const controller = new AbortController()
  const body = JSON.stringify({ model: 'm', messages })
  const held = fetch(`${base}/v1/chat/completions`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    ...{ body, signal: controller.signal }
  })
  t.after(async () => {
    controller.abort()
    await held.catch(() => null)
  })
  await promise
}

function requestOf({ method, path, body, fields }: Route, refusal: Refusal): [string, RequestInit] {
  const padded = refusal.status === 413 ? { ...body, user: 'x'.repeat(4096) } : body
  const isForm = body instanceof FormData
  return [
    path,
    {
      method,
      headers: { ...(isForm ? {} : { 'content-type': 'application/json' }), ...fields, ...refusal.fields },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(padded) })
    }
  ]
}

function bodyOf(text: string): Body | null {
  try {
    return JSON.parse(text) as Body
  } catch {
    return null
  }
}

/** Where each vendor's client looks for it. */
function messageIn(vendor: Vendor, body: Body): unknown {
  if (vendor === 'cohere') return body.message
  return vendor === 'jina' || vendor === 'voyage' ? body.detail : body.error?.message
}

/** What is wrong with a refusal, for `vendor`. */
function faultsOf(vendor: Vendor, status: number, response: Response, text: string): string[] {
  const faults: string[] = []
  const want = (what: string, holds: boolean): void => {
    if (!holds) faults.push(`${what}: ${response.status} ${text.slice(0, 160)}`)
  }
  const body = bodyOf(text)
  if (body === null) return [`no JSON: ${response.status} ${text.slice(0, 160)}`]
  want('the status', response.status === status)
  want('the content type', response.headers.get('content-type') === 'application/json')
  const error = body.error ?? {}
  const message = messageIn(vendor, body)
  want('a message', typeof message === 'string' && message.length > 5)
  const id = response.headers.get(vendor === 'anthropic' ? 'request-id' : 'x-request-id')
  want('an id', /^req_[0-9a-f]{32}$/.test(id ?? ''))
  if (status === 429 || status === 503) want('Retry-After', /^\d+$/.test(response.headers.get('retry-after') ?? ''))
  if (vendor === 'cohere') want('the id in the body', body.id === id && Object.keys(body).length === 2)
  if (vendor === 'openai' || vendor === 'jina')
    want('the shape', Object.keys(error).toSorted().join() === 'code,message,param,type')
  if (vendor === 'anthropic') want('the shape', body.type === 'error' && typeof error.type === 'string')
  if (vendor === 'anthropic') want('the id in the body', body.request_id === id)
  if (vendor === 'google') want('the shape', error.code === status && /^[A-Z_]+$/.test(error.status))
  return faults
}

for (const [name, refusal] of Object.entries(REFUSALS)) {
  test(`${refusal.status}, ${name}: in the format of every route's client`, async (t) => {
    const { base } = await stand(t, refusal)
    const faults: string[] = []
    // The first of all uses the limit up.
    if (refusal.status === 429) await fetch(`${base}/v1/models`)
    for (const route of ROUTES.filter(refusal.of ?? (() => true))) {
      const [path, options] = requestOf(route, refusal)
      const response = await fetch(base + path, options)
      const found = faultsOf(route.vendor, refusal.status, response, await response.text())
      faults.push(...found.map((one) => `${route.method} ${route.path}: ${one}`))
    }
    deepEqual(faults, [])
  })
}

const NPM = {
  401: [OpenAI.AuthenticationError, Anthropic.AuthenticationError],
  403: [OpenAI.PermissionDeniedError, Anthropic.PermissionDeniedError],
  404: [OpenAI.NotFoundError, Anthropic.NotFoundError],
  413: [OpenAI.APIError, Anthropic.APIError],
  429: [OpenAI.RateLimitError, Anthropic.RateLimitError],
  500: [OpenAI.InternalServerError, Anthropic.InternalServerError],
  502: [OpenAI.InternalServerError, Anthropic.InternalServerError],
  503: [OpenAI.InternalServerError, Anthropic.InternalServerError],
  504: [OpenAI.InternalServerError, Anthropic.InternalServerError]
} as const

for (const [name, refusal] of Object.entries(REFUSALS)) {
  const { status } = refusal
  test(`${status}, ${name}: the class of errors of each vendor's client`, async (t) => {
    const { base } = await stand(t, refusal)
    const key = { apiKey: 'wrong', maxRetries: 0, defaultHeaders: refusal.fields ?? {} }
    const openai = new OpenAI({ baseURL: `${base}/v1`, ...key })
    const anthropic = new Anthropic({ baseURL: base, ...key })
    const headers = { ...refusal.fields }
    const google = new GoogleGenAI({ apiKey: 'wrong', httpOptions: { baseUrl: base, headers } })
    const text = status === 413 ? 'x'.repeat(4096) : 'Hi'
    const question = [{ role: 'user' as const, content: text }]
    if (status === 429) await fetch(`${base}/v1/models`)
    const [ofOpenai, ofAnthropic] = NPM[status as keyof typeof NPM]
    const ofOpenaiToo = [
      () => openai.chat.completions.create({ model: 'm', messages: question }),
      () => openai.chat.completions.create({ model: 'm', messages: question, stream: true }),
      () => openai.responses.create({ model: 'm', input: text }),
      () => openai.embeddings.create({ model: 'm', input: text })
    ]
    for (const ask of ofOpenaiToo) {
      await rejects(ask(), (error) => {
        ok(error instanceof ofOpenai && error.status === status, String(error))
        match(error.requestID ?? '', /^req_/)
        return true
      })
    }
    await rejects(anthropic.messages.create({ model: 'm', max_tokens: 9, messages: question }), (error) => {
      ok(error instanceof ofAnthropic && error.status === status, String(error))
      match(error.requestID ?? '', /^req_/)
      return true
    })
    await rejects(google.models.generateContent({ model: 'm', contents: text }), (error) => {
      ok(error instanceof ApiError && error.status === status, String(error))
      equal(JSON.parse(error.message).error.code, status)
      return true
    })
  })
}
