/**
 * Counting the tokens of a request, by whoever will serve it: nothing is estimated here.
 * Sources: Anthropic, "Count tokens in a Message"; ai.google.dev, "Counting tokens"; OpenAI, "Get input token counts"
 * (responses); Amazon Bedrock, "CountTokens"; Google Cloud, "Count tokens for Claude models".
 */
import type { Conversation, FormatName, Json, JsonObject } from '#backends/llm/conversation.ts'
import { modelOf } from '#backends/llm/edits/edit.ts'
import { enrich } from '#backends/llm/edits/prompt.ts'
import { Fields, isObject } from '#backends/llm/fields.ts'
import { FormatError, Losses } from '#backends/llm/format.ts'
import { FORMATS } from '#backends/llm/matrix.ts'
import { CLAUDE_COUNT, claudeCount } from '#backends/llm/providers/vertexai.ts'
import { address, decoded, parseBody } from '#backends/llm/request.ts'
import { replaceRequestBody } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { AiPrompt } from '#engine/ir/snapshot.ts'
import { beside, type Operation, type Recipient, spokenOf, type Told } from './operation.ts'

const GEMINI_PATH = /\/models\/([^/:]+):countTokens$/
const COUNTING = ['messages', 'gemini', 'responses', 'converse'] as const
type Counting = (typeof COUNTING)[number]

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

export class Count implements Operation {
  readonly client: 'messages' | 'gemini'
  readonly isStrict = false
  readonly model: string
  readonly #bytes: Buffer
  readonly #body: JsonObject
  readonly #query: string
  #spoken: Counting = 'messages'

  /** Throws FormatError. */
  constructor(client: 'messages' | 'gemini', bytes: Buffer, path: string, query: string) {
    this.client = client
    this.#bytes = bytes
    this.#body = parseBody(bytes)
    this.#query = query
    const fromPath = client === 'gemini' ? GEMINI_PATH.exec(path) : null
    if (client === 'gemini' && fromPath === null) {
      throw new FormatError('', 'the path must end with /models/MODEL:countTokens')
    }
    this.model = fromPath === null ? modelOf(this.#body) : decoded(fromPath[1]!)
  }

  get spoken(): FormatName {
    return this.#spoken
  }

  write(ex: Exchange, to: Recipient): readonly string[] {
    const { client } = this
    const model = to.model(this.model)
    const format = spokenOf(to, model, COUNTING, 'has no API that counts tokens')
    this.#spoken = format
    const isNative = format === client
    const losses = new Losses()
    const { prompt } = to.given.edits
    const counted = isNative ? this.#native(model, prompt) : this.#converted(format, model, prompt, losses)
    const isVertex = to.given.type === 'vertexai'
    const body = isVertex ? onVertex(format, model, counted ?? this.#body) : counted
    replaceRequestBody(ex, body === null ? this.#bytes : Buffer.from(JSON.stringify(body)))
    const target = beside(to, format, model, isVertex && format === 'messages' ? CLAUDE_COUNT : ENDS[format])
    address(ex, to.provider, { target, query: isNative ? this.#query : '', isNative })
    return losses.fields
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

  #converted(format: Counting, model: string, prompt: AiPrompt | null, losses: Losses): JsonObject {
    const said = this.#conversation(prompt)
    const written = FORMATS[format]!.writeRequest({ ...said, model }, losses)
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
    const said = FORMATS[this.client]!.readRequest(whole, { model: this.model, isStreamed: false })
    return { ...said, sampling: { ...said.sampling, maxTokens: null } }
  }

  readonly read = (body: Json): Told => {
    if (this.#spoken === this.client) return { body: null, usage: null }
    const total = Fields.of(body, '').optionalNumber(TOTALS[this.#spoken])
    if (total === null) throw new FormatError(TOTALS[this.#spoken], 'is missing')
    return { body: this.client === 'messages' ? { input_tokens: total } : { totalTokens: total }, usage: null }
  }
}

/** As Vertex AI wants it: of Gemini's requests the parts side by side. */
function onVertex(format: Counting, model: string, body: JsonObject): JsonObject {
  return format === 'gemini' ? flat(body) : claudeCount(model, body)
}

function flat(body: JsonObject): JsonObject {
  const { generateContentRequest: inner } = body
  return isObject(inner) ? without(inner, 'model') : body
}

function without(body: JsonObject, field: string): JsonObject {
  const { [field]: _, ...rest } = body
  return rest
}
