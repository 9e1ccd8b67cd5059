/**
 * Embeddings as vendors ask for them that have neither OpenAI's words nor the Gemini API's. Sources: Amazon Bedrock,
 * "Amazon Titan Embeddings Text", "Cohere Embed"; Vertex AI, "Text embeddings API" and the reference of
 * publishers.models.embedContent; Voyage AI and Jina, "Embeddings"; Cohere, "Embed" v2; text-embeddings-inference,
 * openapi.json (/embed); IBM watsonx.ai, "Generate embeddings".
 */
import { type Json, type JsonObject, NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import { compact, Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { Wire } from '#backends/llm/providers/provider.ts'

/** What is wanted, in either client's format. */
export interface Wanted {
  readonly texts: readonly string[]
  readonly dimensions: number | null
  /** What the vectors are for, in Google's words; null: the client does not say. */
  readonly task: string | null
  /** Fields that only the client's own format has. */
  readonly unknown: readonly string[]
}

export interface EmbeddingWire {
  /** Of the path, instead of that of chat. */
  readonly end: string
  /** Where it does not stand beside chat: all of the path. */
  readonly path?: (besideChat: string) => string
  /** It knows what vectors are for. */
  readonly takesTask: boolean
  /** Throws FormatError. */
  write(wanted: Wanted, model: string): JsonObject
  /** Its answer may be a bare list, which is read under this name; absent: it is an object. */
  readonly listName?: string
  /** Throws FormatError. */
  vectors(answer: Fields): readonly Json[]
  /** Tokens of the input; null: it does not say. */
  tokens(answer: Fields): number | null
}

/** By Google's names. */
const COHERE_TASKS: { readonly [task: string]: string } = {
  RETRIEVAL_QUERY: 'search_query',
  RETRIEVAL_DOCUMENT: 'search_document',
  CLASSIFICATION: 'classification',
  CLUSTERING: 'clustering'
}

/** Of those who do not say: what is kept to be found. Throws FormatError. */
function cohereTask(task: string | null): string {
  const type = task === null ? 'search_document' : COHERE_TASKS[task]
  if (type === undefined) throw new FormatError('taskType', `must be one of ${Object.keys(COHERE_TASKS).join(', ')}`)
  return type
}

/** What clients of OpenAI's format add for services that have it (Cohere, Voyage, NVIDIA), in Google's words. */
const TASKS: ReadonlyMap<string, string> = new Map([
  ...Object.entries(COHERE_TASKS).map(([task, type]) => [type, task] as const),
  ['query', 'RETRIEVAL_QUERY'],
  ['document', 'RETRIEVAL_DOCUMENT'],
  ['passage', 'RETRIEVAL_DOCUMENT']
])

/** Throws FormatError. */
export function taskOf(type: string | null): string | null {
  if (type === null) return null
  const task = TASKS.get(type)
  if (task === undefined) throw new FormatError('input_type', `must be one of ${[...TASKS.keys()].join(', ')}`)
  return task
}

function single({ texts }: Wanted): string {
  if (texts.length === 1) return texts[0]!
  throw new FormatError('input', 'must be one text: this model takes one for each call')
}

const valuesIn = (one: Fields): Json => one.list('values')

const WIRES: { readonly [wire in Wire]?: EmbeddingWire } = {
  invokeText: {
    end: '/invoke',
    takesTask: false,
    // The first version of the model takes no more than the text.
    write: (wanted) => compact({ inputText: single(wanted), dimensions: wanted.dimensions }),
    vectors: (answer) => [answer.list('embedding')],
    tokens: (answer) => answer.optionalNumber('inputTextTokenCount')
  },
  invokeTexts: {
    end: '/invoke',
    takesTask: true,
    write: ({ texts, dimensions, task }) => {
      return compact({ texts, input_type: cohereTask(task), output_dimension: dimensions, embedding_types: ['float'] })
    },
    vectors: (answer) => {
      const { embeddings } = answer.value
      return isObject(embeddings) ? new Fields(embeddings, 'embeddings').list('float') : answer.list('embeddings')
    },
    tokens: () => null
  },
  embedV2: {
    end: '/embeddings',
    path: (path) => path.replace(/\/compatibility\/v1\/embeddings$/, '/v2/embed'),
    takesTask: true,
    write: ({ texts, dimensions, task }, model) =>
      compact({ model, texts, input_type: cohereTask(task), output_dimension: dimensions, embedding_types: ['float'] }),
    vectors: (answer) => answer.object('embeddings').list('float'),
    tokens: (answer) =>
      answer.optionalObject('meta')?.optionalObject('billed_units')?.optionalNumber('input_tokens') ?? null
  },
  // Other containers than that of text-embeddings-inference name the list.
  embedInputs: {
    end: '',
    takesTask: false,
    listName: 'embeddings',
    write: ({ texts, dimensions }) => compact({ inputs: texts, dimensions }),
    vectors: (answer) => answer.list(answer.value.embeddings === undefined ? 'embedding' : 'embeddings'),
    tokens: () => null
  },
  embedResults: {
    end: '/embeddings',
    takesTask: false,
    write: ({ texts, dimensions }, model) => {
      if (dimensions === null) return { model_id: model, inputs: texts }
      throw new FormatError('dimensions', 'cannot be said: vectors have the length that the model gives them')
    },
    vectors: (answer) => answer.objects('results').map((one) => one.list('embedding')),
    tokens: (answer) => answer.optionalNumber('input_token_count')
  },
  predict: {
    end: ':predict',
    takesTask: true,
    write: ({ texts, dimensions, task }) => ({
      instances: texts.map((content) => compact({ content, task_type: task })),
      ...(dimensions === null ? {} : { parameters: { outputDimensionality: dimensions } })
    }),
    vectors: (answer) => answer.objects('predictions').map((one) => valuesIn(one.object('embeddings'))),
    tokens: (answer) =>
      answer.objects('predictions').reduce((sum, one) => {
        const counted = one.object('embeddings').optionalObject('statistics')?.optionalNumber('token_count')
        return sum + (counted ?? 0)
      }, 0)
  },
  embedContent: {
    end: ':embedContent',
    takesTask: true,
    // Beside `content` these are deprecated.
    write: (wanted) => {
      const settings = compact({ taskType: wanted.task, outputDimensionality: wanted.dimensions })
      const content = { parts: [{ text: single(wanted) }] }
      return Object.keys(settings).length === 0 ? { content } : { content, embedContentConfig: settings }
    },
    vectors: (answer) => [valuesIn(answer.object('embedding'))],
    tokens: (answer) => answer.optionalObject('usageMetadata')?.optionalNumber('promptTokenCount') ?? null
  }
}

/** Null: the words are those of OpenAI or of the Gemini API. */
export const embeddingWire = (wire: Wire | null): EmbeddingWire | null => (wire === null ? null : (WIRES[wire] ?? null))

/** The name of `dimensions`, and whether a word for floats is known. */
const NAMES: { readonly [wire in Wire]?: readonly [dimensions: string, format: string, takesFloat: boolean] } = {
  outputDimension: ['output_dimension', 'encoding_format', false],
  embeddingType: ['dimensions', 'embedding_type', true]
}

/** A body in OpenAI's words as a service with other names for some of them reads it. */
export function inWordsOf(wire: Wire | null, body: JsonObject): JsonObject {
  const names = wire === null ? undefined : NAMES[wire]
  if (names === undefined) return body
  const [dimensionsName, formatName, takesFloat] = names
  const { dimensions = null, encoding_format: format = null, ...rest } = body
  return {
    ...rest,
    ...(dimensions === null ? {} : { [dimensionsName]: dimensions }),
    ...(format === null || (format === 'float' && !takesFloat) ? {} : { [formatName]: format })
  }
}

export const hasOtherNames = (wire: Wire | null): boolean => wire !== null && NAMES[wire] !== undefined

export const usageOfTokens = (tokens: number | null): Usage | null =>
  tokens === null ? null : { ...NO_USAGE, input: tokens }
