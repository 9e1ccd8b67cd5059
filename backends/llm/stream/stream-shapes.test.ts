/**
 * What the strictest clients of chat completions ask of a stream, whatever provider it comes from: openai-python puts
 * lists together by `index` and fails without; it, LangChain, LiteLLM and the ai SDK read `function` of all pieces of a
 * call.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, ClientFormat, FormatName, Json, JsonObject, MediaPart } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { GOLDENS } from '#backends/llm/testing/goldens.ts'

const CONTEXT = { model: 'm', wantsUsage: true, at: 0, id: 'id' }
const seal = (choice = 0): ChatEvent => ({
  kind: 'signature',
  choice,
  signature: { format: 'gemini', data: 'c2ln' }
})
const thinking = { kind: 'thinking', text: 'Hm', signature: null, isRedacted: false } as const
const toolCall = { kind: 'toolCall', name: 'f', arguments: '', signature: null, cache: null } as const
const image: MediaPart = {
  kind: 'image',
  source: { kind: 'base64', data: 'iVBORw0KGgo=' },
  mediaType: 'image/png',
  name: null,
  detail: null,
  cache: null
}
const end: ChatEvent = { kind: 'end', choice: 0 }

/** All that a client puts together of pieces: seals of calls and thoughts, and images, two of each. */
const RICH: readonly ChatEvent[] = [
  { kind: 'start', id: 'x', model: 'm', created: 1, usage: null },
  ...[thinking, thinking].flatMap((part): ChatEvent[] => [{ kind: 'begin', choice: 0, part }, seal(), end]),
  ...[image, image].flatMap((part): ChatEvent[] => [{ kind: 'begin', choice: 0, part }, end]),
  ...['a', 'b'].flatMap((id): ChatEvent[] => [
    { kind: 'begin', choice: 0, part: { ...toolCall, id } },
    { kind: 'delta', choice: 0, text: '{"a":1}', logprobs: null },
    seal(),
    end
  ]),
  { kind: 'stop', choice: 0, stop: 'tools', stopSequence: null },
  { kind: 'done' }
]

function deltasOf(events: readonly ChatEvent[]): JsonObject[] {
  const writer = FORMATS.completions.streamWriter(CONTEXT)
  const lines = events
    .map((event) => writer.write(event))
    .join('')
    .split('\n\n')
  return lines.flatMap((line) => {
    if (!line.startsWith('data: {')) return []
    const { choices } = JSON.parse(line.slice(6)) as { choices: { delta: JsonObject }[] }
    return choices.map(({ delta }) => delta)
  })
}

/** As openai-python's accumulate_delta: lists of objects by index. */
function assembled(deltas: readonly JsonObject[]): Readonly<Record<string, Json[]>> {
  const lists: Record<string, Json[]> = {}
  for (const delta of deltas) {
    for (const [name, value] of Object.entries(delta)) {
      if (!Array.isArray(value)) continue
      for (const entry of value as readonly Json[]) {
        ok(isObject(entry) && typeof entry.index === 'number', `${name}: ${JSON.stringify(entry)} has no index`)
        ok(name !== 'tool_calls' || isObject(entry.function), `${JSON.stringify(entry)} has no function`)
        const list = lists[name] ?? []
        lists[name] = list
        list[entry.index] = { ...(list[entry.index] as JsonObject | undefined), ...entry }
      }
    }
  }
  return lists
}

test('every piece of a list says where it belongs, and every piece of a call has a function', () => {
  const lists = assembled(deltasOf(RICH))
  deepEqual(
    Object.entries(lists).map(([name, list]) => [name, list.length]),
    [
      ['thinking_blocks', 2],
      ['images', 2],
      ['tool_calls', 2]
    ]
  )
  for (const call of lists.tool_calls!) ok(isObject(call) && isObject(call.extra_content), 'the seal is with its call')
})

test('so it is for what each format streams', () => {
  for (const [format, { events }] of Object.entries(GOLDENS) as [FormatName, (typeof GOLDENS)[FormatName]][]) {
    const reader = FORMATS[format].streamReader()
    const read = events.flatMap(([name, data]) => reader.read({ name, data: JSON.stringify(data) }))
    // A prediction has no calls.
    equal(assembled(deltasOf(read)).tool_calls?.length ?? 0, format === 'predictions' ? 0 : 1, format)
  }
})

test('a call of no arguments has those of an empty object, which clients parse, in every format', () => {
  const bare: readonly ChatEvent[] = [
    { kind: 'start', id: 'x', model: 'm', created: 1, usage: null },
    { kind: 'begin', choice: 0, part: { ...toolCall, id: 'a' } },
    end,
    { kind: 'stop', choice: 0, stop: 'tools', stopSequence: null },
    { kind: 'done' }
  ]
  const text = (format: ClientFormat) => {
    const writer = FORMATS[format].streamWriter(CONTEXT)
    return bare.map((event) => writer.write(event)).join('')
  }
  match(text('completions'), /"function":\{"arguments":"\{\}"\}/)
  match(text('responses'), /function_call_arguments\.done.*"arguments":"\{\}"/)
  match(text('messages'), /"tool_use".*"input":\{\}/)
  match(text('gemini'), /"functionCall":\{[^}]*"args":\{\}/)
})
