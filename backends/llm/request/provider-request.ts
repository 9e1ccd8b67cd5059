/** The request that one provider is sent: its body, and where it goes. */
import { without, withoutAccount } from '#backends/llm/auth/client-key.ts'
import { decoded as lenient } from '#backends/llm/auth/query-keys.ts'
import type { AiCaching } from '#backends/llm/config/snapshot.ts'
import type { Conversation, FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { withCacheMarks } from '#backends/llm/edits/cache-marks.ts'
import type { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { sentPath } from '#backends/llm/edits/sent-path.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Dialect } from '#backends/llm/providers/dialect/dialect.ts'
import { type Notes, notesOn, ownNotes } from '#backends/llm/providers/dialect/notes.ts'
import { inDialect } from '#backends/llm/providers/dialect/request.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import { clientPaths } from '#backends/llm/translate/client-paths.ts'
import { clientToolsOf, NO_CLIENT_TOOLS } from '#backends/llm/translate/client-tools.ts'
import { rewritten } from '#backends/llm/translate/rewrites.ts'
import { changesMeaning, partAt } from '#backends/llm/translate/tolerance.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ChatRequest } from './chat-request.ts'
import { moveHeader } from './header-members.ts'

/** Fields of one vendor's clients that mean nothing to another's servers. */
const VENDOR_FIELDS = /^(?:openai-|anthropic-|x-stainless-|x-goog-|x-amz)/

/** The provider's name for the model that the client asks for. */
export function providerModel(model: string, fixed: string | null, aliases: ModelPatterns<string>): string {
  if (fixed !== null) return fixed
  if (model === '') throw new FormatError('model', 'is required, and must be a string')
  const alias = aliases.find(model)
  if (alias === undefined) return model
  return alias.includes('*') ? alias.replace('*', () => aliases.starOf(model)) : alias
}

export interface RequestPlan {
  readonly provider: Provider
  readonly format: FormatName
  readonly model: string
  readonly path: string | null
  /** Instead of the first part of the provider's own paths; null: that. */
  readonly pathPrefix: string | null
  readonly caching: AiCaching | null
  readonly dialect: Dialect
  /** The last turn is the model's, and its answer goes on with it; absent: as the client's format has it. */
  readonly goesOn?: boolean
}

/**
 * Makes ex the request that the provider of `plan` gets, except for credentials. Returns the losses; throws
 * FormatError.
 */
export function writeChat(ex: Exchange, chat: ChatRequest, plan: RequestPlan): Losses {
  const losses = new Losses()
  const body = providerBody(chat, plan, losses)
  const lost = applyChat(ex, chat, plan, body === null ? null : Buffer.from(JSON.stringify(body)))
  for (const field of lost) losses.add(field, 'harmless')
  return losses
}

/** What the provider of `plan` is sent; null: the client's own bytes will do. Throws FormatError. */
export function providerBody(chat: ChatRequest, plan: RequestPlan, losses: Losses): JsonObject | null {
  const { provider, format, model, caching } = plan
  const isNative = format === chat.client
  chat.clientTools = NO_CLIENT_TOOLS
  const body = isNative ? nativeBody(chat, plan, losses) : convertedBody(chat, plan, losses)
  const marked = caching === null ? body : withCacheMarks(format, model, body ?? chat.body, caching)
  const sent = provider.adapt === undefined ? marked : provider.adapt(format, marked ?? chat.body)
  return sent === null || (sent === chat.body && !chat.isEdited) ? null : sent
}

/** `bytes`: what providerBody has made. Returns what of the client's header is left out. */
export function applyChat(ex: Exchange, chat: ChatRequest, plan: RequestPlan, bytes: Buffer | null): readonly string[] {
  const { provider, format, model, path, pathPrefix } = plan
  if (bytes !== null) replaceRequestBody(ex, bytes)
  // An attempt before this one may have sent another body.
  else if (ex.requestBytes !== chat.bytes) replaceRequestBody(ex, chat.bytes)
  const isNative = format === chat.client
  const target = path ?? withPathPrefix(provider.target(format, model, chat.isStreamed), pathPrefix)
  const query = isNative ? chat.query : ''
  if (format === 'gemini') address(ex, provider, { ...framed(target, chat.isStreamed, query), isNative })
  else address(ex, provider, { target, query, isNative })
  const moved = isNative ? provider.headerMembers?.[format] : undefined
  return moved === undefined ? NONE : moveHeader(ex, bytes ?? chat.bytes, moved)
}

const NONE: readonly string[] = []

/** The provider's own path below another prefix than "/v1" or "/v1beta". */
export function withPathPrefix(target: string, prefix: string | null): string {
  return prefix === null ? target : target.replace(/^\/v1(?:beta)?(?=\/)/, () => prefix)
}

/**
 * The query decides how Google frames an answer: events for a stream, whatever the path, and an object otherwise. The
 * rest of the client's query goes with it.
 */
function framed(target: string, isStreamed: boolean, clientQuery: string): Pick<Address, 'target' | 'query'> {
  const [path, own = ''] = target.split('?')
  const hasFraming = !isStreamed || /(?:^|&)alt=/.test(own)
  const wanted = [own, hasFraming ? '' : 'alt=sse', withCost(withoutAccount(without(clientQuery, FRAMING)).slice(1))]
  const query = wanted.filter((part) => part !== '').join('&')
  return { target: query === '' ? path! : `${path}?${query}`, query: '' }
}

/** "System parameters" of Google Cloud; a callback would make a script of it. */
const FRAMING = ['alt', '$alt', 'callback', '$callback']

/** A client may ask for some fields of the answer only; what it has cost is read all the same, and so asked for. */
const COST_FIELD = 'usageMetadata'
const MASK_FIELD = 'x-goog-fieldmask'
const MASKS = ['fields', '$fields']

function withCost(query: string): string {
  return query
    .split('&')
    .map((part) =>
      MASKS.includes(lenient(part.split('=', 1)[0]!)) && !isCosted(part) ? `${part},${COST_FIELD}` : part
    )
    .join('&')
}

function isCosted(mask: string): boolean {
  return mask.endsWith(COST_FIELD) || mask.endsWith('=')
}

interface Address {
  /** Path, and query where the API needs one. */
  readonly target: string
  /** Where the target has none. */
  readonly query: string
  /** The provider speaks what the client spoke. */
  readonly isNative: boolean
  /** Of the body. Absent: JSON. */
  readonly contentType?: string
}

/** Where `ex` goes; credentials are added by the provider's authenticator. */
export function address(ex: Exchange, provider: Provider, to: Address): void {
  const [path, query = ''] = to.target.split('?')
  ex.method = 'POST'
  ex.path = path!
  ex.query = query !== '' ? `?${query}` : withoutAccount(to.query)
  writeFields(ex, to)
  for (let i = 0; i < provider.fields.length; i += 2) {
    if (ex.request.get(provider.fields[i]!) === undefined)
      ex.request.append(provider.fields[i]!, provider.fields[i + 1]!)
  }
}

/** Null: the client's own bytes will do. */
function nativeBody(
  chat: ChatRequest,
  { format, model, dialect, goesOn = false }: RequestPlan,
  losses: Losses
): JsonObject | null {
  const asksUsage = format === 'completions' && chat.isStreamed && !chat.wantsUsage && dialect.streamOptions
  const renames = format !== 'gemini' && model !== chat.model
  const own = format === 'completions' ? inDialect(chat.body, dialect, nativeNotes(chat, losses), goesOn) : chat.body
  if (!asksUsage && !renames && own === chat.body) return chat.isEdited ? chat.body : null
  const options = own.stream_options
  return {
    ...own,
    ...(renames ? { model } : {}),
    ...(asksUsage ? { stream_options: { ...(isObject(options) ? options : {}), include_usage: true } } : {})
  }
}

function nativeNotes({ client, body, unprompted }: ChatRequest, losses: Losses): Notes {
  const sent = (path: string) => (unprompted === null ? path : sentPath(path, body, unprompted))
  return ownNotes(losses, (path) => changesMeaning(client, path, body, null), sent)
}

function convertedBody(
  chat: ChatRequest,
  { format, model, dialect, goesOn = false }: RequestPlan,
  losses: Losses
): JsonObject {
  const from = { model: chat.model, isStreamed: FORMATS[chat.client].readPath === undefined ? null : chat.isStreamed }
  // Where the client names no model, the provider's own does.
  const body = chat.model === '' ? { ...chat.body, model } : chat.body
  chat.conversation ??= readSent(chat, () => FORMATS[chat.client].readRequest(body, from))
  const { conversation } = chat
  chat.clientTools = clientToolsOf(conversation)
  const lost = new Losses()
  const written = FORMATS[format].writeRequest(rewritten({ ...conversation, model }, format, lost), lost)
  const adapted =
    format === 'completions'
      ? inDialect(written, dialect, notesOn(conversation, lost), goesOn || chat.client !== 'responses')
      : written
  reportLosses(lost, conversation, { body, unprompted: chat.unprompted }, losses)
  return adapted
}

/** Mistakes of the client are told by the places that it knows. */
function readSent(chat: ChatRequest, read: () => Conversation): Conversation {
  try {
    return read()
  } catch (error) {
    if (chat.unprompted === null || !(error instanceof FormatError)) throw error
    throw new FormatError(sentPath(error.field, chat.body, chat.unprompted), error.message)
  }
}

/** What a writer has lost, by the client's paths, and whether that changes anything. */
export function reportLosses(
  lost: Losses,
  conversation: Conversation,
  { body, unprompted }: Pick<ChatRequest, 'body' | 'unprompted'>,
  losses: Losses
): void {
  const { fields, kinds } = lost
  if (fields.length === 0) return
  const client = conversation.origin.format
  for (const [i, path] of clientPaths(fields, conversation, body).entries()) {
    const isLost = kinds[i] === 'meaning'
    const isHarmless = isLost && !changesMeaning(client, path, body, partAt(conversation, fields[i]!))
    const sent = unprompted === null ? path : sentPath(path, body, unprompted)
    losses.add(sent, isHarmless ? 'harmless' : kinds[i]!)
  }
}

function writeFields(ex: Exchange, { isNative, contentType = 'application/json' }: Address): void {
  const { request } = ex
  if (!isNative) {
    const vendor: string[] = []
    request.forEach((name) => {
      if (VENDOR_FIELDS.test(name.toLowerCase())) vendor.push(name)
    })
    for (const name of vendor) request.remove(name.toLowerCase())
  }
  const mask = request.getAll(MASK_FIELD)
  if (mask !== undefined && mask !== '' && !isCosted(mask)) request.set('X-Goog-FieldMask', `${mask},${COST_FIELD}`)
  // Cookies are between the client and this gateway, and a compressed answer could not be read.
  request.remove('cookie')
  request.set('Accept-Encoding', 'identity')
  request.set('Content-Type', contentType)
}
