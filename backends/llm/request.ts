/** What a client asks, read once; and what a provider is sent for it. */

import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { AiBackend } from '#engine/ir/snapshot.ts'
import { withoutKeys } from './auth/client-key.ts'
import type { Conversation, FormatName, Json, JsonObject } from './conversation.ts'
import { isObject } from './fields.ts'
import { type Asked, FormatError, Losses } from './format.ts'
import { FORMATS } from './matrix.ts'
import type { Provider } from './providers/index.ts'
import type { Noted } from './said.ts'

/** Fields of one vendor's clients that mean nothing to another's servers. */
const VENDOR_FIELDS = /^(?:openai-|anthropic-|x-stainless-|x-goog-|x-amz)/
const GEMINI_PATH = /\/models\/([^/:]+):(streamGenerateContent|generateContent)$/

/** One request, as all attempts of it see it. */
export interface ChatRequest {
  readonly client: FormatName
  readonly body: JsonObject
  /** By the client's name. */
  readonly model: string
  readonly isStreamed: boolean
  /** Asked of completions only; other formats always tell. */
  readonly wantsUsage: boolean
  readonly query: string
  /** Made when the first provider needs another format. */
  conversation: Conversation | null
  /** What the attempt that is under way has answered. */
  noted: Noted | null
}

/** Throws FormatError. `bytes`: the body as it came. */
export function readChat(client: FormatName, bytes: Buffer, path: string, query: string): ChatRequest {
  const body = parseBody(bytes)
  const fromPath = client === 'gemini' ? GEMINI_PATH.exec(path) : null
  if (client === 'gemini' && fromPath === null)
    throw new FormatError('', 'the path must end with /models/MODEL:generateContent')
  const model = fromPath === null ? body.model : decoded(fromPath[1]!)
  if (typeof model !== 'string' || model === '') throw new FormatError('model', 'is required, and must be a string')
  const isStreamed = fromPath === null ? body.stream === true : fromPath[2] === 'streamGenerateContent'
  const options = body.stream_options
  const wantsUsage = isObject(options) && options.include_usage === true
  return { client, body, model, isStreamed, wantsUsage, query, conversation: null, noted: null }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new FormatError('', 'the name of the model in the path is not valid percent-encoding')
  }
}

function parseBody(bytes: Buffer): JsonObject {
  let value: Json
  try {
    value = JSON.parse(bytes.toString()) as Json
  } catch {
    throw new FormatError('', 'the body is not valid JSON')
  }
  if (!isObject(value)) throw new FormatError('', 'the body must be a JSON object')
  return value
}

/** The provider's name for the model that the client asks for. */
export function modelFor(chat: ChatRequest, fixed: string | null, aliases: AiBackend['modelAliases']): string {
  if (fixed !== null) return fixed
  return Object.hasOwn(aliases, chat.model) ? aliases[chat.model]! : chat.model
}

export interface Order {
  readonly provider: Provider
  readonly format: FormatName
  readonly model: string
  readonly path: string | null
}

/**
 * Makes ex the request that the provider of `order` gets, but for who asks. Returns what could not be said; throws
 * FormatError.
 */
export function writeChat(ex: Exchange, chat: ChatRequest, { provider, format, model, path }: Order): Losses {
  const losses = new Losses()
  const isNative = format === chat.client
  const given = isNative ? nativeBody(chat, format, model) : convertedBody(chat, format, model, losses)
  const body = provider.adapt === undefined ? given : provider.adapt(format, given ?? chat.body)
  if (body !== null) replaceRequestBody(ex, Buffer.from(JSON.stringify(body)))
  const [target, query = ''] = (path ?? provider.target(format, model, chat.isStreamed)).split('?')
  ex.method = 'POST'
  ex.path = target!
  ex.query = query !== '' ? `?${query}` : isNative ? withoutKeys(chat.query) : ''
  writeFields(ex, isNative)
  for (let i = 0; i < provider.fields.length; i += 2) {
    if (ex.request.get(provider.fields[i]!) === undefined)
      ex.request.append(provider.fields[i]!, provider.fields[i + 1]!)
  }
  return losses
}

/** Null: the client's own bytes will do. */
function nativeBody(chat: ChatRequest, format: FormatName, model: string): JsonObject | null {
  const asksUsage = format === 'completions' && chat.isStreamed && !chat.wantsUsage
  const renames = format !== 'gemini' && model !== chat.model
  if (!asksUsage && !renames) return null
  const options = chat.body.stream_options
  return {
    ...chat.body,
    ...(renames ? { model } : {}),
    ...(asksUsage ? { stream_options: { ...(isObject(options) ? options : {}), include_usage: true } } : {})
  }
}

function convertedBody(chat: ChatRequest, format: FormatName, model: string, losses: Losses): JsonObject {
  const from = { model: chat.model, isStreamed: chat.client === 'gemini' ? chat.isStreamed : null }
  chat.conversation ??= FORMATS[chat.client]!.readRequest(chat.body, from)
  return FORMATS[format]!.writeRequest({ ...chat.conversation, model }, losses)
}

function writeFields(ex: Exchange, isNative: boolean): void {
  const { request } = ex
  const vendor: string[] = []
  request.forEach((name) => {
    if (!isNative && VENDOR_FIELDS.test(name.toLowerCase())) vendor.push(name)
  })
  for (const name of vendor) request.remove(name.toLowerCase())
  // Cookies are between the client and this gateway, and a compressed answer could not be read.
  request.remove('cookie')
  request.set('Accept-Encoding', 'identity')
  request.set('Content-Type', 'application/json')
}

/** How the answer to `chat` is written. */
export function askedOf(chat: ChatRequest): Asked {
  return { model: chat.model, wantsUsage: chat.wantsUsage, at: Date.now(), id: crypto.randomUUID().replaceAll('-', '') }
}
