/**
 * The APIs of objects that providers keep, as one table: which path is whose, and what stands in it. Sources: as of
 * references.ts, and OpenAI, "Realtime calls".
 */
import type { StoredKind } from './seal.ts'

/** Whose API it is: of the maker of that format. */
export type StoredFormat = 'completions' | 'messages' | 'gemini'

/** One collection. */
export interface StoredApi {
  readonly format: StoredFormat
  /** Behind the version of the path. */
  readonly collection: string
  /** Of its members. */
  readonly kind: StoredKind
  /** What stands where an id would, and is a method of the collection. */
  readonly methods?: readonly string[]
  /** Below a member: collections whose members have ids of their own. Others have ids within it, which pass. */
  readonly below?: Readonly<Record<string, StoredKind>>
  /** Ends whose answers are bytes that are passed on as they come. */
  readonly contents?: RegExp
  /** What is made has a model: the provider's usual one where none is named. */
  readonly hasModel?: true
  /** What is begun there is paid for later, where nobody counts it: a key with a budget may not. */
  readonly isPaidLater?: (method: string, rest: readonly string[]) => boolean
}

type IsPaidLater = NonNullable<StoredApi['isPaidLater']>

const create: IsPaidLater = (method, rest) => method === 'POST' && rest.length === 0
const always: IsPaidLater = (method) => method === 'POST'
const compact: IsPaidLater = (method, [first]) => method === 'POST' && first === 'compact'

export const STORED_APIS: readonly StoredApi[] = [
  { format: 'completions', collection: 'files', kind: 'file', contents: /\/content$/ },
  { format: 'completions', collection: 'uploads', kind: 'upload' },
  { format: 'completions', collection: 'batches', kind: 'batch', isPaidLater: create },
  {
    format: 'completions',
    collection: 'responses',
    kind: 'response',
    methods: ['input_tokens', 'compact'],
    isPaidLater: compact
  },
  { format: 'completions', collection: 'conversations', kind: 'conversation' },
  { format: 'completions', collection: 'vector_stores', kind: 'vector store', below: { files: 'file' } },
  {
    format: 'completions',
    collection: 'containers',
    kind: 'container',
    below: { files: 'file' },
    contents: /\/content$/,
    isPaidLater: create
  },
  { format: 'completions', collection: 'skills', kind: 'skill', contents: /\/content$/ },
  { format: 'completions', collection: 'fine_tuning/jobs', kind: 'job', hasModel: true, isPaidLater: create },
  { format: 'completions', collection: 'evals', kind: 'eval', isPaidLater: always },
  {
    format: 'completions',
    collection: 'realtime/calls',
    kind: 'call',
    contents: /\/calls$/,
    hasModel: true,
    isPaidLater: create
  },
  { format: 'completions', collection: 'realtime/client_secrets', kind: 'call', hasModel: true, isPaidLater: create },
  { format: 'completions', collection: 'realtime/sessions', kind: 'call', hasModel: true, isPaidLater: create },
  {
    format: 'completions',
    collection: 'realtime/transcription_sessions',
    kind: 'call',
    hasModel: true,
    isPaidLater: create
  },
  { format: 'messages', collection: 'messages/batches', kind: 'batch', contents: /\/results$/, isPaidLater: create },
  { format: 'messages', collection: 'files', kind: 'file', contents: /\/content$/ },
  { format: 'messages', collection: 'skills', kind: 'skill' },
  { format: 'gemini', collection: 'files', kind: 'file', contents: /:download$/ },
  { format: 'gemini', collection: 'cachedContents', kind: 'cached content', isPaidLater: create },
  { format: 'gemini', collection: 'batches', kind: 'batch' },
  // Begun at a model: ".../models/MODEL:batchGenerateContent".
  { format: 'gemini', collection: 'models', kind: 'batch', isPaidLater: always }
]

/** Chat, and the list of models: only what is below is kept. */
const OF_OTHERS: ReadonlySet<string> = new Set(['/models', '/responses'])

/** Of paths: `llm` serves them there. */
export const STORED_ENDS: readonly string[] = [
  ...new Set(STORED_APIS.map(({ collection }) => `/${collection}`).filter((end) => !OF_OTHERS.has(end))),
  ...[':batchGenerateContent', ':asyncBatchEmbedContent']
]

/** A path in its parts. */
export interface StoredPath {
  readonly api: StoredApi
  /** Behind the collection, as they stand in the path: the id first. */
  readonly rest: readonly string[]
  /** Google's uploads have their own root. */
  readonly isUpload: boolean
}

/** What begins batches at Google's models. */
const BATCH_METHODS = /\/models\/.+:(?:batchGenerateContent|asyncBatchEmbedContent)$/

const GEMINI = /\/v1(?:beta|alpha)\//

/** Null: `path` is none of them. `isAnthropic`: the request has the version of Anthropic's API. */
export function storedPathOf(path: string, isAnthropic: boolean): StoredPath | null {
  const ofMessages = isAnthropic || path.includes('/messages/batches')
  const format = GEMINI.test(path) ? 'gemini' : ofMessages ? 'messages' : 'completions'
  let best: StoredPath | null = null
  let bestAt = Number.POSITIVE_INFINITY
  const isBatch = BATCH_METHODS.test(path)
  for (const api of STORED_APIS) {
    if (api.format !== format || (api.collection === 'models') !== isBatch) continue
    const at = placeOf(path, `/${api.collection}`)
    // The first in the path: /vector_stores/ID/files is one of vector_stores.
    if (at < 0 || at >= bestAt) continue
    bestAt = at
    const rest = path.slice(at + api.collection.length + 1)
    const isUpload = format === 'gemini' && path.slice(0, at).includes('/upload/')
    best = { api, rest: rest === '' ? [] : rest.slice(1).split('/'), isUpload }
  }
  return best
}

/** Where the whole segments `collection` begin; -1: nowhere. */
function placeOf(path: string, collection: string): number {
  const at = path.indexOf(collection)
  const end = path[at + collection.length]
  return at < 0 || end === undefined || end === '/' ? at : -1
}
