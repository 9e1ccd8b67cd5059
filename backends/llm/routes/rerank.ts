/**
 * Ranking of documents for a query, for clients of Cohere (`/v1/rerank`, `/v2/rerank`), Jina and Voyage AI, at services
 * with either format, servers with Jina's (vLLM, llama.cpp, Together), and Bedrock. Sources: the references of Cohere
 * ("Rerank" v1 and v2; cohere-python 7.3, aws_client.py for Bedrock), Jina ("Reranker API"), Voyage AI ("Rerank") and
 * MongoDB Atlas ("Rerank documents"), Fireworks AI ("Rerank documents") and Alibaba ("Text rerank API"); Amazon
 * Bedrock, "Use a reranker model".
 */
import { operationFormat } from '#backends/llm/capabilities.ts'
import { type FormatName, type Json, type JsonObject, NO_USAGE } from '#backends/llm/conversation.ts'
import { objectIn } from '#backends/llm/formats/completions/usage.ts'
import { compact, Fields, isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { HINT } from '#backends/llm/formats/tolerated.ts'
import { lossPath } from '#backends/llm/formats/unknown-fields.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import type { Wire } from '#backends/llm/providers/provider.ts'
import { wireOf } from '#backends/llm/providers/services.ts'
import { modelOf, parseBody } from '#backends/llm/request/json-body.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import type { AnswerSpec } from './answer-spec.ts'
import {
  type BodyOperationKind,
  besideChat,
  type OperationCost,
  type OperationPlan,
  type OperationSource,
  type ReadOperation
} from './operation.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    Rerank: 'body'
  }
}

/** `v1`: of Cohere's first version and of Jina, which differ in what they add. */
type Words = 'v1' | 'rerankV2' | 'rerankTopK'

export interface RerankAnswerSpec extends AnswerSpec {
  readonly of: 'Rerank'
  readonly words: Words
  /** By the client's name. */
  readonly model: string
  /** Texts that the client wants back; null: it does not. */
  readonly documents: readonly string[] | null
  /** What the call costs where the answer does not say; null: unknown. */
  readonly searches: number | null
}

export const rerank: BodyOperationKind<RerankAnswerSpec> = {
  type: 'Rerank',
  pathEnds: ['/rerank'],
  isStrict: true,
  name: 'rerank',
  client: () => 'completions',
  guarded: () => requestReach(['query', 'documents'], []),
  tolerated: { max_chunks_per_doc: HINT, max_tokens_per_doc: HINT, truncation: HINT, priority: HINT },
  read: (source) => new Rerank(source),
  costIn,
  answer
}

/** A search is a query with up to so many documents ("Pricing" of Cohere). */
const DOCUMENTS_PER_SEARCH = 100
/** Of Cohere's API, which its models on Bedrock want to know: 1 or 2. */
const INVOKE_VERSION = 2

class Rerank implements ReadOperation {
  /** By the client's name, "" when it names none. */
  readonly model: string
  readonly #words: Words
  readonly #body: JsonObject
  readonly #bytesLength: number

  /** Throws FormatError. */
  constructor({ bytes, path }: OperationSource) {
    this.#body = parseBody(bytes)
    this.#bytesLength = bytes.length
    this.model = modelOf(this.#body)
    const isTopK = this.#body.top_k !== undefined || this.#body.truncation !== undefined
    this.#words = path.endsWith('/v2/rerank') ? 'rerankV2' : isTopK ? 'rerankTopK' : 'v1'
  }

  plan(to: ResolvedProvider): OperationPlan {
    const model = providerModel(this.model, to.settings.model, to.aliases)
    const providerFormat: FormatName = operationFormat('rerank', to, model)
    const wire = wireOf(to, 'rerank', model)
    const ranker = rankerOf(wire)
    const isNative = ranker.answers === this.#words
    const isRead = ranker.reads === this.#words
    const wanted = isNative ? null : wantedIn(this.#body, ranker.takesLimit?.(model) === true)
    const renamed = model === this.model ? null : { ...this.#body, model }
    const { documents: listed } = this.#body
    const searchesMax = Math.max(1, Math.ceil((Array.isArray(listed) ? listed.length : 0) / DOCUMENTS_PER_SEARCH))
    const searches = wire === 'invokeRerank' ? searchesMax : null
    const documents = wanted?.returnsDocuments === true ? wanted.documents : null
    const answerSpec = {
      of: 'Rerank',
      client: 'completions',
      words: this.#words,
      model: this.model,
      documents,
      searches
    } as const
    return {
      body: wanted === null || isRead ? renamed : ranker.write(wanted, model),
      model,
      providerFormat,
      isNative,
      target: ownPath(besideChat(to, providerFormat, model, wire === 'invokeRerank' ? '/invoke' : '/rerank')),
      lost: isRead ? [] : (wanted?.unknown ?? []),
      answerSpec,
      expects: { inputTokens: this.#bytesLength, outputTokens: 0, unitsMax: { counts: { search: searchesMax } } }
    }
  }
}

/** Services whose chat of OpenAI's format stands beside their own API: Cohere's, Alibaba's. */
const OWN_PATHS: readonly (readonly [besideChat: RegExp, own: string])[] = [
  [/\/compatibility\/v1\/rerank$/, '/v2/rerank'],
  [/\/compatible-mode\/v1\/rerank$/, '/compatible-api/v1/reranks']
]

const ownPath = (path: string): string => OWN_PATHS.reduce((now, [beside, own]) => now.replace(beside, own), path)

interface Wanted {
  readonly query: string
  readonly documents: readonly string[]
  readonly count: number | null
  /** Tokens of each document that are looked at; null: the client does not say, or the service takes none. */
  readonly limit: number | null
  readonly returnsDocuments: boolean
  /** Fields that only the client's own format has. */
  readonly unknown: readonly string[]
}

/** Throws FormatError. */
function wantedIn(body: JsonObject, takesLimit: boolean): Wanted {
  const fields = new Fields(body, '')
  const query = fields.string('query')
  const listed = fields.any('documents')
  if (!Array.isArray(listed) || listed.length === 0) throw new FormatError('documents', 'is required')
  const documents = (listed as readonly Json[]).map((one, i) => {
    const text = isObject(one) && Object.keys(one).length === 1 ? one.text : one
    if (isString(text)) return text
    throw new FormatError(`documents[${i}]`, 'must be a text for this provider')
  })
  const count = fields.optionalNumber('top_n') ?? fields.optionalNumber('top_k')
  const limit = takesLimit ? fields.optionalNumber('max_tokens_per_doc') : null
  const returnsDocuments = fields.any('return_documents') === true
  fields.any('model')
  const unknown = new Map<string, Json>()
  fields.leaveUnknown(unknown)
  return { query, documents, count, limit, returnsDocuments, unknown: [...unknown.keys()].map(lossPath) }
}

/** What a service is asked, and who can read what it answers. */
interface Ranker {
  /** Clients whose requests it reads as they are; null: none. */
  readonly reads: Words | null
  /** Clients that can read its answers as they are; null: none. */
  readonly answers: Words | null
  /** Whether a model takes `max_tokens_per_doc`; absent: none does. */
  takesLimit?(model: string): boolean
  write(wanted: Wanted, model: string): JsonObject
}

const ofV1 = ({ query, documents, count }: Wanted, model: string): JsonObject =>
  compact({ model, query, documents, top_n: count })

/** Bedrock's own, in ids and ARNs; its others are Cohere's. */
const isAmazons = (model: string): boolean => /(?:^|[./])amazon\./.test(model)

const V1: Ranker = { reads: 'v1', answers: 'v1', write: ofV1 }

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
    reads: null,
    answers: null,
    takesLimit: (model) => !isAmazons(model),
    write: ({ query, documents, count, limit }, model) => {
      const version = isAmazons(model) ? null : INVOKE_VERSION
      return compact({ query, documents, top_n: count, max_tokens_per_doc: limit, api_version: version })
    }
  }
}

const rankerOf = (wire: Wire | null): Ranker => (wire === null ? V1 : (RANKERS[wire] ?? V1))

/** Tokens, or searches, as the service counts. */
function costIn({ searches }: RerankAnswerSpec, body: Json): OperationCost {
  if (!isObject(body)) return { usage: null, model: null }
  const model = isString(body.model) ? body.model : null
  const units = objectIn(objectIn(body, 'meta'), 'billed_units')
  const count = typeof units.search_units === 'number' ? units.search_units : searches
  const { total_tokens: tokens } = objectIn(body, 'usage')
  const usage = typeof tokens === 'number' ? { ...NO_USAGE, input: tokens } : null
  return { usage, model, ...(count === null ? {} : { units: { counts: { search: count } } }) }
}

function numberIn(fields: Fields, name: string): number {
  const value = fields.optionalNumber(name)
  if (value === null) throw new FormatError(fields.at(name), 'is required, and must be a number')
  return value
}

/** For a client of another format. Throws FormatError. */
function answer({ words, model, documents }: RerankAnswerSpec, body: Json): JsonObject {
  const fields = Fields.of(body, '')
  const ranked = fields.objects(Array.isArray(fields.value.results) ? 'results' : 'data').map((one) => {
    const index = numberIn(one, 'index')
    const text = documents?.[index]
    const score = one.optionalNumber('relevance_score') ?? numberIn(one, 'score')
    const document = text === undefined ? null : words === 'rerankTopK' ? text : { text }
    return compact({ index, relevance_score: score, document })
  })
  const { usage, units } = costIn({ searches: null } as RerankAnswerSpec, body)
  const tokens = usage === null ? {} : { usage: { total_tokens: usage.input } }
  if (words === 'rerankTopK') return { object: 'list', data: ranked, model, usage: { total_tokens: usage?.input ?? 0 } }
  const id = isString(fields.value.id) ? fields.value.id : crypto.randomUUID()
  const counted = units?.counts?.search
  const billed = counted === undefined ? {} : { billed_units: { search_units: counted } }
  const meta = { api_version: { version: words === 'v1' ? '1' : '2' }, ...billed }
  // Cohere's clients read `id` and `meta`, Jina's `model` and `usage`.
  return words === 'v1'
    ? { id, object: 'list', model, results: ranked, meta, ...tokens }
    : { id, results: ranked, meta }
}
