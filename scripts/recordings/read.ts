/**
 * Recorded exchanges in a folder: fixtures of vercel/ai (`__fixtures__/NAME.json`; `NAME.chunks.txt` with the data of
 * one event in each line) and cassettes of vcr (YAML), as pydantic-ai and langchain keep them.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parse } from 'yaml'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { encodeMessage } from '#backends/llm/testing/aws-event-stream.ts'

export type WireFormat = 'completions' | 'messages' | 'responses' | 'gemini' | 'converse' | 'cohereV2'

export interface Recording {
  /** File, and the number of the exchange in it. */
  readonly source: string
  /** Host, or package of vercel/ai. */
  readonly provider: string
  readonly format: WireFormat
  readonly isStreamed: boolean
  readonly status: number
  readonly contentType: string
  readonly bytes: Buffer
}

/** Of larger ones it is pictures that are long. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024

export function* recordingsIn(folder: string): Generator<Recording> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
  for (const name of names) {
    const path = join(folder, name)
    if (/\.yaml$/.test(name)) {
      if (statSync(path).size <= FILE_BYTES_MAX) yield* cassette(relative(folder, path), readFileSync(path, 'utf8'))
    } else if (name.includes('__fixtures__')) {
      yield* fixture(name, () => readFileSync(path, 'utf8'))
    }
  }
}

// --- vercel/ai ---

/** By the folder of a fixture; the others record what is no chat, or a format that Weir does not speak. */
const PACKAGES: readonly (readonly [path: RegExp, format: WireFormat])[] = [
  [
    /^packages\/(?:openai|xai|open-responses|azure)\/src\/(?:responses\/)?__fixtures__\/(?!.*deepseek)(?!xai-)/,
    'responses'
  ],
  [/^packages\/(?:anthropic)\/src\/__fixtures__\//, 'messages'],
  [/^packages\/(?:google|google-vertex)\/src\/__fixtures__\//, 'gemini'],
  [/^packages\/amazon-bedrock\/src\/__fixtures__\//, 'converse'],
  [/^packages\/cohere\/src\/__fixtures__\//, 'cohereV2'],
  [/^packages\/(?:mistral|groq|perplexity|alibaba|moonshotai|xai|azure)\/src\/__fixtures__\//, 'completions'],
  [/^packages\/(?:openai|deepseek|openai-compatible)\/src\/chat\/__fixtures__\//, 'completions']
]

/** Parts of answers alone, and answers of other APIs in the same folders. */
const NO_ANSWERS = /embedding|transcription|speech|files?-upload|rerank|429|image\.json/

function* fixture(name: string, read: () => string): Generator<Recording> {
  const known = PACKAGES.find(([path]) => path.test(name))
  if (known === undefined || NO_ANSWERS.test(basename(name))) return
  const [, format] = known
  const provider = name.split('/')[1]!
  const text = read()
  const head = { source: name, provider, format, status: 200 }
  if (name.endsWith('.json')) {
    const bytes = Buffer.from(text)
    yield { ...head, isStreamed: false, contentType: 'application/json', bytes }
    return
  }
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  // Some record what is broken, for clients of their own.
  if (lines.some((line) => objectIn(line) === null)) return
  if (format === 'converse') {
    yield { ...head, isStreamed: true, contentType: EVENT_STREAM, bytes: eventStream(lines) }
    return
  }
  for (const [i, answer] of answersIn(lines).entries()) {
    const events = answer.map((line) => sse(line, format)).join('')
    const end = format === 'completions' ? 'data: [DONE]\n\n' : ''
    const bytes = Buffer.from(events + end)
    yield { ...head, source: `${name}#${i}`, isStreamed: true, contentType: 'text/event-stream', bytes }
  }
}

const BEGINS = /^\{"type":"(?:message_start|response\.created)"/
const ENDS = /^\{"type":"(?:message_stop|response\.(?:completed|incomplete|failed)|error)"/

/** Some files have several answers in a row. Where they have a beginning, those without an end are left out. */
function answersIn(lines: readonly string[]): string[][] {
  if (!lines.some((line) => BEGINS.test(line))) return [[...lines]]
  const answers: string[][] = []
  for (const line of lines) {
    if (BEGINS.test(line)) answers.push([])
    answers.at(-1)?.push(line)
  }
  return answers.filter((answer) => answer.some((line) => ENDS.test(line)))
}

function sse(data: string, format: WireFormat): string {
  const named = format === 'messages' || format === 'responses' || format === 'cohereV2'
  const type = named ? (JSON.parse(data) as { type: string }).type : ''
  return `${named ? `event: ${type}\n` : ''}data: ${data}\n\n`
}

const EVENT_STREAM = 'application/vnd.amazon.eventstream'

/** Each line is {"contentBlockDelta": {...}}. */
function eventStream(lines: readonly string[]): Buffer {
  return Buffer.concat(
    lines.flatMap((line) =>
      Object.entries(JSON.parse(line) as Record<string, object>).map(([name, payload]) =>
        encodeMessage(
          new Map([
            [':event-type', { type: 'string', value: name }],
            [':content-type', { type: 'string', value: 'application/json' }],
            [':message-type', { type: 'string', value: 'event' }]
          ]),
          JSON.stringify(payload)
        )
      )
    )
  )
}

// --- vcr ---

const PATHS: readonly (readonly [path: RegExp, format: WireFormat])[] = [
  [/\/chat\/completions(?:\?|$)/, 'completions'],
  [/\/responses(?:\?|$)/, 'responses'],
  [/\/v1\/messages(?:\?|$)/, 'messages'],
  [/:(?:streamG|g)enerateContent(?:\?|$)/, 'gemini'],
  [/\/converse(?:-stream)?$/, 'converse'],
  [/\/v2\/chat(?:\?|$)/, 'cohereV2']
]

export interface Interaction {
  readonly request?: {
    readonly method?: string
    readonly uri?: string
    readonly body?: Json
    readonly parsed_body?: Json
  }
  readonly response?: {
    readonly headers?: Readonly<Record<string, readonly string[]>>
    readonly status?: { readonly code?: number }
    readonly body?: { readonly string?: string | Uint8Array } | null
    readonly parsed_body?: Json
  }
}

/** All exchanges of a cassette. */
export function interactionsIn(text: string): readonly Interaction[] {
  const options = { schema: 'core', customTags: ['binary'], logLevel: 'silent', maxAliasCount: -1 } as const
  const { interactions = [] } = parse(text, { ...options, customTags: ['binary'] }) as {
    readonly interactions?: readonly Interaction[]
  }
  return interactions
}

function* cassette(source: string, text: string): Generator<Recording> {
  const interactions = interactionsIn(text)
  for (const [i, { request, response }] of interactions.entries()) {
    const { method, uri = '' } = request ?? {}
    const format = PATHS.find(([path]) => path.test(uri))?.[1]
    if (format === undefined || method !== 'POST' || response === undefined || !URL.canParse(uri)) continue
    const bytes = bodyOf(response)
    const status = response.status?.code ?? 200
    const contentType = headerOf(response, 'content-type') ?? 'application/json'
    const isStreamed = /event-stream|eventstream/.test(contentType)
    if (bytes.length === 0) continue
    yield { source: `${source}#${i}`, provider: new URL(uri).host, format, isStreamed, status, contentType, bytes }
  }
}

function headerOf({ headers = {} }: NonNullable<Interaction['response']>, name: string): string | undefined {
  return Object.entries(headers)
    .find(([key]) => key.toLowerCase() === name)?.[1]?.[0]
    ?.toString()
}

export function bodyOf({ body, parsed_body: parsed }: NonNullable<Interaction['response']>): Buffer {
  if (parsed !== undefined) return Buffer.from(JSON.stringify(parsed))
  const { string = '' } = body ?? {}
  const bytes = Buffer.from(string as string)
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
}

/** The object in a body; null: it has none. */
export function objectIn(text: string): JsonObject | null {
  try {
    const value: Json = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Why it says nothing of a provider: its authors have written it by hand, or left parts of it out. Null: it does. */
export function oddity({ format, isStreamed, status, bytes }: Recording): string | null {
  if (status >= 300) return null
  if (format === 'cohereV2' && /"finish_reason": ?"ERROR"/.test(bytes.toString())) return 'a generation that has failed'
  if (!isStreamed) {
    const whole = objectIn(bytes.toString())
    if (whole === null) return 'no JSON'
    if (format === 'completions' && whole.choices === undefined && whole.error === undefined) return 'no answer'
    return whole.status === 'complete' ? 'a status that no API has' : null
  }
  if (format !== 'responses') return null
  const text = bytes.toString()
  const pieces = texts(text, /^data: (\{"type":"response\.output_text\.delta".*)$/gm, 'delta')
  return pieces === texts(text, /^data: (\{"type":"response\.output_text\.done".*)$/gm, 'text')
    ? null
    : 'without all deltas'
}

const texts = (stream: string, events: RegExp, name: string): string =>
  [...stream.matchAll(events)].map(([, data]) => String(objectIn(data!)?.[name])).join('')
