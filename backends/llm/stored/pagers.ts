/**
 * How collections are listed. Sources: API references of OpenAI ("List files", "List batches", "List vector stores",
 * "List containers", "List fine-tuning jobs", "List evals", "List skills"), Anthropic ("List Message Batches", "List
 * Files", "List Skills") and Google ("files.list", "cachedContents.list", "batches.list").
 */
import type { StoredApi } from './apis.ts'

export interface Pager {
  /** What a page begins behind: an id of the list, or what the page before has said. */
  readonly by: 'id' | 'token'
  /** Parameters of the query. */
  readonly after: string
  /** Null: lists are read in one direction. */
  readonly before: string | null
  readonly size: string
  /** Where the client says none. */
  readonly sizeDefault: number
  /** Of what the provider is asked for, and of what a client gets. */
  readonly sizeMax: number
  /** Where the objects are in an answer, and where it says what the next page begins behind (`token`). */
  readonly items: string
  readonly next: string
}

const OPENAI = {
  by: 'id',
  ...{ after: 'after', before: null, size: 'limit', sizeDefault: 20, sizeMax: 100, items: 'data', next: 'last_id' }
} as const
const BOTH_WAYS = { ...OPENAI, before: 'before' } as const
const ANTHROPIC = { ...OPENAI, after: 'after_id', before: 'before_id', sizeMax: 1_000 } as const
const TOKENS = { by: 'token', before: null, sizeDefault: 20, sizeMax: 100 } as const
const GOOGLE = { ...TOKENS, after: 'pageToken', size: 'pageSize', next: 'nextPageToken' } as const

const PAGERS: Readonly<Record<StoredApi['format'], Readonly<Record<string, Pager>>>> = {
  completions: {
    // 10,000 are the provider's own bound and default: two of its pages would be more than a body may have.
    files: { ...OPENAI, sizeDefault: 1_000, sizeMax: 1_000 },
    batches: OPENAI,
    vector_stores: BOTH_WAYS,
    containers: OPENAI,
    skills: OPENAI,
    'fine_tuning/jobs': OPENAI,
    evals: OPENAI
  },
  messages: {
    'messages/batches': ANTHROPIC,
    files: ANTHROPIC,
    skills: { ...TOKENS, after: 'page', size: 'limit', items: 'data', next: 'next_page' }
  },
  gemini: {
    files: { ...GOOGLE, sizeDefault: 10, items: 'files' },
    cachedContents: { ...GOOGLE, items: 'cachedContents' },
    batches: { ...GOOGLE, items: 'operations' }
  }
}

/** Null: it has no list. */
export const pagerOf = ({ format, collection }: StoredApi): Pager | null => PAGERS[format][collection] ?? null
