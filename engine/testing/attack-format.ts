/**
 * What the fuzz targets llm-* have in common: an input is read as a request, an answer, an error and a stream of one
 * format. Reading throws FormatError or nothing else (RangeError for what is nested without bottom, which the backend
 * tells); what is accepted can be written in every format, is JSON, and a stream says the same however it is cut.
 */
import assert from 'node:assert/strict'
import type { ChatEvent, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isJson, isObject } from '#backends/llm/formats/fields.ts'
import {
  type AnswerContext,
  type ChatFormat,
  FormatError,
  Losses,
  type WireEvent
} from '#backends/llm/formats/format.ts'
import { EventOrder } from '#backends/llm/stream/event-order.ts'
import { ListTap } from '#backends/llm/stream/list-tap.ts'
import { TranslatingTap } from '#backends/llm/stream/translating-tap.ts'
import { WHOLE_FORMATS } from '#backends/llm/testing/converse/index.ts'
import { SseReader } from '#engine/http/sse.ts'
import { bentJson } from '#engine/testing/bent-json.ts'
import { parseEvents } from '#engine/testing/sse.ts'

const CONTEXT: AnswerContext = { model: 'alias', wantsUsage: true, at: 0, id: 'fresh' }
/** By name: the entries of a corpus choose by number. */
const ALL = Object.values(WHOLE_FORMATS).sort((a, b) => (a.name < b.name ? -1 : 1))
/** No client speaks Converse, Cohere's chat, or predictions. */
const UNSPOKEN: readonly string[] = ['converse', 'cohereV2', 'predictions']
const CLIENTS = ALL.filter(({ name }) => !UNSPOKEN.includes(name))
const NO_EXCHANGE = {} as never

export const WORDS = [
  ...[
    '"index":',
    '1e9',
    '-1',
    '"id":',
    '"type":',
    'null',
    '""',
    '[]',
    '{}',
    '"__proto__":',
    '"constructor":',
    '\\ud800'
  ],
  ...['"role":"assistant"', '"role":"user"', '"content":', '"text":', '"name":', '"arguments":"{}"', '"usage":'],
  ...[
    'data: ',
    'event: error\n',
    '\n\n',
    'data: [DONE]\n\n',
    '"error":{"message":"m"}',
    '"stream":true',
    'messages[0].a'
  ]
]

/** What `step` returns; null when it says that its input does not follow the format. */
function tried<T>(step: () => T): T | null {
  try {
    return step()
  } catch (error) {
    if (error instanceof FormatError || error instanceof RangeError) return null
    throw error
  }
}

/** `seeds`: a request, an answer and a stream that are right; the input says as well how they are bent. */
export function attack(format: ChatFormat, data: Buffer, [request, answer, stream]: readonly string[]): void {
  bend(format, data, request!, answer!, stream!)
  const text = data.toString()
  readErrors(format, text)
  const body = bodyOf(text)
  if (body !== null) {
    requests(format, body)
    answers(format, body)
  }
  // A stream of one event, too: mutations of an answer are rarely framed.
  streams(format, data)
  if (body !== null) streams(format, Buffer.from(`data: ${JSON.stringify(body)}\n\n`))
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
}

function bend(format: ChatFormat, data: Buffer, request: string, answer: string, stream: string): void {
  const body = bentJson(request, data) as Json
  if (isObject(body)) requests(format, body)
  const answered = bentJson(answer, data) as Json
  if (isObject(answered)) answers(format, answered)
  const whole = parseEvents(stream).map(({ name, data: text }) => [name, text === '[DONE]' ? text : JSON.parse(text)])
  const events = bentJson(JSON.stringify(whole), data)
  if (!Array.isArray(events)) return
  const wire = (events as Json[]).map((event) => {
    const [name, payload] = Array.isArray(event) ? (event as Json[]) : ['', event]
    const line = typeof name === 'string' && /^[\w.]+$/.test(name) ? `event: ${name}\n` : ''
    return `${line}data: ${payload === '[DONE]' ? payload : JSON.stringify(payload ?? null)}\n\n`
  })
  streams(format, Buffer.from(wire.join('')))
}

function bodyOf(text: string): JsonObject | null {
  const value = tried(() => {
    try {
      return JSON.parse(text) as Json
    } catch (error) {
      if (error instanceof SyntaxError) return null
      throw error
    }
  })
  return isObject(value ?? undefined) ? (value as JsonObject) : null
}

function requests(format: ChatFormat, body: JsonObject): void {
  const from = { model: 'm', isStreamed: format.name === 'gemini' ? false : null }
  const conversation = tried(() => format.readRequest(body, from))
  if (conversation === null) return
  for (const to of ALL) {
    const written = tried(() => JSON.stringify(to.writeRequest(conversation, new Losses())))
    if (written === null) continue
    // The format that it came in reads again what was written of it.
    if (to === format) format.readRequest(JSON.parse(written) as JsonObject, from)
  }
}

function answers(format: ChatFormat, body: JsonObject): void {
  const answer = tried(() => format.readAnswer(body))
  if (answer === null) return
  for (const to of ALL) {
    const written = tried(() => JSON.stringify(to.writeAnswer(answer, CONTEXT, new Losses())))
    if (written !== null) to.readAnswer(JSON.parse(written) as JsonObject)
  }
}

function readErrors(format: ChatFormat, text: string): void {
  const error = format.readError(500, text)
  assert.equal(typeof error.message, 'string')
  for (const to of ALL) assert.ok(JSON.stringify(to.writeError(error)).length > 0)
}

function streams(format: ChatFormat, wire: Buffer): void {
  for (const to of CLIENTS) {
    const whole = tapped(format, to, wire, wire.length)
    assert.equal(tapped(format, to, wire, 7), whole, `${format.name} to ${to.name}, cut`)
    if (to.name === 'gemini') lists(format, to, wire, whole)
    if (to === format) continue
    const reader = to.streamReader()
    const order = new EventOrder()
    const events: ChatEvent[] = parseEvents(whole).flatMap((event) => reader.read(event))
    const admitted = events.filter((event) => order.admits(event))
    const last = admitted.at(-1)?.kind
    // Usage may be told once more behind the end.
    assert.ok(last === 'error' || last === 'done' || last === 'usage', `${format.name} to ${to.name} ends with ${last}`)
  }
}

/** As one list (list-tap.ts): the events of `whole` that are JSON, and nothing that spoils it. */
function lists(format: ChatFormat, to: ChatFormat, wire: Buffer, whole: string): void {
  const list = tapped(format, to, wire, wire.length, true)
  assert.equal(tapped(format, to, wire, 7, true), list, `${format.name} to a list, cut`)
  const elements = JSON.parse(list) as Json[]
  const events: WireEvent[] = []
  const bytes = Buffer.from(whole)
  new SseReader().push(bytes, 0, bytes.length, events)
  assert.equal(elements.length, events.filter(({ data }) => isJson(data.trim())).length)
}

/** Streams that pass as they are are not compared: all of them is what they say. */
function tapped(from: ChatFormat, to: ChatFormat, wire: Buffer, size: number, isList = false): string {
  const losses = new Losses()
  const writer = to.streamWriter(CONTEXT, losses)
  const inner = new TranslatingTap({ from, framing: new SseReader(), writer, losses, isNative: from === to })
  const tap = isList ? new ListTap({ inner, losses, giveUp: () => {} }) : inner
  const pieces: (Buffer | null)[] = []
  for (let at = 0; at < wire.length; at += size) {
    const end = Math.min(at + size, wire.length)
    const bytes = tap.body(NO_EXCHANGE, wire, at, end)
    pieces.push(bytes === wire ? wire.subarray(at, end) : bytes)
  }
  pieces.push(tap.end(NO_EXCHANGE))
  return Buffer.concat(pieces.filter((piece) => piece !== null)).toString()
}
