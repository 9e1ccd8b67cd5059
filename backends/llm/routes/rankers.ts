/**
 * What services that rank are asked, and what they answer. Sources: the references of Cohere ("Rerank" v1 and v2;
 * cohere-python 7.3, aws_client.py for Bedrock), Jina ("Reranker API"), Voyage AI ("Rerank") and MongoDB Atlas ("Rerank
 * documents"), Fireworks AI ("Rerank documents") and Alibaba ("Text rerank API"); Amazon Bedrock, "Use a reranker
 * model"; DeepInfra, "Qwen3-Reranker: HTTP/cURL API"; text-embeddings-inference, openapi.json; NVIDIA NIM for
 * retrieval, "Reranking API"; IBM watsonx.ai, "Rerank"; Google Cloud, "Improve search and RAG quality with ranking
 * API".
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { compact, type Fields } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { segment, type Wire } from '#backends/llm/providers/provider.ts'

/** `v1`: of Cohere's first version and of Jina, which differ in what they add. */
export type Words = 'v1' | 'rerankV2' | 'rerankTopK'

export interface Wanted {
  readonly query: string
  readonly documents: readonly string[]
  readonly count: number | null
  /** Tokens of each document that are looked at; null: the client does not say, or the service takes none. */
  readonly limit: number | null
  readonly returnsDocuments: boolean
  /** Fields that only the client's own format has. */
  readonly unknown: readonly string[]
}

/** A document by its place in the request. */
export interface Ranked {
  readonly index: number
  readonly score: number
}

/** What a service is asked, and who can read what it answers. */
interface Ranker {
  /** Of the path, beside that of chat; absent: /rerank. */
  readonly end?: string
  /** Where it does not stand beside chat: all of the path. */
  readonly path?: (besideChat: string, model: string) => string
  /** Clients whose requests it reads as they are; null: none. */
  readonly reads: Words | null
  /** Clients that can read its answers as they are; null: none. */
  readonly answers: Words | null
  /** Whether a model takes `max_tokens_per_doc`; absent: none does. */
  takesLimit?(model: string): boolean
  /** It cannot be told how many are wanted. */
  readonly ranksAll?: true
  write(wanted: Wanted, model: string): JsonObject
  /** In any order; absent: a list of objects with `relevance_score`, or `score`. Throws FormatError. */
  results?(answer: Fields): readonly Ranked[]
}

/** Of Cohere's API, which its models on Bedrock want to know: 1 or 2. */
const INVOKE_VERSION = 2

const ofV1 = ({ query, documents, count }: Wanted, model: string): JsonObject =>
  compact({ model, query, documents, top_n: count })

/** Bedrock's own, in ids and ARNs; its others are Cohere's. */
const isAmazons = (model: string): boolean => /(?:^|[./])amazon\./.test(model)

const V1: Ranker = { reads: 'v1', answers: 'v1', write: ofV1 }
const OTHER = { reads: null, answers: null } as const

export function numberIn(fields: Fields, name: string): number {
  const value = fields.optionalNumber(name)
  if (value === null) throw new FormatError(fields.at(name), 'is required, and must be a number')
  return value
}

const RANKERS: { readonly [wire in Wire]?: Ranker } = {
  rerankV2: {
    reads: 'rerankV2',
    answers: 'rerankV2',
    takesLimit: () => true,
    write: (wanted, model) => compact({ ...ofV1(wanted, model), max_tokens_per_doc: wanted.limit })
  },
  // Documents of an answer come from here: services that send them unless told otherwise are told.
  rerankEcho: {
    ...V1,
    write: (wanted, model) => ({ ...ofV1(wanted, model), return_documents: false })
  },
  rerankData: { ...V1, answers: null },
  rerankTopK: {
    reads: 'rerankTopK',
    answers: 'rerankTopK',
    write: ({ query, documents, count }, model) => compact({ model, query, documents, top_k: count })
  },
  invokeRerank: {
    ...OTHER,
    end: '/invoke',
    takesLimit: (model) => !isAmazons(model),
    write: ({ query, documents, count, limit }, model) => {
      const version = isAmazons(model) ? null : INVOKE_VERSION
      return compact({ query, documents, top_n: count, max_tokens_per_doc: limit, api_version: version })
    }
  },
  // A query for each document, and a score for each pair.
  rerankScores: {
    ...OTHER,
    path: (path, model) => path.replace(/(?:\/openai)?\/rerank$/, () => `/inference/${names(model)}`),
    ranksAll: true,
    write: ({ query, documents }) => ({ queries: documents.map(() => query), documents }),
    results: (answer) => answer.list('scores').map((score, index) => ({ index, score: numberOf(score, index) }))
  },
  // Of one model, at the root. Its answer is a bare list.
  rerankTexts: {
    ...OTHER,
    path: (path) => path.replace(/\/v1\/rerank$/, '/rerank'),
    ranksAll: true,
    write: ({ query, documents }) => ({ query, texts: documents }),
    results: (answer) => answer.objects('results').map((one) => scored(one, 'score'))
  },
  rerankInputs: {
    ...OTHER,
    write: ({ query, documents, count }, model) => ({
      model_id: model,
      query,
      inputs: documents.map((text) => ({ text })),
      ...(count === null ? {} : { parameters: { return_options: { top_n: count } } })
    }),
    results: (answer) => answer.objects('results').map((one) => scored(one, 'score'))
  },
  rankPassages: {
    ...OTHER,
    end: '/ranking',
    ranksAll: true,
    write: ({ query, documents }, model) => ({
      model,
      query: { text: query },
      passages: documents.map((text) => ({ text }))
    }),
    results: (answer) => answer.objects('rankings').map((one) => scored(one, 'logit'))
  },
  rankRecords: {
    ...OTHER,
    end: ':rank',
    path: (path) =>
      path.replace(/\/publishers\/google\/models\/[^/]*:rank$/, '/rankingConfigs/default_ranking_config:rank'),
    write: ({ query, documents, count }, model) => {
      const records = documents.map((content, i) => ({ id: String(i), content }))
      return compact({ model, query, topN: count, records, ignoreRecordDetailsInResponse: true })
    },
    results: (answer) =>
      answer.objects('records').map((one) => ({ index: Number(one.string('id')), score: numberIn(one, 'score') }))
  }
}

const scored = (one: Fields, name: string): Ranked => ({ index: numberIn(one, 'index'), score: numberIn(one, name) })

function numberOf(value: Json, index: number): number {
  if (typeof value === 'number') return value
  throw new FormatError(`scores[${index}]`, 'must be a number')
}

export const rankerOf = (wire: Wire | null): Ranker => (wire === null ? V1 : (RANKERS[wire] ?? V1))

/** "OWNER/NAME" as two segments of a path. */
const names = (model: string): string => model.split('/').map(segment).join('/')

/** Services whose chat of OpenAI's format stands beside their own API: Cohere's, Alibaba's. */
const OWN_PATHS: readonly (readonly [besideChat: RegExp, own: string])[] = [
  [/\/compatibility\/v1\/rerank$/, '/v2/rerank'],
  [/\/compatible-mode\/v1\/rerank$/, '/compatible-api/v1/reranks']
]

/** `path`: beside that of chat. */
export function rankerPath(path: string, { path: own }: Ranker, model: string): string {
  if (own !== undefined) return own(path, model)
  return OWN_PATHS.reduce((now, [beside, instead]) => now.replace(beside, instead), path)
}
