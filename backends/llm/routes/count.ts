/**
 * Counting the tokens of a request, by its provider: nothing is estimated here.
 * Sources: Anthropic, "Count tokens in a Message"; ai.google.dev, "Counting tokens"; OpenAI, "Get input token counts"
 * (responses); Amazon Bedrock, "CountTokens"; Google Cloud, "Count tokens for Claude models".
 */

import { operationFormat } from '#backends/llm/capabilities.ts'
import type { AiPrompt } from '#backends/llm/config/snapshot.ts'
import type { Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { enrich } from '#backends/llm/edits/prompt-messages.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { modelOf, parseBody } from '#backends/llm/request/json-body.ts'
import { decodedName, modelPathOf } from '#backends/llm/request/model-path.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import { rewritten } from '#backends/llm/translate/rewrites.ts'
import type { Reach } from '#engine/kit/scan/body.ts'
import type { AnswerSpec } from './answer-spec.ts'
import {
  type BodyOperationKind,
  besideChat,
  type OperationPlan,
  type OperationSource,
  type ReadOperation
} from './operation.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    AnthropicTokenCount: 'body'
    GeminiTokenCount: 'body'
  }
}

/** Formats with an API that counts tokens. */
type CountingFormat = 'messages' | 'gemini' | 'responses' | 'converse'

/** How the answer to a count is read. */
interface CountAnswerSpec extends AnswerSpec {
  readonly client: 'messages' | 'gemini'
  readonly providerFormat: CountingFormat
}

/** Not strict: what a provider cannot be told counts for nothing there. A count costs nothing. */
const COMMON = { isStrict: false, name: null, tolerated: {}, answer: countAnswer } as const

export const anthropicCount: BodyOperationKind<CountAnswerSpec> = {
  ...COMMON,
  type: 'AnthropicTokenCount',
  pathEnds: ['/messages/count_tokens'],
  client: () => 'messages',
  refers: true,
  guarded: () => FORMATS.messages.requestTexts,
  read: (source) => new Count('messages', source)
}

export const geminiCount: BodyOperationKind<CountAnswerSpec> = {
  ...COMMON,
  type: 'GeminiTokenCount',
  pathEnds: [':countTokens'],
  client: () => 'gemini',
  refers: true,
  guarded: () => below(FORMATS.gemini.requestTexts, ['generateContentRequest', 'generate_content_request']),
  read: (source) => new Count('gemini', source)
}

/** The same there, and below the fields `names`. */
function below({ texts, declared, hasNames, isRequest }: Reach, names: readonly string[]): Reach {
  const both = (paths: readonly string[]) =>
    ['', ...names.map((name) => `${name}.`)].flatMap((at) => paths.map((path) => at + path))
  return { texts: both(texts), declared: both(declared), hasNames, isRequest }
}

const OF = { messages: 'AnthropicTokenCount', gemini: 'GeminiTokenCount' } as const
const COUNT_METHOD = 'countTokens'

/** How each counts: where, and in which field of the answer. */
const ENDS = {
  messages: '/messages/count_tokens',
  gemini: ':countTokens',
  responses: '/responses/input_tokens',
  converse: '/count-tokens'
} as const
const TOTALS = {
  messages: 'input_tokens',
  gemini: 'totalTokens',
  responses: 'input_tokens',
  converse: 'inputTokens'
} as const

/** Fields of a request that a count takes; whatever else a chat request has, has no tokens. */
const COUNTED = {
  messages: ['messages', 'model', 'output_config', 'system', 'thinking', 'tool_choice', 'tools'],
  gemini: ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig'],
  responses: ['input', 'instructions', 'model', 'parallel_tool_calls', 'reasoning', 'text', 'tool_choice', 'tools'],
  converse: ['messages', 'system', 'toolConfig']
} as const

class Count implements ReadOperation {
  readonly client: 'messages' | 'gemini'
  /** By the client's name, "" when it names none. */
  readonly model: string
  readonly #body: JsonObject

  /** Throws FormatError. */
  constructor(client: 'messages' | 'gemini', { bytes, path }: OperationSource) {
    this.client = client
    this.#body = parseBody(bytes)
    const named = client === 'gemini' ? modelPathOf(path) : null
    const fromPath = named?.method === COUNT_METHOD ? named : null
    if (client === 'gemini' && fromPath === null) {
      throw new FormatError('', 'the path must end with /models/MODEL:countTokens')
    }
    this.model = fromPath === null ? modelOf(this.#body) : decodedName(fromPath.name)
  }

  plan(to: ResolvedProvider): OperationPlan {
    const { client } = this
    const model = providerModel(this.model, to.settings.model, to.aliases)
    const providerFormat = operationFormat('count', to, model, to.provider.counting?.format)
    const isNative = providerFormat === client
    const losses = new Losses()
    const { prompt } = to.settings.edits
    const counted = isNative ? this.#native(model, prompt) : this.#converted(providerFormat, model, prompt, losses)
    const { counting } = to.provider
    const body = counting === undefined ? counted : counting.body(providerFormat, model, counted ?? this.#body)
    const target = besideChat(to, providerFormat, model, counting?.ends[providerFormat] ?? ENDS[providerFormat])
    const answerSpec = isNative ? null : { of: OF[client], client, providerFormat }
    return {
      body,
      model: this.model === '' ? null : model,
      providerFormat,
      isNative,
      target,
      lost: losses.fields,
      answerSpec
    }
  }

  /** Null: the client's own bytes will do. */
  #native(model: string, prompt: AiPrompt | null): JsonObject | null {
    const body = prompt === null ? this.#body : this.#enriched(prompt)
    if (this.client === 'messages') return body === this.#body && model === this.model ? null : { ...body, model }
    const { generateContentRequest: inner } = body
    // The path has the model, and so has the request in the body, where there is one.
    const renames = isObject(inner) && model !== this.model
    if (renames) return { ...body, generateContentRequest: { ...inner, model: `models/${model}` } }
    return body === this.#body ? null : body
  }

  #enriched(prompt: AiPrompt): JsonObject {
    const { generateContentRequest: inner } = this.#body
    if (this.client === 'gemini' && isObject(inner)) {
      return { ...this.#body, generateContentRequest: enrich('gemini', 'gemini', inner, prompt) }
    }
    const body = enrich(this.client, this.client, this.#body, prompt)
    // Beside `contents` there is no place for instructions.
    if (this.client === 'messages' || body.systemInstruction === undefined) return body
    return { generateContentRequest: { model: `models/${this.model}`, ...body } }
  }

  #converted(format: CountingFormat, model: string, prompt: AiPrompt | null, losses: Losses): JsonObject {
    const conversation = this.#conversation(prompt)
    const written = FORMATS[format].writeRequest(rewritten({ ...conversation, model }, format, losses), losses)
    const entries = COUNTED[format].flatMap((name) => (written[name] === undefined ? [] : [[name, written[name]]]))
    const counted = Object.fromEntries(entries) as JsonObject
    if (format === 'gemini') return { generateContentRequest: { model: `models/${model}`, ...counted } }
    return format === 'converse' ? { input: { converse: counted } } : counted
  }

  #conversation(prompt: AiPrompt | null): Conversation {
    const body = prompt === null ? this.#body : this.#enriched(prompt)
    const { generateContentRequest: inner } = body
    const request = this.client === 'gemini' && isObject(inner) ? without(inner, 'model') : body
    // A chat must say how much it wants; a count need not.
    const whole = this.client === 'messages' ? { max_tokens: 1, ...request } : request
    const conversation = FORMATS[this.client].readRequest(whole, { model: this.model, isStreamed: false })
    return { ...conversation, sampling: { ...conversation.sampling, maxTokens: null } }
  }
}

/** For a client of another format. Throws FormatError. */
function countAnswer({ client, providerFormat }: CountAnswerSpec, body: Json): JsonObject {
  const total = Fields.of(body, '').optionalNumber(TOTALS[providerFormat])
  if (total === null) throw new FormatError(TOTALS[providerFormat], 'is missing')
  // 1e999 is JSON, and what is read of it is not.
  if (!Number.isSafeInteger(total) || total < 0)
    throw new FormatError(TOTALS[providerFormat], 'must be a number of tokens')
  return client === 'messages' ? { input_tokens: total } : { totalTokens: total }
}

function without(body: JsonObject, field: string): JsonObject {
  const { [field]: _, ...rest } = body
  return rest
}
