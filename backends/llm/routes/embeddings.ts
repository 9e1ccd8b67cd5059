/**
 * Embeddings, for clients of OpenAI, Gemini and Cohere, at a provider of any.
 * Sources: OpenAI, "Create embeddings"; ai.google.dev, "Embeddings" (embedContent, batchEmbedContents); Cohere, "Embed"
 * v2.
 */
import { operationFormat } from '#backends/llm/capabilities.ts'
import type { Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { compact, Fields, isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { HINT, RECORD } from '#backends/llm/formats/tolerated.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import type { Wire } from '#backends/llm/providers/provider.ts'
import { wireOf } from '#backends/llm/providers/services.ts'
import { modelOf, parseBody } from '#backends/llm/request/json-body.ts'
import { decodedName, type ModelPath, modelPathOf } from '#backends/llm/request/model-path.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import { embeddingSettings } from '#backends/llm/usage/request-settings.ts'
import { boundedUsage } from '#backends/llm/usage/token-counts.ts'
import type { RequestSettings } from '#engine/contract/model-use.ts'
import type { AnswerSpec } from './answer-spec.ts'
import { fromCohere, fromGemini, fromOpenai } from './embedding-clients.ts'
import {
  type EmbeddingWire,
  embeddingWire,
  hasOtherNames,
  inWordsOf,
  usageOfTokens,
  type Wanted
} from './embedding-wires.ts'
import {
  type BodyOperationKind,
  besideChat,
  type OperationCost,
  type OperationPlan,
  type OperationSource,
  type ReadOperation
} from './operation.ts'
import { passingJson } from './passing-answer.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    Embeddings: 'body'
  }
}

/** How an answer with embeddings is read. */
export interface EmbeddingsAnswerSpec extends AnswerSpec {
  readonly of: 'Embeddings'
  readonly client: 'gemini' | 'completions'
  readonly providerFormat: ProviderFormat
  /** Null: the format's own. */
  readonly wire: Wire | null
  /** By the client's name. */
  readonly model: string
  /** Gemini: many texts, many answers. */
  readonly isBatch: boolean
  /** Floats are packed. */
  readonly isBase64: boolean
  /** Cohere: its texts, which the answer repeats; null: it is another's client. */
  readonly texts: readonly string[] | null
}

const METHODS = ['embedContent', 'batchEmbedContents']

/** Null: it is not Gemini's. */
function inPath(path: string): ModelPath | null {
  const found = modelPathOf(path)
  return found !== null && METHODS.includes(found.method) ? found : null
}

export const embeddings: BodyOperationKind<EmbeddingsAnswerSpec> = {
  type: 'Embeddings',
  pathEnds: ['/embeddings', '/v2/embed', ':embedContent', ':batchEmbedContents'],
  isStrict: true,
  name: 'embeddings',
  client: ({ path }) => (inPath(path) === null ? 'completions' : 'gemini'),
  guarded: (client) =>
    client === 'gemini'
      ? requestReach(['content', 'title', 'requests'], [])
      : requestReach(['input', 'messages', 'inputs', 'texts'], []),
  tolerated: {
    ...{ user: RECORD, title: HINT, 'requests[].title': HINT, autoTruncate: HINT },
    ...{ input_type: HINT, truncate: HINT, truncation: HINT, priority: HINT }
  },
  read: (source) => new Embeddings(source),
  costIn: embeddingsCost,
  answer: embeddingsAnswer,
  listen: passingJson(embeddingsCost)
}

/** `converse`: a wire of its own says the rest. */
type ProviderFormat = 'gemini' | 'completions' | 'responses' | 'converse'

class Embeddings implements ReadOperation {
  readonly client: 'gemini' | 'completions'
  /** By the client's name, "" when it names none. */
  readonly model: string
  readonly #body: JsonObject
  readonly #isBatch: boolean
  readonly #isCohere: boolean

  /** Throws FormatError. */
  constructor({ bytes, path }: OperationSource) {
    this.#body = parseBody(bytes)
    this.#isCohere = path.endsWith('/v2/embed')
    const fromPath = inPath(path)
    this.client = fromPath === null ? 'completions' : 'gemini'
    this.#isBatch = fromPath?.method === 'batchEmbedContents'
    this.model = fromPath === null ? modelOf(this.#body) : decodedName(fromPath.name)
  }

  plan(to: ResolvedProvider): OperationPlan {
    const { client } = this
    const model = providerModel(this.model, to.settings.model, to.aliases)
    const providerFormat = operationFormat('embeddings', to, model)
    const wire = wireOf(to, 'embeddings', model)
    const own = embeddingWire(wire)
    const isSame = (providerFormat === 'gemini') === (client === 'gemini') && !this.#isCohere
    const isNative = this.#isCohere ? wire === 'embedV2' : own === null && isSame
    const wanted = isNative ? null : this.#wanted(own?.takesTask ?? providerFormat === 'gemini')
    const body =
      wanted === null ? this.#native(model, wire) : converted(wanted, to, { providerFormat, own, wire, model })
    const path = besideChat(to, providerFormat, model, own?.end ?? this.#end(providerFormat, isNative))
    const answerSpec = {
      of: 'Embeddings',
      client,
      providerFormat,
      wire,
      model: this.model,
      isBatch: this.#isBatch,
      isBase64: this.#isPacked,
      texts: this.#isCohere ? (wanted?.texts ?? []) : null
    } as const
    return {
      body,
      model: this.model === '' ? null : model,
      providerFormat,
      isNative,
      target: own?.path?.(path) ?? path,
      lost: wanted?.unknown ?? [],
      answerSpec,
      settings: this.#settings()
    }
  }

  #end(format: ProviderFormat, isNative: boolean): string {
    if (format !== 'gemini') return '/embeddings'
    return isNative && !this.#isBatch ? ':embedContent' : BATCH
  }

  /** Null: the client's own bytes will do. */
  #native(model: string, wire: Wire | null): JsonObject | null {
    if (this.client === 'completions' && hasOtherNames(wire)) return inWordsOf(wire, { ...this.#body, model })
    if (model === this.model) return null
    if (this.client === 'completions') return { ...this.#body, model }
    // Each request of a batch says the model of the path again.
    const renamed = (one: Json): Json => (isObject(one) ? { ...one, model: `models/${model}` } : one)
    const { requests } = this.#body
    if (Array.isArray(requests)) return { ...this.#body, requests: requests.map(renamed) }
    return renamed(this.#body) as JsonObject
  }

  #settings(): RequestSettings {
    const { encoding_format: format, dimensions } = this.#body
    if (this.#isCohere) return embeddingSettings(undefined, this.#body.output_dimension)
    if (this.client === 'completions') return embeddingSettings(format, dimensions)
    const { requests } = this.#body
    const first = this.#isBatch && Array.isArray(requests) ? (requests as readonly Json[])[0] : this.#body
    return embeddingSettings(undefined, isObject(first) ? first.outputDimensionality : undefined)
  }

  get #isPacked(): boolean {
    const { encoding_format: format, embedding_types: types } = this.#body
    return this.#isCohere ? Array.isArray(types) && types.includes('base64') : format === 'base64'
  }

  #wanted(takesTask: boolean): Wanted {
    if (this.#isCohere) return fromCohere(this.#body, takesTask)
    return this.client === 'completions'
      ? fromOpenai(this.#body, takesTask)
      : fromGemini(this.#body, this.#isBatch, takesTask)
  }
}

interface Words {
  readonly providerFormat: ProviderFormat
  readonly own: EmbeddingWire | null
  readonly wire: Wire | null
  readonly model: string
}

function converted(
  wanted: Wanted,
  { provider }: ResolvedProvider,
  { providerFormat: format, own, wire, model }: Words
): JsonObject {
  if (own !== null) return { ...own.write(wanted, model), ...provider.account }
  const { texts, dimensions, task } = wanted
  if (format !== 'gemini') {
    return inWordsOf(wire, compact({ model, input: texts, dimensions, encoding_format: 'float' }))
  }
  const settings = { outputDimensionality: dimensions, taskType: task }
  const request = (text: string): JsonObject =>
    compact({ model: `models/${model}`, content: { parts: [{ text }] }, ...settings })
  return { requests: texts.map(request) }
}

/** Throws FormatError. */
function answerIn({ wire }: EmbeddingsAnswerSpec, body: Json): Fields {
  const name = Array.isArray(body) ? embeddingWire(wire)?.listName : undefined
  return Fields.of(name === undefined ? body : { [name]: body }, '')
}

/** Throws FormatError. */
function usageOf(spec: EmbeddingsAnswerSpec, body: Json): Usage | null {
  const { providerFormat, wire } = spec
  const answer = answerIn(spec, body)
  const own = embeddingWire(wire)
  if (own !== null) return usageOfTokens(own.tokens(answer))
  return providerFormat === 'gemini' ? geminiUsage(answer) : openaiUsage(answer)
}

/** Throws FormatError. */
function embeddingsCost(spec: EmbeddingsAnswerSpec, body: Json): OperationCost {
  const model = isObject(body) && isString(body.model) ? body.model : null
  return { usage: usageOf(spec, body), model }
}

/** For a client of another format. Throws FormatError. */
function embeddingsAnswer(spec: EmbeddingsAnswerSpec, body: Json, counted: Usage | null): JsonObject {
  const vectors = vectorsIn(spec, answerIn(spec, body))
  const cost = usageOf(spec, body) ?? counted
  const usage = cost === null ? null : boundedUsage(cost)
  if (spec.texts !== null) return toCohere(spec.isBase64, spec.texts, vectors, usage)
  if (spec.client === 'completions') return toOpenai(spec, vectors, usage)
  const embeddings = vectors.map((values) => ({ values }))
  const metadata = usage === null ? {} : { usageMetadata: { promptTokenCount: usage.input } }
  const written = spec.isBatch ? { embeddings } : { embedding: embeddings[0] ?? { values: [] } }
  return { ...written, ...metadata }
}

function vectorsIn({ providerFormat, wire }: EmbeddingsAnswerSpec, answer: Fields): readonly (readonly Json[])[] {
  const own = embeddingWire(wire)
  if (own !== null) return own.vectors(answer).map((one) => (Array.isArray(one) ? (one as readonly Json[]) : []))
  if (providerFormat === 'gemini') return answer.objects('embeddings').map((one) => one.list('values'))
  return answer.objects('data').map(vectorOf)
}

/** Floats; some services pack them unasked. Throws FormatError. */
function vectorOf(one: Fields): readonly Json[] {
  const { embedding } = one.value
  if (!isString(embedding)) return one.list('embedding')
  const bytes = Buffer.from(embedding, 'base64')
  if (bytes.length % 4 !== 0) throw new FormatError(one.at('embedding'), 'must be floats of four bytes')
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4))
}

/** Clients expect `usage`: it is zero where the provider does not say. */
function toOpenai(
  { model, isBase64 }: EmbeddingsAnswerSpec,
  vectors: readonly (readonly Json[])[],
  usage: Usage | null
): JsonObject {
  const tokens = usage?.input ?? 0
  const data = vectors.map((values, index) => {
    return { object: 'embedding', index, embedding: isBase64 ? packed(values) : values }
  })
  return { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }
}

function toCohere(
  isBase64: boolean,
  texts: readonly string[],
  vectors: readonly (readonly Json[])[],
  usage: Usage | null
): JsonObject {
  const billed = usage === null ? {} : { billed_units: { input_tokens: usage.input } }
  const embeddings: JsonObject = isBase64 ? { base64: vectors.map(packed) } : { float: vectors }
  const meta = { api_version: { version: '2' }, ...billed }
  return { id: crypto.randomUUID(), embeddings, texts, meta, response_type: 'embeddings_by_type' }
}

const BATCH = ':batchEmbedContents'

/** Little-endian floats of 32 bits, as OpenAI's own clients unpack them. */
function packed(values: readonly Json[]): string {
  const bytes = Buffer.alloc(values.length * 4)
  for (let i = 0; i < values.length; i++) bytes.writeFloatLE(Number(values[i]), i * 4)
  return bytes.toString('base64')
}

function openaiUsage(answer: Fields): Usage | null {
  const usage = answer.optionalObject('usage')
  // Voyage has the total only, which is all input.
  return usageOfTokens(usage?.optionalNumber('prompt_tokens') ?? usage?.optionalNumber('total_tokens') ?? null)
}

function geminiUsage(answer: Fields): Usage | null {
  return usageOfTokens(answer.optionalObject('usageMetadata')?.optionalNumber('promptTokenCount') ?? null)
}
