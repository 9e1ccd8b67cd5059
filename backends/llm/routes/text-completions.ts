/**
 * OpenAI's older completions (API reference, "Create completion"): a text that is gone on with. They pass as they are
 * where a service has them; elsewhere the text is the one message of a chat, whose answer is written as a completion.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { readUsage } from '#backends/llm/formats/completions/usage.ts'
import { Fields, isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError, Losses } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { planRequest, type ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { hasTexts } from '#backends/llm/providers/services.ts'
import { readChat } from '#backends/llm/request/chat-request.ts'
import { modelOf, parseBody } from '#backends/llm/request/json-body.ts'
import { providerBody, providerModel, withPathPrefix } from '#backends/llm/request/provider-request.ts'
import { framingOf } from '#backends/llm/stream/framing.ts'
import { TranslatingTap } from '#backends/llm/stream/translating-tap.ts'
import {
  type BodyOperationKind,
  besideChat,
  type OperationCost,
  type OperationPlan,
  type OperationSource,
  type ReadOperation
} from './operation.ts'
import { PassingAnswer } from './passing-answer.ts'
import { type TextAnswerSpec, TextWriter, textAnswer } from './text-answer.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    TextCompletions: 'body'
  }
}

export const textCompletions: BodyOperationKind<TextAnswerSpec> = {
  type: 'TextCompletions',
  pathEnds: ['/completions'],
  isStrict: true,
  name: 'text_completion',
  client: () => 'completions',
  guarded: () => requestReach(['prompt', 'suffix'], []),
  // Guards of answers know those of chat.
  hidesAnswer: true,
  tolerated: completions.tolerated,
  read: (source) => new TextCompletion(source),
  costIn: ({ providerFormat }, body) => {
    if (!isObject(body)) return { usage: null, model: null }
    const { usage, model } = FORMATS[providerFormat].readSummary(body)
    return { usage, model }
  },
  answer: textAnswer,
  listen: (ex, sent) => new PassingAnswer(ex, sent, costOf),
  streamTap: (ex, { answerSpec }) => {
    const framing = framingOf(ex.response?.get('content-type') ?? '')
    if (framing === null || answerSpec === null) return null
    const spec = answerSpec as TextAnswerSpec
    const losses = new Losses()
    const writer = new TextWriter(spec, losses)
    return new TranslatingTap({
      from: FORMATS[spec.providerFormat],
      framing,
      writer,
      losses,
      isNative: false,
      count: spec.count
    })
  }
}

function costOf(body: JsonObject): OperationCost | null {
  const { usage, model } = body
  return isObject(usage) ? { usage: readUsage(usage), model: isString(model) ? model : null } : null
}

/** Of a request that sets no limit ("max_tokens"). */
const TOKENS_DEFAULT = 16

class TextCompletion implements ReadOperation {
  readonly #body: JsonObject
  readonly #bytesLength: number
  /** By the client's name, "" when it names none. */
  readonly #model: string

  /** Throws FormatError. */
  constructor({ bytes }: OperationSource) {
    this.#body = parseBody(bytes)
    this.#bytesLength = bytes.length
    this.#model = modelOf(this.#body)
  }

  plan(to: ResolvedProvider): OperationPlan {
    const model = providerModel(this.#model, to.settings.model, to.aliases)
    return hasTexts(to, model) ? this.#native(to, model) : this.#converted(to, model)
  }

  #native(to: ResolvedProvider, model: string): OperationPlan {
    const { max_tokens: limit = null, prompt, n = null, best_of: tried = null } = this.#body
    const prompts = Array.isArray(prompt) && prompt.every(isString) ? prompt.length : 1
    const perPrompt =
      (typeof limit === 'number' ? limit : TOKENS_DEFAULT) * Math.max(Number(n ?? 1), Number(tried ?? 1), 1)
    return {
      body: model === this.#model ? null : { ...this.#body, model },
      model,
      providerFormat: 'completions',
      isNative: true,
      target: besideChat(to, 'completions', model, '/completions'),
      lost: [],
      answerSpec: null,
      expects: { inputTokens: this.#bytesLength, outputTokens: perPrompt * prompts }
    }
  }

  #converted(to: ResolvedProvider, model: string): OperationPlan {
    const { body, prompt, echoes } = asChat(this.#body, model)
    const chat = readChat('completions', Buffer.from(JSON.stringify(body)), '', '')
    const { request, plan } = planRequest(chat, to)
    const losses = new Losses()
    const written = providerBody(request, plan, losses) ?? request.body
    const { provider, format, path, pathPrefix } = plan
    const answerSpec = {
      of: 'TextCompletions',
      client: 'completions',
      providerFormat: format,
      model: this.#model,
      echo: echoes ? prompt : '',
      count: request.count,
      wantsUsage: request.wantsUsage
    } as const
    return {
      body: written,
      model: plan.model,
      providerFormat: format,
      isNative: false,
      target: path ?? withPathPrefix(provider.target(format, plan.model, request.isStreamed), pathPrefix),
      lost: losses.fields,
      answerSpec
    }
  }
}

/** What chat has no word for. Each with what it must be to be left out. */
const UNSAID: readonly (readonly [field: string, isNothing: (value: Json) => boolean])[] = [
  ['suffix', (value) => value === ''],
  ['best_of', (value) => value === 1]
]

interface AsChat {
  readonly body: JsonObject
  readonly prompt: string
  readonly echoes: boolean
}

/** Throws FormatError for what only the older completions can say. */
function asChat(body: JsonObject, model: string): AsChat {
  const { prompt: text, echo = null, suffix, best_of, logprobs = null, ...rest } = body
  for (const [field, isNothing] of UNSAID) {
    const value = body[field] ?? null
    if (value !== null && !isNothing(value))
      throw new FormatError(field, 'cannot be said in a chat, which is what this model has')
  }
  const prompt = promptIn(text ?? null)
  const echoes = new Fields(body, '').optionalBoolean('echo') === true
  if (echo !== null && echoes && logprobs !== null)
    throw new FormatError('logprobs', 'cannot be told of the text that is echoed: this model has chat only')
  const tops = new Fields(body, '').optionalNumber('logprobs')
  return {
    body: {
      ...rest,
      model,
      messages: [{ role: 'user', content: prompt }],
      ...(tops === null ? {} : { logprobs: true, top_logprobs: tops })
    },
    prompt,
    echoes
  }
}

function promptIn(value: Json): string {
  if (isString(value)) return value
  const list = Array.isArray(value) ? (value as readonly Json[]) : []
  if (list.length === 1 && isString(list[0])) return list[0]
  if (list.length === 0) throw new FormatError('prompt', 'is required')
  const why = list.every(isString) ? 'must be one text' : 'must be a text, not tokens'
  throw new FormatError('prompt', `${why}: this model has chat only`)
}
