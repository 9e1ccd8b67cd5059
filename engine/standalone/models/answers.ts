/**
 * A provider of models without a model: it speaks the wire formats of OpenAI (chat completions, responses), Anthropic
 * and Gemini as their documentation shows them, streamed and not. It says "Hello, world" in two pieces, or calls the
 * first tool that it is given, and always counts the same: 12 tokens in, 4 of them cached, and 7 out. A model called
 * error-429 answers with that status. The demonstration and the tests are served by it.
 */
import { completion, completionEvents, openaiError } from './completions.ts'
import { gemini, geminiError, geminiEvents } from './gemini.ts'
import { anthropicError, message, messageEvents } from './messages.ts'
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

/** `target`: path, with or without a query. `body`: JSON, whatever it is. Null: no format lives there. */
export function mockAnswer(target: string, body: Body): MockAnswer | null {
  const path = target.split('?')[0]!
  const format = FORMATS.find(([suffix]) => suffix.test(path))?.[1]
  if (format === undefined) return null
  if (typeof body !== 'object' || body === null) return refused(format, 400, 'the body must be a JSON object')
  const model = modelOf(path, body)
  const failing = /^error-([45]\d\d)$/.exec(model)
  if (failing !== null) return refused(format, Number(failing[1]), `the model ${model} always fails`)
  const isStreamed = format.isStreamed(path, body)
  return { status: 200, whole: isStreamed ? {} : format.whole(body), events: isStreamed ? format.events(body) : null }
}

function refused(format: Format, status: number, why: string): MockAnswer {
  return { status, whole: format.error(status, why), events: null }
}

/** In the path at Gemini. */
function modelOf(path: string, body: Body): string {
  return typeof body.model === 'string' ? body.model : (/\/models\/([^/:]+):/.exec(path)?.[1] ?? '')
}

/** Server-sent events as text. */
export function eventText([name, data]: Wire[number]): string {
  const text = data === '[DONE]' ? data : JSON.stringify(data)
  return `${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`
}
