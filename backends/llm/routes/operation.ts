/** Requests that are no chat: what a provider is sent for one, and what the client gets of its answer. */
import type { FormatName, Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/format.ts'
import type { Provider } from '#backends/llm/providers/index.ts'
import { prefixed } from '#backends/llm/request.ts'
import type { ResponseTap } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { AiProvider } from '#engine/ir/snapshot.ts'

/** The provider that is asked. */
export interface Recipient {
  readonly given: AiProvider
  readonly provider: Provider
  /** Its name for a client's model; throws FormatError when there is none. */
  model(name: string): string
}

/** What is told instead of the provider's answer, where that is not the client's format; and what it has cost. */
export interface Told {
  /** Null: the answer as it came. */
  readonly body: JsonObject | null
  readonly usage: Usage | null
}

/** Of one exchange, for all its attempts. */
export interface Operation {
  /** In which the client is told of errors. */
  readonly client: FormatName
  /** What the provider of the last write() words its errors in. */
  readonly spoken: FormatName
  /** A request with a field that the provider cannot be told is refused. */
  readonly isStrict: boolean
  /** By the client's name, "" when it names none. */
  readonly model: string
  /** gen_ai.operation.name, where the conventions have one. */
  readonly operation?: string
  /** Makes ex the request for `to`. Returns the fields that it cannot be told; throws FormatError. */
  write(ex: Exchange, to: Recipient): readonly string[]
  /** Of an upgraded connection: hears what the provider sends over it, without changing it. */
  readonly listen?: (ex: Exchange) => ResponseTap
  /** Of a whole answer of success; null: it is not looked at. Throws when it cannot be read. */
  readonly read: ((body: Json) => Told) | null
}

export const NOT_COUNTED: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  output: 0,
  reasoning: 0,
  outputAudio: 0
}

/** Ends of the paths of chat: another API of the same server stands beside them. */
const CHAT_ENDS: Partial<Record<FormatName, RegExp>> = {
  completions: /\/chat\/completions(?=$|\?)/,
  responses: /\/responses(?=$|\?)/,
  // The second is that of Vertex AI.
  messages: /\/messages(?=$|\?)|\/[^/:]+:rawPredict(?=$|\?)/,
  gemini: /:generateContent(?=$|\?)/,
  converse: /\/converse(?=$|\?)/
}

/**
 * Where the API with `end` is, for a provider whose chat of `format` is known. Throws FormatError when it is not
 * beside that.
 */
export function beside({ given, provider }: Recipient, format: FormatName, model: string, end: string): string {
  const chat = given.path ?? prefixed(provider.target(format, model, false), given.pathPrefix)
  const pattern = CHAT_ENDS[format]!
  if (pattern.test(chat)) return chat.replace(pattern, () => end)
  // A path that is given and is none of chat is meant for whatever comes.
  if (given.path !== null) return chat
  throw new FormatError('', `${provider.name} has no such API`)
}

/** The first of `formats` that the provider speaks with `model`; throws FormatError with `why`. */
export function spokenOf<T extends FormatName>(
  { provider }: Recipient,
  model: string,
  formats: readonly T[],
  why: string
): T {
  const spoken = provider.formats(model)
  const format = formats.find((one) => spoken.includes(one))
  if (format === undefined) throw new FormatError('', `${provider.name} ${why}`)
  return format
}
