/**
 * A double of a provider: what it takes is as strict as the provider's own API, and what it says depends on how far the
 * conversation has come: one call, then two at once, then an answer. Texts and results bear marks, and the answer is
 * given only when all of them have arrived.
 */
import type { Body } from '#backends/demo/models/wire.ts'

export interface Call {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly input: string
}

export interface ModelReply {
  readonly thoughts: string | null
  readonly text: string
  readonly calls: readonly Call[]
}

/** What a request is about, in whatever format it came. */
export interface Facts {
  readonly tools: readonly string[]
  /** Results of tools in the history. */
  readonly results: number
  /** A tool must be called: that one, or "" for any. */
  readonly forced: string | null
  readonly mayCall: boolean
  /** The provider is to think aloud, or always does. */
  readonly thinks: boolean
  readonly isStreamed: boolean
}

export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly chunks: readonly (string | Uint8Array)[]
}

/** One wire format as a provider has it. */
export interface Double {
  /** What the provider would refuse it for; null: nothing. */
  refuses(body: Body, path: string): string | null
  facts(body: Body, path: string): Facts
  answer(reply: ModelReply, body: Body, facts: Facts): Reply
  error(status: number, message: string): object
}

export const MARKS = {
  system: 'MARK-SYSTEM',
  user: 'MARK-USER',
  results: ['MARK-RESULT-1', 'MARK-RESULT-2', 'MARK-RESULT-3'],
  answer: 'MARK-ANSWER: it is 21 degrees.'
} as const

/** What a text like "[needs:image,middle]" wants the provider to get besides. */
export const NEEDS: { readonly [need: string]: RegExp } = {
  image: /iVBORw0KGgo/,
  jpeg: /"image\/jpeg"|data:image\/jpeg|"format":"jpeg"/,
  pdf: /JVBERi0x/,
  middle: /MARK-MIDDLE/,
  json: /json/i,
  schema: /degrees/,
  patch: /MARK-PATCH/
}

const ANSWER_JSON = '{"city":"Paris","degrees":21}'

/** What is missing of what has been said so far; null: nothing. */
export function missing(text: string, results: number): string | null {
  const marks: string[] = text.includes(MARKS.user) ? [MARKS.system] : []
  if (results > 0) marks.push(...MARKS.results.slice(0, results))
  const lost = marks.find((mark) => !text.includes(mark))
  if (lost !== undefined) return `the request has lost ${lost}`
  for (const [, needs] of text.matchAll(/\[needs:([\w,]+)\]/g)) {
    const need = needs!.split(',').find((name) => !NEEDS[name]!.test(text))
    if (need !== undefined) return `the request has lost what it needs: ${need}`
  }
  return null
}

export function modelReply(facts: Facts, text: string): ModelReply {
  const thoughts = facts.thinks ? 'Let me look that up.' : null
  const none = { thoughts, text: '', calls: [] }
  const wanted = facts.forced === '' ? facts.tools[0]! : facts.forced
  if (wanted !== null) return { ...none, calls: [callOf(1, wanted)] }
  if (text.includes('[rich]')) return { ...none, text: 'I look.', calls: RICH }
  const hasLoop = facts.tools.includes('get_weather') && facts.mayCall
  if (hasLoop && facts.results === 0) return { ...none, text: 'I look.', calls: [callOf(1, 'get_weather')] }
  if (hasLoop && facts.results < 3) return { ...none, calls: [callOf(2, 'get_weather'), callOf(3, 'get_time')] }
  if (text.includes('[custom]') && facts.results === 0) return { ...none, calls: [callOf(1, facts.tools[0]!)] }
  return { ...none, text: text.includes('[json]') ? ANSWER_JSON : MARKS.answer }
}

/** In pieces, and without arguments. */
const RICH: readonly Call[] = [callOf(1, 'get_weather'), { id: '2', name: 'get_time', input: '{}' }]

function callOf(i: number, name: string): Call {
  const own = name.startsWith('get_') ? '{"city":"Paris"}' : ANSWER_JSON
  return { id: `${i}`, name, input: name === 'apply_patch' ? '{"input":"MARK-PATCH"}' : own }
}

export function whole(value: object): Reply {
  return { status: 200, contentType: 'application/json', chunks: [JSON.stringify(value)] }
}

export function events(chunks: readonly string[]): Reply {
  return { status: 200, contentType: 'text/event-stream', chunks }
}

export const eventOf = (data: object, name: string | null = null): string =>
  `${name === null ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** In two pieces. */
export const pieces = (text: string): string[] => [text.slice(0, 4), text.slice(4)]
