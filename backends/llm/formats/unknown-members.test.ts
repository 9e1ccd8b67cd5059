/**
 * Providers and clients add members wherever they like. Each known block and event is read the same with one more
 * member in any of its objects; and one of an unknown kind costs none of its neighbours.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Answer, ChatEvent, Conversation, FormatName, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { WHOLE_FORMATS } from '#backends/llm/testing/converse/index.ts'
import { GOLDENS, type Golden } from '#backends/llm/testing/goldens.ts'
import { isObject } from './fields.ts'
import type { WireEvent } from './format.ts'

/** Members that are put into objects that have none of that name. */
const STRANGERS: readonly (readonly [name: string, value: Json])[] = [
  ['x_new', 'x'],
  ['x_null', null],
  ['x_deep', { type: 'text', text: 'no', id: 1, list: [{ type: 'tool_use' }] }],
  ['x_list', [null, 1, { text: 'no' }]],
  ['type', 'x'],
  ['type', { text: 'no' }],
  ['id', 'x'],
  ['id', 7],
  ['text', 'no'],
  ['name', 'no'],
  ['index', 3],
  ['_provider', null]
]

/** Everything but what is left over, which the strangers are. */
const withoutOrigin = ({ origin: _, ...all }: Answer | Conversation) => all

/** `value` with each stranger in each object once; null where the place is one of `known`. */
function* strange(value: JsonObject, known: RegExp): Generator<readonly [where: string, changed: JsonObject]> {
  for (const [path, object] of objectsOf(value, '')) {
    if (isData(path)) continue
    for (const [name, stranger] of STRANGERS) {
      if (Object.hasOwn(object, name) || (known.test(path) && !name.startsWith('x_') && name !== '_provider')) continue
      yield [`${path}.${name} = ${JSON.stringify(stranger)}`, replaced(value, object, { ...object, [name]: stranger })]
      yield [`${name} ahead at ${path}`, replaced(value, object, { [name]: stranger, ...object })]
    }
  }
}

/** Objects of the caller's own, in which every member says something; each member of Google's tools is a tool. */
const isData = (path: string): boolean =>
  /^tools\[\d+\]$/.test(path) ||
  /(?:^|\.)(?:input|args|json|parameters|input_schema|functionResponse\.response)$/.test(path)

function* objectsOf(value: Json, path: string): Generator<readonly [path: string, object: JsonObject]> {
  if (Array.isArray(value)) {
    for (const [i, item] of (value as readonly Json[]).entries()) yield* objectsOf(item, `${path}[${i}]`)
  } else if (isObject(value)) {
    yield [path, value]
    for (const [name, item] of Object.entries(value)) yield* objectsOf(item, path === '' ? name : `${path}.${name}`)
  }
}

function replaced(value: Json, old: JsonObject, by: JsonObject): JsonObject {
  const walk = (one: Json): Json => {
    if (one === old) return by
    if (Array.isArray(one)) return (one as readonly Json[]).map(walk)
    return isObject(one) ? Object.fromEntries(Object.entries(one).map(([name, item]) => [name, walk(item)])) : one
  }
  return walk(value) as JsonObject
}

function eventsOf(name: FormatName, events: readonly (readonly [string, JsonObject])[]): ChatEvent[] {
  const reader = WHOLE_FORMATS[name].streamReader()
  const wire = events.map(([event, data]): WireEvent => ({ name: event, data: JSON.stringify(data) }))
  const end: WireEvent[] = name === 'completions' ? [{ name: '', data: '[DONE]' }] : []
  return [...wire, ...end].flatMap((event) => reader.read(event))
}

const FROM = { model: 'm', isStreamed: false }

for (const [format, golden] of Object.entries(GOLDENS) as [FormatName, Golden][]) {
  describe(format, () => {
    const { readAnswer, readRequest } = WHOLE_FORMATS[format]

    test('an unknown member of an answer changes nothing that is known', () => {
      const plain = withoutOrigin(readAnswer(golden.whole))
      // A prediction has one text, and nothing else.
      ok((plain as Answer).choices[0]!.parts.length >= (format === 'predictions' ? 1 : 3))
      for (const [where, changed] of strange(golden.whole, golden.known)) {
        deepEqual(withoutOrigin(readAnswer(changed)), plain, where)
      }
    })

    test('an unknown member of an event changes nothing that is known', () => {
      const plain = eventsOf(format, golden.events)
      equal(plain.at(-1)?.kind, 'done')
      for (const [i, [name, data]] of golden.events.entries()) {
        for (const [where, changed] of strange(data, golden.known)) {
          const events = golden.events.with(i, [name, changed])
          deepEqual(eventsOf(format, events), plain, `${name} ${i}: ${where}`)
        }
      }
    })

    test('an unknown event costs none of its neighbours', () => {
      const plain = eventsOf(format, golden.events)
      const stranger = { type: 'x.new', x: { y: 1 } }
      for (let i = 1; i <= golden.events.length; i++) {
        deepEqual(eventsOf(format, golden.events.toSpliced(i, 0, ['x.new', stranger])), plain, `before event ${i}`)
      }
    })

    test('an unknown member of a request changes nothing that is known', () => {
      const plain = withoutOrigin(readRequest(golden.request, FROM))
      for (const [where, changed] of strange(golden.request, golden.known)) {
        deepEqual(withoutOrigin(readRequest(changed, FROM)), plain, where)
      }
    })
  })
}

/** A list with a block of an unknown kind at each place: what is known stands as before. */
const STRANGE_BLOCKS: readonly (readonly [FormatName, JsonObject, (blocks: readonly Json[]) => JsonObject])[] = [
  ['messages', { type: 'x_new', text: 'no', data: [1] }, (content) => ({ ...GOLDENS.messages.whole, content })],
  ['messages', { text: 'no' }, (content) => ({ ...GOLDENS.messages.whole, content })],
  [
    'converse',
    { xNew: { text: 'no' } },
    (content) => ({ ...GOLDENS.converse.whole, output: { message: { role: 'assistant', content } } })
  ],
  [
    'cohereV2',
    { type: 'x_new', text: 'no' },
    (content) => ({ ...GOLDENS.cohereV2.whole, message: { role: 'assistant', content } })
  ],
  ['gemini', { xNew: { text: 'no' } }, (parts) => ({ candidates: [{ content: { parts } }] })],
  ['gemini', {}, (parts) => ({ candidates: [{ content: { parts } }] })],
  ['responses', { type: 'x_new_call', text: 'no' }, (output) => ({ ...GOLDENS.responses.whole, output })],
  [
    'responses',
    { type: 'x_new', text: 'no' },
    (content) => ({ ...GOLDENS.responses.whole, output: [{ type: 'message', role: 'assistant', content }] })
  ],
  [
    'completions',
    { type: 'x_new', text: 'no' },
    (content) => ({ choices: [{ message: { role: 'assistant', content } }] })
  ]
]

const KNOWN_BLOCKS: Readonly<Record<FormatName, readonly Json[]>> = {
  messages: GOLDENS.messages.whole.content as readonly Json[],
  converse: [{ text: 'Hi' }, { toolUse: { toolUseId: 'c1', name: 'f', input: {} } }],
  cohereV2: [
    { type: 'text', text: 'Hi' },
    { type: 'thinking', thinking: 'Hm' }
  ],
  predictions: ['H', 'i'],
  gemini: [{ text: 'Hi' }, { functionCall: { id: 'c1', name: 'f', args: {} } }],
  responses: GOLDENS.responses.whole.output as readonly Json[],
  completions: [
    { type: 'text', text: 'Hi' },
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }
  ]
}
const CONTENTS = [
  { type: 'output_text', text: 'Hi' },
  { type: 'refusal', refusal: 'No' }
]

test('a block of an unknown kind costs none of its neighbours', () => {
  for (const [format, stranger, whole] of STRANGE_BLOCKS) {
    const isContent = format === 'responses' && stranger.type === 'x_new'
    const known = isContent ? CONTENTS : KNOWN_BLOCKS[format]
    const parts = (blocks: readonly Json[]): Part[] =>
      WHOLE_FORMATS[format].readAnswer(whole(blocks)).choices[0]!.parts.filter(({ kind }) => kind !== 'opaque')
    const plain = parts(known)
    equal(plain.length, known.length, format)
    for (let i = 0; i <= known.length; i++)
      deepEqual(parts(known.toSpliced(i, 0, stranger)), plain, `${format} at ${i}`)
  }
})
