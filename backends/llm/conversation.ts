/**
 * What a chat request asks and what its answer says, whatever wire format they came in. Every format
 * (formats/) reads into this and writes from it, so that n formats need 2n translations and not n². It is the
 * union of what the formats can say: what a target cannot say, its writer reports (format.ts, Losses).
 *
 * Text is JavaScript strings, binary data base64 text as all formats carry it, tool arguments JSON text as the
 * model wrote it: parsed and printed again, numbers and key order would change.
 */

import type { Picos } from '#engine/kit/money.ts'
import type { ClientPaths } from './formats/paths.ts'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/**
 * Formats with their route types, null where no client speaks the format. The one that routes have by default is here;
 * the folder of each other adds its own (formats/<format>/index.ts).
 */
export interface FormatRoutes {
  completions: 'Completions'
}

export type FormatName = keyof FormatRoutes
/** Formats that clients speak. */
export type ClientFormat = { [N in FormatName]: FormatRoutes[N] extends null ? never : N }[FormatName]
export type ChatRouteType = FormatRoutes[ClientFormat]

// --- request ---

export interface Conversation {
  readonly model: string
  readonly isStreamed: boolean
  /** Instructions ahead of the conversation. */
  readonly system: readonly TextPart[]
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | null
  readonly sampling: Sampling
  /** Null: plain text. */
  readonly output: OutputShape | null
  /** Null: the provider's default. */
  readonly thinking: Thinking | null
  readonly serviceTier: string | null
  /** The end user, as the caller names it: `user`, `metadata.user_id`, `safety_identifier`. */
  readonly user: string | null
  readonly metadata: { readonly [key: string]: string } | null
  /** Fields that have no place here, by their path ("messages[0].name"). Their own format writes them back. */
  readonly origin: RequestOrigin
}

/** Fields of one format that no other has, by their path. */
export interface Origin<F extends FormatName = FormatName> {
  readonly format: F
  readonly unknownFields: ReadonlyMap<string, Json>
  /**
   * Which of several ways of its format said what stands elsewhere (a string for a list of one part), by path. Only
   * its own format reads it, to write the same again: for others nothing is lost.
   */
  readonly wording?: ReadonlyMap<string, Json>
}

export interface RequestOrigin<F extends ClientFormat = ClientFormat> extends Origin<F> {
  /** Where that format has what a conversation says. */
  readonly paths: ClientPaths
}

export interface Turn {
  /** `system`: instructions in the middle of a conversation (OpenAI's system and developer messages). */
  readonly role: 'user' | 'assistant' | 'system'
  readonly parts: readonly Part[]
}

export type Part = TextPart | MediaPart | ToolCallPart | ToolResultPart | ThinkingPart | RefusalPart | OpaquePart

export interface TextPart {
  readonly kind: 'text'
  readonly text: string
  readonly cache: CacheMark | null
}

/** Everything up to and with the part that bears it may be cached by the provider. */
export interface CacheMark {
  readonly ttl: '5m' | '1h' | null
}

export interface MediaPart {
  readonly kind: 'image' | 'document' | 'audio' | 'video'
  readonly source: MediaSource
  /** "image/png"; null when only the provider can know (a URL, a file id). */
  readonly mediaType: string | null
  /** Of documents. */
  readonly name: string | null
  /** OpenAI's resolution hint: low, high, auto. */
  readonly detail: string | null
  readonly cache: CacheMark | null
}

export type MediaSource =
  | { readonly kind: 'base64'; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  /** A file that was uploaded to the provider. */
  | { readonly kind: 'file'; readonly id: string }
  /** A document that is text. */
  | { readonly kind: 'text'; readonly text: string }

export interface ToolCallPart {
  readonly kind: 'toolCall'
  readonly id: string
  readonly name: string
  /** JSON text as the model wrote it; "{}" when it gave none. */
  readonly arguments: string
  /** A provider's seal on the thoughts that led to the call (Gemini's thoughtSignature). */
  readonly signature: Signature | null
  readonly cache: CacheMark | null
}

export interface ToolResultPart {
  readonly kind: 'toolResult'
  readonly callId: string
  /** Of the tool, where the format says it; writers that need it find it by callId. */
  readonly name: string | null
  readonly content: readonly (TextPart | MediaPart)[]
  readonly isError: boolean
  readonly cache: CacheMark | null
}

export interface ThinkingPart {
  readonly kind: 'thinking'
  /** What may be shown; empty when the provider shows nothing. */
  readonly text: string
  /** Null: nothing to give back. */
  readonly signature: Signature | null
  /** The thoughts are only in the signature (Anthropic's redacted_thinking, Converse's redactedContent). */
  readonly isRedacted: boolean
}

/**
 * What a provider wants back unchanged in the next turn. A client's format that has a place for it carries it as
 * it is when it is of that format, and sealed by signature.ts when it is another's.
 */
export interface Signature {
  readonly format: FormatName
  readonly data: string
}

export interface RefusalPart {
  readonly kind: 'refusal'
  readonly text: string
}

/** A part that only its own format knows (server tools, citations, code execution). */
export interface OpaquePart {
  readonly kind: 'opaque'
  readonly format: FormatName
  readonly value: JsonObject
}

export interface Tool {
  readonly name: string
  readonly description: string | null
  /** JSON Schema of the arguments. */
  readonly schema: JsonObject
  readonly strict: boolean | null
  readonly cache: CacheMark | null
  /** A tool that the provider runs (web search, computer use): only its own format can say it. Null: a function. */
  readonly native: OpaquePart | null
}

export interface ToolChoice {
  /** `any`: some tool must be called. */
  readonly kind: 'auto' | 'none' | 'any' | 'tool'
  /** With kind `tool`. */
  readonly name: string | null
  /** Several calls in one turn; null: the provider's default. */
  readonly parallel: boolean | null
}

/** Null: the provider's default. */
export interface Sampling {
  readonly maxTokens: number | null
  readonly temperature: number | null
  readonly topP: number | null
  readonly topK: number | null
  readonly stop: readonly string[]
  readonly seed: number | null
  readonly frequencyPenalty: number | null
  readonly presencePenalty: number | null
  /** Answers wanted. */
  readonly count: number | null
  /** Alternatives per token; 0: only the log probability of the chosen one. */
  readonly topLogprobs: number | null
}

export const NO_SAMPLING: Sampling = {
  maxTokens: null,
  temperature: null,
  topP: null,
  topK: null,
  stop: [],
  seed: null,
  frequencyPenalty: null,
  presencePenalty: null,
  count: null,
  topLogprobs: null
}

export type OutputShape =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly name: string | null
      readonly description: string | null
      readonly schema: JsonObject
      readonly strict: boolean | null
    }

export interface Thinking {
  /** `adaptive`: the model decides; `off`: none wanted. */
  readonly mode: 'on' | 'off' | 'adaptive'
  /** minimal, low, medium, high, xhigh, max; null: not said. effort.ts translates to budgets and back. */
  readonly effort: string | null
  readonly budgetTokens: number | null
  /** The caller wants to read thoughts or their summary; null: the provider's default. */
  readonly isShown: boolean | null
}

// --- answer ---

export interface Answer {
  readonly id: string
  readonly model: string
  /** Seconds since 1970; 0 when the format does not say. */
  readonly created: number
  readonly choices: readonly Choice[]
  readonly usage: Usage | null
  readonly serviceTier: string | null
  readonly origin: Origin
}

export interface Choice {
  readonly parts: readonly Part[]
  readonly stop: StopReason
  /** The one of the caller's stop sequences that ended it. */
  readonly stopSequence: string | null
  /** OpenAI's shape: one entry per token. */
  readonly logprobs: Json | null
}

/** `tools`: the caller is to run them. `pause`: the provider wants the turn sent again (Anthropic's pause_turn). */
export type StopReason =
  | 'end'
  | 'length'
  | 'stopSequence'
  | 'tools'
  | 'filter'
  | 'refusal'
  | 'pause'
  | 'contextWindow'
  | 'error'

/** Tokens. Parts of input add up to it, and so do parts of output: nothing is counted twice. */
export interface Usage {
  /** All input, with what was read from and written to caches. */
  readonly input: number
  readonly cacheRead: number
  /** Parts of cacheRead that were audio and images; absent: none, as far as is known. */
  readonly cacheReadAudio?: number
  readonly cacheReadImage?: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
  /** Not cached. */
  readonly inputAudio: number
  readonly inputImage: number
  /** All output, with reasoning. */
  readonly output: number
  readonly reasoning: number
  readonly outputAudio: number
  readonly outputImage: number
  /** Searches of the provider's own tools, which it asks money for; absent: it tells none. */
  readonly searches?: number
  /** The provider's own figure (usage/reported-cost.ts). */
  readonly reportedCost?: Picos
}

export const NO_USAGE: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  output: 0,
  reasoning: 0,
  outputAudio: 0,
  outputImage: 0
}

// --- stream ---

/**
 * What a streamed answer says, in order: start, then parts (begin, delta..., end; parts of one choice do not
 * overlap), one stop per choice, usage where the provider tells it, done. An error may take the place of anything
 * after start, and ends the stream.
 */
export type ChatEvent =
  | {
      readonly kind: 'start'
      readonly id: string
      readonly model: string
      readonly created: number
      readonly usage: Usage | null
    }
  /** `part` without its content: text, thinking, refusal and arguments come as deltas. Other parts come complete. */
  | { readonly kind: 'begin'; readonly choice: number; readonly part: Part }
  /** Of the open part: text, thoughts, arguments or refusal. */
  | { readonly kind: 'delta'; readonly choice: number; readonly text: string; readonly logprobs: Json | null }
  /** Of the open thinking or toolCall part. */
  | { readonly kind: 'signature'; readonly choice: number; readonly signature: Signature }
  | { readonly kind: 'end'; readonly choice: number }
  | { readonly kind: 'stop'; readonly choice: number; readonly stop: StopReason; readonly stopSequence: string | null }
  /** Later ones replace earlier ones. */
  | { readonly kind: 'usage'; readonly usage: Usage; readonly serviceTier: string | null }
  | { readonly kind: 'error'; readonly error: ChatError }
  /** The provider said that the stream is complete. */
  | { readonly kind: 'done' }

/** What went wrong at the provider, or here. */
export interface ChatError {
  /** HTTP status. */
  readonly status: number
  /** By meaning; each format has its own word for it. */
  readonly type: ErrorType
  readonly message: string
  /** The provider's own code, where it gave one ("context_length_exceeded"). */
  readonly code: string | null
  /** The field that is wrong, where it is one. */
  readonly param: string | null
}

export type ErrorType =
  | 'invalidRequest'
  | 'authentication'
  | 'permission'
  | 'notFound'
  | 'tooLarge'
  | 'rateLimit'
  | 'quota'
  | 'overloaded'
  | 'timeout'
  | 'filter'
  | 'internal'
