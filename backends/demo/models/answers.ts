/**
 * A provider of models without a model: it speaks the wire formats of OpenAI (chat completions, responses), Anthropic
 * and Gemini as their documentation shows them, streamed and not. It says "Hello, world" in two pieces, or calls the
 * first tool that it is given, and always counts the same: 12 tokens in, 4 of them cached, and 7 out. It has
 * embeddings, counts and lists of models too. A model called error-429 answers with that status. The demonstration and
 * the tests are served by it.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { completion, completionEvents, openaiError } from './completions.ts'
import { gemini, geminiError, geminiEvents } from './gemini.ts'
import { anthropicError, message, messageEvents } from './messages.ts'
import * as others from './others.ts'
import { response, responseEvents } from './responses.ts'
import type { Body, MockAnswer, Wire } from './wire.ts'

interface Format {
  readonly whole: (body: Body) => object
  readonly events: (body: Body) => Wire
  readonly error: (status: number, message: string) => object
  readonly isStreamed: (path: string, body: Body) => boolean
}

const byBody = (_: string, body: Body): boolean => body.stream === true

/** By how the path ends, its query aside: hosts put different things in front. */
const FORMATS: readonly (readonly [suffix: RegExp, Format])[] = [
  [/\/chat\/completions$/, { whole: completion, events: completionEvents, error: openaiError, isStreamed: byBody }],
  [/\/responses$/, { whole: (body) => response(body), events: responseEvents, error: openaiError, isStreamed: byBody }],
  [/\/messages$/, { whole: message, events: messageEvents, error: anthropicError, isStreamed: byBody }],
  [
    // Vertex AI's paths of Claude.
    /:(?:rawPredict|streamRawPredict)$/,
    {
      whole: message,
      events: messageEvents,
      error: anthropicError,
      isStreamed: (path) => path.endsWith(':streamRawPredict')
    }
  ],
  [
    /:(?:generateContent|streamGenerateContent)$/,
    {
      whole: (body) => gemini(body),
      events: geminiEvents,
      error: geminiError,
      isStreamed: (path) => path.endsWith(':streamGenerateContent')
    }
  ]
]

type Whole = readonly [suffix: RegExp, whole: Format['whole'], error: Format['error']]

/** What is never streamed. */
const WHOLE: readonly Whole[] = [
  [/\/embeddings$/, others.embeddings, openaiError],
  [/\/responses\/input_tokens$/, others.inputTokens, openaiError],
  [/\/messages\/count_tokens$/, others.countTokens, anthropicError],
  [/:countTokens$/, others.geminiCount, geminiError],
  [/:embedContent$/, others.embedContent, geminiError],
  [/:batchEmbedContents$/, others.batchEmbedContents, geminiError]
]

/** A list of models, or one of them. */
const MODELS = /\/models(?:\/([^/:]+))?$/
const LIST_ERRORS = { openai: openaiError, anthropic: anthropicError, gemini: geminiError } as const

/**
 * `target`: path, with or without a query. `body`: JSON, whatever it is. `headers`: Anthropic's clients are known by
 * theirs where nothing else tells. Null: no format lives there.
 */
export function mockAnswer(target: string, body: Body, headers: IncomingHttpHeaders = {}): MockAnswer | null {
  const path = target.split('?')[0]!
  const models = MODELS.exec(path)
  if (models !== null) return modelsAnswer(path, models[1] ?? null, headers)
  const format = formatOf(path)
  if (format === null) return null
  if (typeof body !== 'object' || body === null) return refused(format, 400, 'the body must be a JSON object')
  const model = modelOf(path, body)
  const failing = /^error-([45]\d\d)$/.exec(model)
  if (failing !== null) return refused(format, Number(failing[1]), `the model ${model} always fails`)
  const isStreamed = format.isStreamed(path, body)
  return { status: 200, whole: isStreamed ? {} : format.whole(body), events: isStreamed ? format.events(body) : null }
}

function modelsAnswer(path: string, name: string | null, headers: IncomingHttpHeaders): MockAnswer {
  const isAnthropic = headers['anthropic-version'] !== undefined
  const kind = path.includes('/v1beta/') ? 'gemini' : isAnthropic ? 'anthropic' : 'openai'
  const whole = name === null ? others.modelList(kind) : others.oneModel(kind, name)
  if (whole !== null) return { status: 200, whole, events: null }
  return { status: 404, whole: LIST_ERRORS[kind](404, `there is no model ${name}`), events: null }
}

function formatOf(path: string): Format | null {
  const chat = FORMATS.find(([suffix]) => suffix.test(path))
  if (chat !== undefined) return chat[1]
  const [, whole, error] = WHOLE.find(([suffix]) => suffix.test(path)) ?? []
  return whole === undefined || error === undefined ? null : { whole, error, events: () => [], isStreamed: () => false }
}

function refused(format: Format, status: number, why: string): MockAnswer {
  return { status, whole: format.error(status, why), events: null }
}

/** In the path at Gemini. */
function modelOf(path: string, body: Body): string {
  return typeof body.model === 'string' ? body.model : (/\/models\/([^?]+):/.exec(path)?.[1] ?? '')
}

/** Server-sent events as text. */
export function eventText([name, data]: Wire[number]): string {
  const text = data === '[DONE]' ? data : JSON.stringify(data)
  return `${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`
}
