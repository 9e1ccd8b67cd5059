/**
 * Calls about what providers keep (docs/llm-objects.md): each goes to the account that has the object, under the
 * provider's own ids, and its answer comes back with those of this gateway.
 */

import { withoutCredentials } from '#backends/llm/auth/query-keys.ts'
import { operationFormat } from '#backends/llm/capabilities.ts'
import type { ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { address } from '#backends/llm/request/provider-request.ts'
import {
  type ActiveOperation,
  besideChat,
  type FinishAnswer,
  type LaterWriting,
  type SentOperation
} from '#backends/llm/routes/operation.ts'
import { NONE_DROPPED } from '#backends/llm/translate/dropped-fields.ts'
import { passingForm } from '#backends/llm/uploads/passing-form.ts'
import { KEY_USE, type KeyUse } from '#engine/contract/accounts.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import { BODY_NONE, type Exchange } from '#engine/contract/exchange.ts'
import { bufferOf } from '#engine/kit/shared-bytes.ts'
import type { StoredAnswerSpec } from './answer.ts'
import { type StoredApi, type StoredFormat, type StoredPath, storedPathOf } from './apis.ts'
import { finishStored } from './finish.ts'
import type { StoredTask } from './jobs.ts'
import { pagerOf } from './pagers.ts'
import { factsOf, StoredRefusal, StoredRequest, type StoredSource, type WrittenStored, writeStored } from './request.ts'
import {
  type Account,
  hasMarks,
  type KeptIds,
  type Store,
  type StoreAccess,
  type StoredFacts,
  type StoredSettings,
  sealFor
} from './stores.ts'
import { TenantList } from './tenant-list.ts'
import { collectionUrl, rewriteHead } from './upload.ts'

/** Says by which model's provider an object is made, where nothing else in the request does. */
const MODEL_FIELD = 'x-weir-model'
/** Which provider has been asked, by its name in the configuration. */
const PROVIDER_FIELD = 'X-Weir-Provider'

/** Google's servers, and others, would do what these say, not what was allowed here. */
const METHOD_FIELDS = ['x-http-method-override', 'x-http-method', 'x-method-override']

const MESSAGE_BATCHES = 'messages/batches'

const isAnthropic = ({ request }: Pick<Exchange, 'request'>): boolean => request.get('anthropic-version') !== undefined

export const storedAt = (ex: Pick<Exchange, 'path' | 'request'>): StoredPath | null =>
  storedPathOf(ex.path, isAnthropic(ex))

export function storedClient(ex: Pick<Exchange, 'path' | 'request'>): ClientFormat {
  const at = storedAt(ex)
  return at === null ? 'completions' : at.api.format
}

export class StoredCall implements ActiveOperation {
  readonly client: ClientFormat
  readonly isStrict = false
  readonly name = null
  readonly kept: KeptIds
  readonly #at: StoredPath
  /** Null: it asks for no list that has to be told apart. */
  readonly #list: TenantList | null
  readonly #facts: StoredFacts
  /** Null: it is in another thread. */
  readonly #request: StoredRequest | null
  readonly #settings: StoredSettings
  /** Of the client. */
  readonly #method: string
  readonly #contentType: string | undefined
  /** What the header asks for; null: nothing. */
  readonly #wanted: string | null
  readonly #use: KeyUse | null
  /** The URL of the collection, as the client knows it. */
  readonly #here: string
  /** The provider that has been asked. */
  #account: Account | null = null

  /** Throws FormatError. */
  constructor(ex: Exchange, settings: StoredSettings) {
    const at = storedAt(ex)
    if (at === null) throw new StoredRefusal(404, 'there is no such API')
    const { method, request } = ex
    this.client = at.api.format
    this.#settings = settings
    this.#method = method
    this.#here = collectionUrl(ex, at)
    this.#contentType = request.get('content-type')
    this.#wanted = request.get(MODEL_FIELD) ?? null
    this.#use = ex.slots === null ? null : KEY_USE.get(ex)
    refuseByKind(at, method, settings, this.#use)
    this.#at = at
    this.#list = listOf(at, ex, settings)
    const { facts } = settings
    this.#request = facts === undefined ? new StoredRequest(at, this.#source(ex), settings) : null
    this.#facts = facts ?? factsOf(this.#request!)
    const store = this.#list?.store ?? settings.stores.find(({ tag }) => tag === this.#facts.tag) ?? null
    this.kept = { store, access: null, isAny: store === null }
    this.#checkBody()
    this.#checkModels()
    for (const name of [MODEL_FIELD, ...METHOD_FIELDS]) request.remove(name)
  }

  #source(ex: Exchange): StoredSource {
    const source = sourceOf(ex, this.#at)
    return this.#list === null ? source : { ...source, query: this.#list.query }
  }

  write(ex: Exchange, to: ResolvedProvider): SentOperation {
    const format = this.#formatAt(to)
    return this.#apply(ex, to, format, writeStored(this.#request!, to, this.#settings.isClosed))
  }

  /** Null: it is written here. */
  get later(): LaterWriting | null {
    if (this.#request !== null) return null
    return {
      task: (ex, to) => {
        this.#formatAt(to)
        return { ...storedTask(ex, this.#settings)!, spec: to.spec }
      },
      apply: (ex, to, written) => this.#apply(ex, to, this.#formatAt(to), written)
    }
  }

  #apply(ex: Exchange, to: ResolvedProvider, format: FormatName, written: WrittenStored): SentOperation {
    const { path, bytes, model } = written
    const query = this.#list === null ? written.query : this.#list.firstQuery(written.query)
    const passing = passingForm(ex)
    if (passing !== null) passing.send(bytes === null ? passing.form.bytes : bufferOf(bytes))
    else if (bytes !== null) replaceRequestBody(ex, bufferOf(bytes))
    const [base, version = ''] = baseAt(to, format).split('?')
    const parameters = [version, query.slice(1)].filter((part) => part !== '').join('&')
    const target = `${this.#at.isUpload ? '/upload' : ''}${base}${path}`
    address(ex, to.provider, { target, query: '', isNative: true })
    this.#restore(ex, parameters)
    const account = to.account!
    this.#account = account
    return this.#sent(format, model, account.store)
  }

  /** If the client may ask it. Throws FormatError. */
  #formatAt(to: ResolvedProvider): FormatName {
    if (to.account === undefined) throw new FormatError('', 'the provider has no account')
    const format = formatAt(to, this.#at.api)
    this.#checkProvider(to)
    return format
  }

  /** Of a tenant's: lists are told apart, and what is made is written down for that. */
  get finish(): FinishAnswer | undefined {
    const { owners = null, tenant } = this.#settings
    if (owners === null || tenant === '' || this.#account === null) return undefined
    const seal = sealFor(this.#account.store, this.#settings)
    const here = this.#at.api.collection === MESSAGE_BATCHES ? this.#here : null
    const call = { api: this.#at.api, list: this.#list, method: this.#method, seal, owners, here }
    return async (ex, bytes, ask) => await finishStored(ex, bytes, call, ask)
  }

  /** The head of the answer. */
  headAnswered(ex: Exchange): void {
    const { response } = ex
    if (response === null || this.#account === null) return
    const { name, store } = this.#account
    if (this.#method === 'POST' && ex.status < 300) response.set(PROVIDER_FIELD, name)
    rewriteHead(ex, this.#at, hasMarks(this.#settings) ? sealFor(store, this.#settings) : null)
  }

  /** What `address` has made that of a chat. */
  #restore(ex: Exchange, query: string): void {
    ex.method = this.#method
    ex.query = query === '' ? '' : `?${query}`
    if (ex.requestBody === BODY_NONE) ex.request.remove('content-type')
    else if (this.#contentType !== undefined) ex.request.set('Content-Type', this.#contentType)
  }

  #sent(providerFormat: FormatName, model: string | null, store: Store): SentOperation {
    const { api, rest } = this.#at
    const { client } = this
    const sent = { lost: NONE_DROPPED, model, providerFormat, isNative: true }
    const isContent = api.contents?.test(`/${[api.collection, ...rest].join('/')}`) === true
    const seal = hasMarks(this.#settings) ? sealFor(store, this.#settings) : null
    // What it keeps says where its results are: that is at this gateway, too.
    const isRewritten = seal !== null || api.collection === MESSAGE_BATCHES
    if (isContent || !isRewritten) return { ...sent, answerSpec: null }
    const here = api.collection === MESSAGE_BATCHES ? this.#here : null
    const spec: StoredAnswerSpec = { of: 'Stored', client, kind: api.kind, seal, here }
    return { ...sent, answerSpec: spec }
  }

  /** Whether all that it names can be seen, and is the client's. */
  #checkBody(): void {
    const { isUnseenBatch, readsAll } = this.#facts
    const isOneOfMany = this.#settings.tenant !== ''
    if (isUnseenBatch && (isOneOfMany || this.#use?.isRestricted === true)) {
      const instead = this.client === 'gemini' ? 'has its requests in its body' : 'is sent in one piece, to files'
      throw new StoredRefusal(
        403,
        `what is in a file that comes in pieces is not seen: the input of a batch ${instead}`
      )
    }
    if (readsAll && isOneOfMany)
      throw new StoredRefusal(403, 'the provider would evaluate what all clients of this gateway have asked')
  }

  #checkModels(): void {
    const use = this.#use
    if (use === null) return
    const { models } = this.#facts
    const { api, rest } = this.#at
    for (const model of models) {
      if (!use.mayUse(model)) throw new StoredRefusal(403, `the key may not use the model ${JSON.stringify(model)}`)
    }
    const needsModel = rest.length === 0 && this.#method === 'POST' && api.hasModel === true
    if (use.isRestricted && needsModel && models.length === 0)
      throw new StoredRefusal(403, 'a key with a list of models must name one: the provider would take one of its own')
    // What is kept has its models checked where they are named: the exchange has none of its own.
    use.isModelChecked = true
  }

  /** Whether the client may ask this provider for anything, and wants to. */
  #checkProvider({ aliases, provider }: ResolvedProvider): void {
    const { isClosed } = this.#settings
    if (this.#wanted !== null && isClosed && aliases.find(this.#wanted) === undefined && this.kept.store === null) {
      throw new FormatError(MODEL_FIELD, `${provider.name} does not serve this model here`)
    }
    const use = this.#use
    if (use === null || !use.isRestricted || !isClosed) return
    const isOpen = aliases.names.some((name) => use.mayUse(name))
    if (!isOpen && !use.modelNames.some((name) => aliases.find(name) !== undefined))
      throw new StoredRefusal(403, 'the key may use no model of the provider that keeps this')
  }
}

const isPieceOf = ({ request }: Exchange, { isUpload }: StoredPath): boolean =>
  isUpload && /\bupload\b/.test(request.get('x-goog-upload-command') ?? '')

/** A piece of a file, as Google's upload protocol has it. */
export function isStoredPiece(ex: Exchange): boolean {
  const at = storedAt(ex)
  return at !== null && isPieceOf(ex, at)
}

function sourceOf(ex: Exchange, at: StoredPath): StoredSource {
  const { request, query } = ex
  const form = passingForm(ex)?.form ?? null
  const bytes = form?.bytes ?? ex.requestBytes ?? Buffer.alloc(0)
  return { bytes, contentType: request.get('content-type') ?? '', isPiece: isPieceOf(ex, at), query, form }
}

/** For another thread; null: nothing of the body is read. */
export function storedTask(ex: Exchange, settings: StoredSettings): StoredTask | null {
  const at = storedAt(ex)
  if (at === null) return null
  const { isPiece, contentType } = sourceOf(ex, at)
  if (isPiece) return null
  const { stores, tenant, isClosed } = settings
  const query = withoutCredentials(ex.query)
  const access = { stores, tenant }
  return {
    kind: 'stored',
    path: ex.path,
    query,
    contentType,
    isAnthropic: isAnthropic(ex),
    access,
    isClosed,
    spec: null
  }
}

/** What of a collection is no list of it. */
const MAKING: ReadonlySet<string> = new Set(['POST', 'PUT'])

/** What no provider is asked for, by whose key it is. */
function refuseByKind({ api, rest }: StoredPath, method: string, { tenant }: StoreAccess, use: KeyUse | null): void {
  if (use?.hasBudget === true && api.isPaidLater?.(method, rest) === true) {
    const why = 'what it costs is known only after the provider has done it'
    throw new StoredRefusal(403, `a key with a budget cannot use this API: ${why}`)
  }
  if (!MAKING.has(method) && rest.length === 0 && tenant !== '' && (method !== 'GET' || pagerOf(api) === null)) {
    const why = 'the provider lists what all clients of this gateway have made'
    throw new StoredRefusal(403, `${api.collection} cannot be listed with a key of this gateway: ${why}; ask by id`)
  }
}

/** What would have the provider answer with less than a page, or with nothing. */
const LIST_FIELDS = ['if-none-match', 'if-modified-since', 'range', 'x-goog-fieldmask']

/** Null: it is none of a tenant's. Throws FormatError. */
function listOf({ api, rest }: StoredPath, ex: Exchange, settings: StoredSettings): TenantList | null {
  const pager = pagerOf(api)
  if (pager === null || rest.length > 0 || ex.method !== 'GET' || settings.tenant === '') return null
  if ((settings.owners ?? null) === null) {
    const why = 'the provider lists what all clients of this gateway have made, and whose that is is kept nowhere'
    const how = 'config.state (path or url) says where to keep it'
    throw new StoredRefusal(403, `${api.collection} cannot be listed with a key of this gateway: ${why}; ${how}`)
  }
  if (settings.facts !== undefined) throw new FormatError('', 'a list is asked for without a body')
  for (const name of LIST_FIELDS) ex.request.remove(name)
  return new TenantList(api, pager, ex.query, settings)
}

const FORMATS_OF: Readonly<Record<StoredFormat, readonly FormatName[]>> = {
  completions: ['responses', 'completions'],
  messages: ['messages'],
  gemini: ['gemini']
}

/** Of the provider, if it has the API. Throws FormatError. */
function formatAt(to: ResolvedProvider, { format, collection, kind }: StoredApi): FormatName {
  const wanted = collection === 'responses' || kind === 'conversation' ? (['responses'] as const) : FORMATS_OF[format]
  const known = to.provider.formats('')
  const found = wanted.find((one) => known.includes(one))
  if (found !== undefined) return operationFormat('stored', to, '', found)
  const why = collection === 'responses' ? ': answers that are translated for it are not kept' : ''
  throw new FormatError('', `${to.provider.name} keeps no ${collection}${why}`)
}

/** Up to the version, with the query that the API needs. */
function baseAt(to: ResolvedProvider, format: FormatName): string {
  if (format === 'gemini')
    return besideChat(to, format, 'model', ':generateContent')
      .replace(/\/models\/[^/?]*/, '')
      .split('?')[0]!
  return besideChat(to, format, '', '').replace(/\/deployments\/[^/?]*/, '')
}
