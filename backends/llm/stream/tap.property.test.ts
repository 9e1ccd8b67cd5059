/**
 * The whole way of an answer, for every pair of formats: what a client reads from the translated stream, put together,
 * is what it reads from the same answer unstreamed, however the bytes are cut.
 */
import { deepEqual, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, FormatName, Json, Part, StopReason, Usage } from '#backends/llm/conversation.ts'
import { type AnswerContext, type ChatFormat, Losses } from '#backends/llm/formats/format.ts'
import { frameEvents } from '#backends/llm/testing/aws-event-stream.ts'
import { WHOLE_FORMATS } from '#backends/llm/testing/converse/index.ts'
import { parseEvents } from '#engine/testing/sse.ts'
import { framingOf } from './framing.ts'
import { TranslatingTap } from './translating-tap.ts'

/** The tap asks nothing of it. */
const NO_EXCHANGE = {} as never
const CONTEXT: AnswerContext = { model: 'alias', wantsUsage: true, at: 1_700_000_000_000, id: 'fresh' }
const FROM = Object.values(WHOLE_FORMATS)
/** No client speaks Converse. */
const TO = FROM.filter((format) => format.name !== 'converse')

/** Tells `answer` as events, each content in pieces. */
function eventsOf(answer: Answer, size: number): ChatEvent[] {
  const { id, model, created, usage, serviceTier } = answer
  const events: ChatEvent[] = [{ kind: 'start', id, model, created, usage: null }]
  const [{ parts, stop, stopSequence }] = answer.choices as [Answer['choices'][0]]
  for (const part of parts) {
    const [bare, text] = emptied(part)
    events.push({ kind: 'begin', choice: 0, part: bare })
    for (let at = 0; at < text.length; at += size)
      events.push({ kind: 'delta', choice: 0, text: text.slice(at, at + size), logprobs: null })
    if ('signature' in part && part.signature !== null)
      events.push({ kind: 'signature', choice: 0, signature: part.signature })
    events.push({ kind: 'end', choice: 0 })
  }
  events.push({ kind: 'stop', choice: 0, stop, stopSequence })
  if (usage !== null) events.push({ kind: 'usage', usage, serviceTier })
  return [...events, { kind: 'done' }]
}

function emptied(part: Part): [Part, string] {
  if (part.kind === 'toolCall') return [{ ...part, arguments: '', signature: null }, part.arguments]
  if (part.kind === 'thinking') return [{ ...part, text: '', signature: null }, part.text]
  return part.kind === 'text' || part.kind === 'refusal' ? [{ ...part, text: '' }, part.text] : [part, '']
}

const written = (format: ChatFormat, answer: Answer) => {
  const body = format.writeAnswer(answer, CONTEXT, new Losses())
  return format.readAnswer(JSON.parse(JSON.stringify(body)))
}

const wireOf = (format: ChatFormat, answer: Answer, size: number): Buffer => {
  const writer = format.streamWriter(CONTEXT)
  const text = eventsOf(answer, size)
    .map((event) => writer.write(event))
    .join('')
  return format.name === 'converse' ? frameEvents(text) : Buffer.from(text)
}

const framing = (format: ChatFormat) =>
  framingOf(format.name === 'converse' ? 'application/vnd.amazon.eventstream' : 'text/event-stream')!

/** What a client of `to` gets for bytes of `from` that are cut at `cuts`. */
function tapped(from: ChatFormat, to: ChatFormat, wire: Buffer, cuts: readonly number[]): string {
  const losses = new Losses()
  const writer = to.streamWriter(CONTEXT, losses)
  const tap = new TranslatingTap({ from, framing: framing(from), writer, losses, isNative: from === to })
  const pieces: Buffer[] = []
  let start = 0
  for (const cut of [...cuts, wire.length]) {
    const bytes = tap.body(NO_EXCHANGE, wire, start, cut)
    if (bytes !== null) pieces.push(bytes === wire ? wire.subarray(start, cut) : bytes)
    start = cut
  }
  const last = tap.end()
  if (last !== null) pieces.push(last)
  return Buffer.concat(pieces).toString()
}

/** What all pairs have in common: how parts are cut, and ids that a format makes itself, are not. */
function plain(answer: Answer) {
  const parts: Json[] = []
  for (const part of answer.choices[0]?.parts ?? []) {
    const last = parts.at(-1) as { kind: string; text: string } | undefined
    if (part.kind === 'toolCall')
      parts.push({ kind: part.kind, name: part.name, arguments: JSON.parse(part.arguments) })
    else if (part.kind !== 'text' && part.kind !== 'thinking' && part.kind !== 'refusal') continue
    else if (part.text === '' && part.kind !== 'thinking') continue
    else if (last?.kind === part.kind && part.kind === 'text') last.text += part.text
    else parts.push({ kind: part.kind, text: part.text })
  }
  return { parts, stop: answer.choices[0]?.stop, usage: answer.usage }
}

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const text = word.map((value): Part => ({ kind: 'text', text: value, cache: null }))
const name = fc.stringMatching(/^[a-z]{1,6}$/)
const call = fc.tuple(name, fc.dictionary(name, fc.oneof(word, fc.integer(), fc.boolean()), { noNullPrototype: true }))
const count = fc.nat(1000)
const usage = fc.tuple(count, count, count, count).map(
  ([plainInput, cacheRead, output, reasoning]): Usage => ({
    ...{ input: plainInput + cacheRead, cacheRead, cacheWrite5m: 0, cacheWrite1h: 0, inputAudio: 0, inputImage: 0 },
    ...{ output: output + reasoning, reasoning, outputAudio: 0, outputImage: 0 }
  })
)

const answers = fc
  .record({
    thoughts: fc.option(word),
    texts: fc.array(text, { maxLength: 2 }),
    calls: fc.array(call, { maxLength: 2 }),
    isCut: fc.boolean(),
    usage
  })
  .map(({ thoughts, texts, calls, isCut, usage: counted }): Answer => {
    const parts: Part[] = []
    if (thoughts !== null) parts.push({ kind: 'thinking', text: thoughts, signature: null, isRedacted: false })
    parts.push(...texts)
    for (const [i, [called, args]] of calls.entries()) {
      const json = JSON.stringify(args)
      parts.push({ kind: 'toolCall', id: `call_${i}`, name: called, arguments: json, signature: null, cache: null })
    }
    const stop: StopReason = calls.length > 0 ? 'tools' : isCut ? 'length' : 'end'
    const origin = { format: 'converse', unknownFields: new Map() } as const
    const choices = [{ parts, stop, stopSequence: null, logprobs: null }]
    return { id: 'id_1', model: 'm', created: 1_700_000_000, choices, usage: counted, serviceTier: null, origin }
  })

const pairs = FROM.flatMap((from) => TO.map((to) => [from, to] as const))

for (const [from, to] of pairs) {
  test(`${from.name} for a client of ${to.name}: streamed is unstreamed, cut anywhere`, () => {
    const places = fc.array(fc.nat(1_000_000), { maxLength: 12 })
    fc.assert(
      fc.property(answers, fc.integer({ min: 1, max: 9 }), places, (answer, size, at) => {
        const wire = wireOf(from, answer, size)
        const cuts = [...new Set(at.map((place) => place % wire.length))].sort((a, b) => a - b)
        const got = tapped(from, to, wire, cuts)
        const reader = to.streamReader()
        const events = parseEvents(got).flatMap((event) => reader.read(event))
        deepEqual(events.at(-1)?.kind, 'done')
        const whole = from === to ? written(from, answer) : written(to, written(from, answer))
        deepEqual(plain(assemble(events, to.name)), plain(whole))
        if (from === to) deepEqual(got, wire.toString())
      }),
      { numRuns: 150 }
    )
  })
}

/** Two pieces of text, one of more than a byte, and a call: small, for what is done to every byte of it. */
const SMALL: Answer = {
  ...{ id: 'i', model: 'm', created: 1, serviceTier: null, origin: { format: 'converse', unknownFields: new Map() } },
  usage: {
    input: 3,
    cacheRead: 1,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    inputAudio: 0,
    inputImage: 0,
    output: 2,
    reasoning: 0,
    outputAudio: 0,
    outputImage: 0
  },
  choices: [
    {
      parts: [
        { kind: 'text', text: 'a€', cache: null },
        { kind: 'toolCall', id: 'c', name: 'f', arguments: '{}', signature: null, cache: null }
      ],
      ...{ stop: 'tools', stopSequence: null, logprobs: null }
    }
  ]
}
const PLACES_MAX = 500

/** All places in `wire`, or many of a long one: its events repeat what they are made of. */
function placesOf(wire: Buffer): number[] {
  const step = Math.ceil(wire.length / PLACES_MAX)
  return Array.from({ length: Math.floor((wire.length - 1) / step) }, (_, i) => 1 + i * step)
}

test('a small stream may be cut after each of its bytes, and each may come alone', () => {
  for (const [from, to] of pairs) {
    const wire = wireOf(from, SMALL, 1)
    const whole = tapped(from, to, wire, [])
    ok(whole.length > 0)
    for (const cut of placesOf(wire)) deepEqual(tapped(from, to, wire, [cut]), whole)
    deepEqual(tapped(from, to, wire, [...wire.keys()].slice(1)), whole)
  }
})

test('cut off after any of its bytes, a stream ends as its client can read: with an error, or done', () => {
  for (const [from, to] of pairs) {
    const wire = wireOf(from, SMALL, 1)
    for (const end of [0, ...placesOf(wire)]) {
      const got = tapped(from, to, wire.subarray(0, end), [])
      match(got, /\n\n$/)
      const reader = to.streamReader()
      const events = parseEvents(got).flatMap((event) => reader.read(event))
      const last = events.at(-1)
      ok(last?.kind === 'error' || last?.kind === 'done', `${from.name} to ${to.name}, ${end} bytes: ${last?.kind}`)
      ok(events.filter(({ kind }) => kind === 'error' || kind === 'done').length === 1)
    }
  }
})

test('every format is here', () => deepEqual(FROM.length, new Set<FormatName>(FROM.map((one) => one.name)).size))
