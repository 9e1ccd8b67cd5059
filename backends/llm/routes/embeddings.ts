/**
 * Embeddings, in OpenAI's words or Gemini's, at a provider of either.
 * Sources: OpenAI, "Create embeddings"; ai.google.dev, "Embeddings" (embedContent, batchEmbedContents).
 */
import { operationFormat } from '#backends/llm/capabilities.ts'
import type { Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { compact, Fields, isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { HINT, RECORD } from '#backends/llm/formats/tolerated.ts'
import { lossPath } from '#backends/llm/formats/unknown-fields.ts'
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
  type OperationPlan,
  type OperationSource,
  type ReadOperation
} from './operation.ts'

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
  /** OpenAI: floats are packed. */
  readonly isBase64: boolean
}

const METHODS = ['embedContent', 'batchEmbedContents']

/** Null: it is not Gemini's. */
function inPath(path: string): ModelPath | null {
  const found = modelPathOf(path)
  return found !== null && METHODS.includes(found.method) ? found : null
}

export const embeddings: BodyOperationKind<EmbeddingsAnswerSpec> = {
  type: 'Embeddings',
  pathEnds: ['/embeddings', ':embedContent', ':batchEmbedContents'],
  isStrict: true,
  name: 'embeddings',
  client: ({ path }) => (inPath(path) === null ? 'completions' : 'gemini'),
  guarded: (client) =>
    client === 'gemini'
      ? requestReach(['content', 'title', 'requests'], [])
      : requestReach(['input', 'messages', 'inputs'], []),
  tolerated: { user: RECORD, title: HINT, 'requests[].title': HINT, autoTruncate: HINT },
  read: (source) => new Embeddings(source),
  costIn: (spec, body) => {
    const model = isObject(body) && isString(body.model) ? body.model : null
    return { usage: usageOf(spec, body), model }
  },
  answer: embeddingsAnswer
}

/** `converse`: a wire of its own says the rest. */
type ProviderFormat = 'gemini' | 'completions' | 'responses' | 'converse'

class Embeddings implements ReadOperation {
  readonly client: 'gemini' | 'completions'
  /** By the client's name, "" when it names none. */
  readonly model: string
  readonly #body: JsonObject
  readonly #isBatch: boolean

  /** Throws FormatError. */
  constructor({ bytes, path }: OperationSource) {
    this.#body = parseBody(bytes)
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
    const isNative = own === null && (providerFormat === 'gemini') === (client === 'gemini')
    const wanted = isNative ? null : this.#wanted(own?.takesTask === true)
    const body = wanted === null ? this.#native(model, wire) : converted(wanted, providerFormat, own, wire, model)
    const answerSpec = {
      of: 'Embeddings',
      client,
      providerFormat,
      wire,
      model: this.model,
      isBatch: this.#isBatch,
      isBase64: this.#body.encoding_format === 'base64'
    } as const
    return {
      body,
      model: this.model === '' ? null : model,
      providerFormat,
      isNative,
      target: besideChat(to, providerFormat, model, own?.end ?? this.#end(providerFormat, isNative)),
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
    if (this.client === 'completions') return embeddingSettings(format, dimensions)
    const { requests } = this.#body
    const first = this.#isBatch && Array.isArray(requests) ? (requests as readonly Json[])[0] : this.#body
    return embeddingSettings(undefined, isObject(first) ? first.outputDimensionality : undefined)
  }

  #wanted(takesTask: boolean): Wanted {
    return this.client === 'completions' ? fromOpenai(this.#body) : fromGemini(this.#body, this.#isBatch, takesTask)
  }
}

function converted(
  wanted: Wanted,
  format: ProviderFormat,
  own: EmbeddingWire | null,
  wire: Wire | null,
  model: string
): JsonObject {
  if (own !== null) return own.write(wanted, model)
  const { texts, dimensions } = wanted
  if (format !== 'gemini') {
    return inWordsOf(wire, compact({ model, input: texts, dimensions, encoding_format: 'float' }))
  }
  const request = (text: string): JsonObject =>
    compact({ model: `models/${model}`, content: { parts: [{ text }] }, outputDimensionality: dimensions })
  return { requests: texts.map(request) }
}

/** Throws FormatError. */
function usageOf({ providerFormat, wire }: EmbeddingsAnswerSpec, body: Json): Usage | null {
  const answer = Fields.of(body, '')
  const own = embeddingWire(wire)
  if (own !== null) return usageOfTokens(own.tokens(answer))
  return providerFormat === 'gemini' ? geminiUsage(answer) : openaiUsage(answer)
}

/** For a client of another format. Throws FormatError. */
function embeddingsAnswer(spec: EmbeddingsAnswerSpec, body: Json, counted: Usage | null): JsonObject {
  const vectors = vectorsIn(spec, Fields.of(body, ''))
  const cost = usageOf(spec, body) ?? counted
  const usage = cost === null ? null : boundedUsage(cost)
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
  return answer.objects('data').map((one) => one.list('embedding'))
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

const BATCH = ':batchEmbedContents'

/** Little-endian floats of 32 bits, as OpenAI's own clients unpack them. */
function packed(values: readonly Json[]): string {
  const bytes = Buffer.alloc(values.length * 4)
  for (let i = 0; i < values.length; i++) bytes.writeFloatLE(Number(values[i]), i * 4)
  return bytes.toString('base64')
}

function fromOpenai(body: JsonObject): Wanted {
  const fields = new Fields(body, '')
  const input = fields.any('input')
  const texts = typeof input === 'string' ? [input] : input
  if (!Array.isArray(texts) || texts.length === 0) throw new FormatError('input', 'is required')
  const isText = texts.every((text): text is string => typeof text === 'string')
  if (!isText) throw new FormatError('input', 'tokens cannot be carried to this provider: send text')
  const dimensions = fields.optionalNumber('dimensions')
  fields.optionalWord('encoding_format', ['float', 'base64'])
  fields.any('model')
  return { texts, dimensions, task: null, unknown: unknownIn(fields) }
}

function fromGemini(body: JsonObject, isBatch: boolean, takesTask: boolean): Wanted {
  const requests = isBatch ? new Fields(body, '').objects('requests') : [new Fields(body, '')]
  if (requests.length === 0) throw new FormatError('requests', 'is required')
  const unknown: string[] = []
  const dimensions = new Set<number | null>()
  const tasks = new Set<string | null>()
  const texts = requests.map((request) => {
    const content = request.object('content')
    content.any('role')
    request.any('model')
    dimensions.add(request.optionalNumber('outputDimensionality'))
    if (takesTask) tasks.add(request.optionalString('taskType'))
    const text = content.objects('parts').map((part) => {
      const piece = part.string('text')
      unknown.push(...unknownIn(part))
      return piece
    })
    unknown.push(...unknownIn(content), ...unknownIn(request))
    return text.join('')
  })
  if (dimensions.size > 1) {
    throw new FormatError('requests[1].outputDimensionality', 'must be the same in all requests for this provider')
  }
  if (tasks.size > 1)
    throw new FormatError('requests[1].taskType', 'must be the same in all requests for this provider')
  return { texts, dimensions: [...dimensions][0]!, task: [...tasks][0] ?? null, unknown }
}

function unknownIn(fields: Fields): string[] {
  const unknown = new Map<string, Json>()
  fields.leaveUnknown(unknown)
  return [...unknown.keys()].map(lossPath)
}

function openaiUsage(answer: Fields): Usage | null {
  const usage = answer.optionalObject('usage')
  // Voyage has the total only, which is all input.
  return usageOfTokens(usage?.optionalNumber('prompt_tokens') ?? usage?.optionalNumber('total_tokens') ?? null)
}

function geminiUsage(answer: Fields): Usage | null {
  return usageOfTokens(answer.optionalObject('usageMetadata')?.optionalNumber('promptTokenCount') ?? null)
}
