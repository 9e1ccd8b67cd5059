/** How the answer to an operation other than chat is read. Plain data. */

/** Whose list a client expects, by the format of its errors. */
export type ListClient = 'completions' | 'messages' | 'gemini'

/** Formats with an API that counts tokens. */
export type CountingFormat = 'messages' | 'gemini' | 'responses' | 'converse'

export type AnswerSpec = CountAnswerSpec | EmbeddingsAnswerSpec | ModelsAnswerSpec

/** How the answer to a count is read. */
export interface CountAnswerSpec {
  readonly of: 'count'
  readonly client: 'messages' | 'gemini'
  readonly providerFormat: CountingFormat
}

/** How an answer with embeddings is read. */
export interface EmbeddingsAnswerSpec {
  readonly of: 'embeddings'
  readonly client: 'gemini' | 'completions'
  readonly providerFormat: 'gemini' | 'completions' | 'responses'
  /** By the client's name. */
  readonly model: string
  /** Gemini: many texts, many answers. */
  readonly isBatch: boolean
  /** OpenAI: floats are packed. */
  readonly isBase64: boolean
}

/** How the provider's own list is read. */
export interface ModelsAnswerSpec {
  readonly of: 'models'
  readonly client: ListClient
  readonly providerFormat: ListClient | 'responses'
  /** One model was asked for. */
  readonly isOne: boolean
  /** The provider's name. */
  readonly owner: string
}
