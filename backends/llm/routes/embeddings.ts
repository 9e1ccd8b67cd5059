/**
 * Embeddings, in OpenAI's words or Gemini's, at a provider of either.
 * Sources: OpenAI, "Create embeddings"; ai.google.dev, "Embeddings" (embedContent, batchEmbedContents).
 */
import type { FormatName, Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { modelOf } from '#backends/llm/edits/edit.ts'
import { compact, Fields, isObject } from '#backends/llm/fields.ts'
import { FormatError } from '#backends/llm/format.ts'
import { address, decoded, parseBody } from '#backends/llm/request.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { beside, NOT_COUNTED, type Operation, type Recipient, spokenOf, type Told } from './operation.ts'

const GEMINI_PATH = /\/models\/([^/:]+):(embedContent|batchEmbedContents)$/

/** The format in which a client that asks at `path` is told of errors. */
export function embeddingsClient(path: string): 'gemini' | 'completions' {
  return GEMINI_PATH.test(path) ? 'gemini' : 'completions'
}

/** What is wanted, whoever asks. */
interface Wanted {
  readonly texts: readonly string[]
  readonly dimensions: number | null
  /** Fields that only the client's own format has. */
  readonly rest: readonly string[]
}

export class Embeddings implements Operation {
  readonly client: 'gemini' | 'completions'
  readonly isStrict = true
  readonly operation = 'embeddings'
  readonly model: string
  readonly #bytes: Buffer
  readonly #body: JsonObject
  readonly #query: string
  /** Gemini: many texts, many answers. */
  readonly #isBatch: boolean
  #spoken: 'gemini' | 'completions' | 'responses' = 'completions'

  /** Throws FormatError. */
  constructor(bytes: Buffer, path: string, query: string) {
    this.#bytes = bytes
    this.#body = parseBody(bytes)
    this.#query = query
    const fromPath = GEMINI_PATH.exec(path)
    this.client = fromPath === null ? 'completions' : 'gemini'
    this.#isBatch = fromPath?.[2] === 'batchEmbedContents'
    this.model = fromPath === null ? modelOf(this.#body) : decoded(fromPath[1]!)
  }

  get spoken(): FormatName {
    return this.#spoken
  }

  get #isNative(): boolean {
    return (this.#spoken === 'gemini') === (this.client === 'gemini')
  }

  write(ex: Exchange, to: Recipient): readonly string[] {
    const model = to.model(this.model)
    this.#spoken = spokenOf(to, model, ['gemini', 'completions', 'responses'] as const, 'has no embeddings')
    // Its models of embeddings are asked by :predict.
    if (to.given.type === 'vertexai') throw new FormatError('', `${to.provider.name} has no embeddings here`)
    const isNative = this.#isNative
    const wanted = isNative ? null : this.#wanted()
    const body = wanted === null ? this.#native(model) : this.#converted(wanted, model)
    replaceRequestBody(ex, body === null ? this.#bytes : Buffer.from(JSON.stringify(body)))
    const end = this.#spoken !== 'gemini' ? '/embeddings' : isNative && !this.#isBatch ? ':embedContent' : BATCH
    const target = beside(to, this.#spoken, model, end)
    address(ex, to.provider, { target, query: isNative ? this.#query : '', isNative })
    return wanted?.rest ?? []
  }

  /** Null: the client's own bytes will do. */
  #native(model: string): JsonObject | null {
    if (model === this.model) return null
    if (this.client === 'completions') return { ...this.#body, model }
    // Each request of a batch says the model of the path again.
    const renamed = (one: Json): Json => (isObject(one) ? { ...one, model: `models/${model}` } : one)
    const { requests } = this.#body
    if (Array.isArray(requests)) return { ...this.#body, requests: requests.map(renamed) }
    return renamed(this.#body) as JsonObject
  }

  #converted({ texts, dimensions }: Wanted, model: string): JsonObject {
    if (this.#spoken !== 'gemini') {
      return compact({ model, input: texts, dimensions, encoding_format: 'float' })
    }
    const request = (text: string): JsonObject =>
      compact({ model: `models/${model}`, content: { parts: [{ text }] }, outputDimensionality: dimensions })
    return { requests: texts.map(request) }
  }

  #wanted(): Wanted {
    return this.client === 'completions' ? fromOpenai(this.#body) : fromGemini(this.#body, this.#isBatch)
  }

  readonly read = (body: Json): Told => {
    const answer = Fields.of(body, '')
    const usage = this.#spoken === 'gemini' ? geminiUsage(answer) : openaiUsage(answer)
    if (this.#isNative) return { body: null, usage }
    if (this.client === 'completions') return { body: this.#toOpenai(answer, usage), usage }
    const embeddings = answer.objects('data').map((one) => ({ values: one.list('embedding') }))
    const counted = usage === null ? {} : { usageMetadata: { promptTokenCount: usage.input } }
    const told = this.#isBatch ? { embeddings } : { embedding: embeddings[0] ?? { values: [] } }
    return { body: { ...told, ...counted }, usage }
  }

  /** Clients expect `usage`: it is zero where the provider does not say. */
  #toOpenai(answer: Fields, usage: Usage | null): JsonObject {
    const isBase64 = this.#body.encoding_format === 'base64'
    const tokens = usage?.input ?? 0
    const data = answer.objects('embeddings').map((one, index) => {
      const values = one.list('values')
      return { object: 'embedding', index, embedding: isBase64 ? packed(values) : values }
    })
    return { object: 'list', data, model: this.model, usage: { prompt_tokens: tokens, total_tokens: tokens } }
  }
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
  return { texts, dimensions, rest: restOf(fields) }
}

function fromGemini(body: JsonObject, isBatch: boolean): Wanted {
  const requests = isBatch ? new Fields(body, '').objects('requests') : [new Fields(body, '')]
  if (requests.length === 0) throw new FormatError('requests', 'is required')
  const rest: string[] = []
  const dimensions = new Set<number | null>()
  const texts = requests.map((request) => {
    const content = request.object('content')
    content.any('role')
    request.any('model')
    dimensions.add(request.optionalNumber('outputDimensionality'))
    const text = content.objects('parts').map((part) => {
      const said = part.string('text')
      rest.push(...restOf(part))
      return said
    })
    rest.push(...restOf(content), ...restOf(request))
    return text.join('')
  })
  if (dimensions.size > 1) {
    throw new FormatError('requests[1].outputDimensionality', 'must be the same in all requests for this provider')
  }
  return { texts, dimensions: [...dimensions][0]!, rest }
}

function restOf(fields: Fields): string[] {
  const rest = new Map<string, Json>()
  fields.leaveRest(rest)
  return [...rest.keys()]
}

function openaiUsage(answer: Fields): Usage | null {
  const tokens = answer.optionalObject('usage')?.optionalNumber('prompt_tokens') ?? null
  return tokens === null ? null : { ...NOT_COUNTED, input: tokens }
}

function geminiUsage(answer: Fields): Usage | null {
  const tokens = answer.optionalObject('usageMetadata')?.optionalNumber('promptTokenCount') ?? null
  return tokens === null ? null : { ...NOT_COUNTED, input: tokens }
}
