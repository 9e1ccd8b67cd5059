/**
 * Ranking of documents for a query, for clients of Cohere (`/v1/rerank`, `/v2/rerank`), Jina and Voyage AI, at services
 * with either format, servers with Jina's (vLLM, llama.cpp, Together), and services with other words (rankers.ts).
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
import { passingJson } from './passing-answer.ts'
import { numberIn, type Ranked, rankerOf, rankerPath, type Wanted, type Words } from './rankers.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    Rerank: 'body'
  }
}

export interface RerankAnswerSpec extends AnswerSpec {
  readonly of: 'Rerank'
  readonly words: Words
  /** Null: as of the format. */
  readonly wire: Wire | null
  /** By the client's name. */
  readonly model: string
  /** Texts that the client wants back; null: it does not. */
  readonly documents: readonly string[] | null
  /** How many the client wants, of a service that cannot be told; null: all that come. */
  readonly count: number | null
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
  answer,
  listen: passingJson(costIn)
}

/** A search is a query with up to so many documents ("Pricing" of Cohere). */
const DOCUMENTS_PER_SEARCH = 100
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
      wire,
      model: this.model,
      documents,
      count: ranker.ranksAll === true ? (wanted?.count ?? null) : null,
      searches
    } as const
    return {
      body: wanted === null || isRead ? renamed : { ...ranker.write(wanted, model), ...to.provider.account },
      model,
      providerFormat,
      isNative,
      target: rankerPath(besideChat(to, providerFormat, model, ranker.end ?? '/rerank'), ranker, model),
      lost: isRead ? [] : (wanted?.unknown ?? []),
      answerSpec,
      expects: { inputTokens: this.#bytesLength, outputTokens: 0, unitsMax: { counts: { search: searchesMax } } }
    }
  }
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

/** Tokens, or searches, as the service counts. */
function costIn({ searches }: RerankAnswerSpec, body: Json): OperationCost {
  if (!isObject(body)) return { usage: null, model: null }
  const model = isString(body.model) ? body.model : null
  const units = objectIn(objectIn(body, 'meta'), 'billed_units')
  const count = typeof units.search_units === 'number' ? units.search_units : searches
  const tokens = objectIn(body, 'usage').total_tokens ?? body.input_tokens ?? body.input_token_count
  const usage = typeof tokens === 'number' ? { ...NO_USAGE, input: tokens } : null
  return { usage, model, ...(count === null ? {} : { units: { counts: { search: count } } }) }
}

function resultsIn(fields: Fields): Ranked[] {
  return fields.objects(Array.isArray(fields.value.results) ? 'results' : 'data').map((one) => {
    return { index: numberIn(one, 'index'), score: one.optionalNumber('relevance_score') ?? numberIn(one, 'score') }
  })
}

/** Of services that rank all, in whatever order. */
function best(all: readonly Ranked[], count: number | null): readonly Ranked[] {
  const sorted = all.toSorted((a, b) => b.score - a.score)
  return count === null ? sorted : sorted.slice(0, count)
}

/** For a client of another format. Throws FormatError. */
function answer({ words, wire, model, documents, count }: RerankAnswerSpec, body: Json): JsonObject {
  const read = rankerOf(wire).results
  const fields = Fields.of(Array.isArray(body) ? { results: body } : body, '')
  const all = read === undefined ? resultsIn(fields) : best(read(fields), count)
  const ranked = all.map(({ index, score }) => {
    const text = documents?.[index]
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
