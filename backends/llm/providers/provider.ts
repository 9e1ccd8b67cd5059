/** What the gateway knows of an LLM provider: where it is, what it speaks, and how it wants to be shown a key. */
import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { DialectName } from './compatible.ts'

export interface Provider {
  /** As telemetry says it (OpenTelemetry GenAI conventions, gen_ai.provider.name). */
  readonly name: string
  readonly host: string
  /** Spoken there with `model`, the preferred first. */
  formats(model: string): readonly FormatName[]
  /** That chat is asked in, whatever the client speaks; absent: as `formats` prefers. */
  readonly chatFormat?: FormatName
  /** Path and query of the API for a format. `model` is not yet encoded. */
  target(format: FormatName, model: string, isStreamed: boolean): string
  /** Field that carries `key`. */
  keyField(key: string): KeyField
  /** Parameter of the query that carries a key as well. */
  readonly keyParameter?: string
  /** Further fields, flat: name, value, ... */
  readonly fields: readonly string[]
  /** Where its API is not quite the format's: the body as it wants it. Absent: as the format has it. */
  readonly adapt?: (format: FormatName, body: JsonObject) => JsonObject
  /** Where a model is spoken to in a dialect of chat completions (compatible.ts), whatever else is. */
  dialect?(model: string): DialectName | null
  /** Headers of a format that its API has in the body (request/header-members.ts); absent: none. */
  readonly headerMembers?: { readonly [format in FormatName]?: HeaderMember }
  /** Where counting tokens is not quite the format's. */
  readonly counting?: {
    /** Of the formats that it speaks, the one to count in; absent: as all providers do. */
    readonly format?: FormatName
    /** Ends of the path, instead of those of the format. */
    readonly ends: { readonly [format in FormatName]?: string }
    body(format: FormatName, model: string, body: JsonObject): JsonObject
  }
  /** Operations that it lacks although it speaks a format that has them, and what it `has`: part of the reply. */
  readonly lacks?: { readonly [operation in Operation]?: string }
  /** As `lacks`, of some models. */
  readonly lacksFor?: (operation: Operation, model: string) => string | undefined
  /** What an operation is asked in here, where that is not the API of the format. */
  readonly wire?: (operation: Operation, model: string) => Wire | undefined
  /** Its errors are its own, although it speaks the format of others: no client of that could read them. */
  readonly hasOwnErrors?: true
  /** What Signature Version 4 is made for, if the configuration names nothing else. */
  readonly signing?: { readonly region: string; readonly service: string }
  /** End of the path of its chat, where that is not the format's: other APIs stand beside it. */
  readonly chatEnd?: RegExp
  /** Members of requests in its own words for what is no chat: who pays. */
  readonly account?: JsonObject
  /** All that it is asked goes where chat goes. */
  readonly hasOnePath?: true
  /** A server of one's own may want another Authorization than a key: a user name and a password. */
  readonly takesPasswords?: true
}

/** A header with a list of words that goes into a member of the body. */
export interface HeaderMember {
  readonly header: string
  readonly member: string
  /** Words that the API takes, by the client's; the others are left out, and noted. */
  readonly words: ReadonlyMap<string, string>
  /** Other headers that say nothing there. */
  readonly without: readonly string[]
}

/** What is asked of providers beside chat (capabilities.ts). */
export type Operation =
  | 'count'
  | 'embeddings'
  | 'imageEdits'
  | 'imageGenerations'
  | 'imageVariations'
  | 'models'
  | 'moderations'
  | 'realtime'
  | 'rerank'
  | 'speech'
  | 'stored'
  | 'transcriptions'
  | 'translations'

/** Bodies of operations that several vendors have, each its own: routes/rerank.ts and routes/embeddings/ know them. */
export type Wire =
  /**
   * Cohere's second version of rerank; Jina's, which gives documents back unless told not to; Fireworks', whose answers
   * have `data` for `results`; Voyage's; of Bedrock's models, by InvokeModel; DeepInfra's; of
   * text-embeddings-inference; NVIDIA's; that of Vertex AI Search.
   */
  | 'rerankV2'
  | 'rerankEcho'
  | 'rerankData'
  | 'rerankTopK'
  | 'invokeRerank'
  | 'rerankScores'
  | 'rerankTexts'
  | 'rankPassages'
  | 'rankRecords'
  /** Embeddings of Bedrock's models by InvokeModel: Titan's, Cohere's. Of Vertex AI: `:predict`, `:embedContent`. */
  | 'invokeText'
  | 'invokeTexts'
  | 'predict'
  | 'embedContent'
  /** Cohere's second version of embed. */
  | 'embedV2'
  /** Those of text-embeddings-inference; of watsonx.ai, and its rerank. */
  | 'embedInputs'
  | 'embedResults'
  | 'rerankInputs'
  /** Speech by generateContent, and pictures; Mistral's speech. */
  | 'speakContent'
  | 'drawContent'
  | 'voiceId'
  /** OpenAI's embeddings with other names: Voyage's, Jina's. */
  | 'outputDimension'
  | 'embeddingType'

/** All that carry keys of any provider: a client's own goes to the field that its provider reads. */
export const KEY_FIELDS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'] as const
export type KeyField = (typeof KEY_FIELDS)[number]

/** A JSON Web Token (RFC 7519), as identity providers give them out: no key of a provider looks like one. */
export function isJwt(key: string): boolean {
  return key.startsWith('eyJ') && key.split('.', 4).length === 3
}

/**
 * One path segment, percent-encoded (RFC 3986): all but unreserved characters, as AWS signs it. Throws a FormatError
 * for the segments that mean another place (section 5.2.4), which are the same when they are encoded.
 */
export function segment(text: string): string {
  if (text === '.' || text === '..') throw new FormatError('model', `must be the name of a model, not "${text}"`)
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  )
}
