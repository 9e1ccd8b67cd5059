import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientFormat, Usage } from '#backends/llm/conversation.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { SseReader } from '#engine/http/sse.ts'
import type { CostTap } from './cost-tap.ts'
import { nativeTap } from './native-tap.ts'
import { TranslatingTap } from './translating-tap.ts'

const CONTEXT = { model: 'm', wantsUsage: true, at: 0, id: 'id' }
const EX = {} as Exchange

/** As the providers' documentation shows them; text with the marks in it, as models that talk of APIs write it. */
const STREAMS: Readonly<Record<'completions' | 'messages' | 'responses', readonly object[]>> = {
  completions: [
    { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt', choices: [choice({ role: 'assistant' })] },
    { id: 'c', model: 'gpt', choices: [choice({ content: 'é: say "usage": {} and [DONE]' })], usage: null },
    { id: 'c', model: 'gpt', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null },
    { id: 'c', model: 'gpt', choices: [], usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 } }
  ],
  messages: [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'claude',
        content: [],
        usage: { input_tokens: 12 }
      }
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a "message_stop"\n\nevent: error' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' }
  ],
  responses: [
    { type: 'response.created', sequence_number: 0, response: { id: 'r', model: 'gpt', output: [], usage: null } },
    {
      type: 'response.output_text.delta',
      sequence_number: 1,
      item_id: 'i',
      output_index: 0,
      content_index: 0,
      delta: '"error":{'
    },
    {
      type: 'response.completed',
      sequence_number: 2,
      response: {
        id: 'r',
        object: 'response',
        created_at: 1,
        status: 'completed',
        model: 'gpt',
        output: [],
        usage: { input_tokens: 12, output_tokens: 7, total_tokens: 19 }
      }
    }
  ]
}

function choice(delta: object): object {
  return { index: 0, delta, finish_reason: null }
}

function wireOf(format: keyof typeof STREAMS, end = '\n'): Buffer {
  const events = STREAMS[format].map((event) => {
    const name = format === 'completions' ? '' : `event: ${(event as { type: string }).type}${end}`
    return `${name}data: ${JSON.stringify(event)}${end}${end}`
  })
  return Buffer.from(
    `: hello${end}${end}${events.join('')}${format === 'completions' ? `data: [DONE]${end}${end}` : ''}`
  )
}

function tapOf(format: ClientFormat, hidesUsage = false): CostTap {
  const from = FORMATS[format]
  return nativeTap({
    format,
    reader: from.streamReader(),
    writer: () => from.streamWriter(CONTEXT),
    hidesUsage,
    offload: null
  })!
}

/** What the client gets of `wire`, cut at `cuts`. */
function passed(tap: CostTap, wire: Buffer, cuts: readonly number[]): { text: string; usage: Usage | null } {
  const edges = [0, ...cuts, wire.length]
  const out: Buffer[] = []
  for (let i = 1; i < edges.length; i++) {
    const [start, end] = [edges[i - 1]!, edges[i]!]
    // The buffer is lent: it has other bytes around it, and after the call.
    const lent = Buffer.concat([Buffer.from('###'), wire.subarray(start, end), Buffer.from('###')])
    const bytes = tap.body(EX, lent, 3, 3 + end - start)
    if (bytes !== null) out.push(Buffer.from(bytes === lent ? lent.subarray(3, 3 + end - start) : bytes))
    lent.fill('#')
  }
  out.push(tap.end(EX) ?? Buffer.alloc(0))
  return { text: Buffer.concat(out).toString(), usage: tap.cost.usage }
}

for (const format of ['completions', 'messages', 'responses'] as const) {
  test(`${format}: every byte passes, and the usage is that of reading every event, wherever it is cut`, () => {
    for (const end of ['\n', '\r\n']) {
      const wire = wireOf(format, end)
      const from = FORMATS[format]
      const chat = new TranslatingTap({
        from,
        framing: new SseReader(),
        writer: from.streamWriter(CONTEXT),
        losses: new Losses(),
        isNative: true
      })
      const { usage } = passed(chat, wire, [])
      assert.ok(usage !== null && usage.input + usage.output === 19, JSON.stringify(usage))
      for (let cut = 0; cut <= wire.length; cut++) {
        for (const cuts of [[cut], [cut, Math.min(cut + 1, wire.length)]]) {
          const tap = tapOf(format)
          assert.deepEqual(passed(tap, wire, cuts), { text: wire.toString(), usage }, `${end.length} ${cuts.join()}`)
          assert.deepEqual([tap.cost.isOver, tap.cost.model], [true, format === 'messages' ? 'claude' : 'gpt'])
        }
      }
      const each = Array.from(wire.keys()).slice(1)
      assert.deepEqual(passed(tapOf(format), wire, each), { text: wire.toString(), usage })
    }
  })

  test(`${format}: one that stops short ends with an error of the format`, () => {
    const whole = wireOf(format)
    const wire = whole.subarray(0, whole.lastIndexOf('\n\ndata: {') + 2)
    const { text } = passed(tapOf(format), whole.subarray(0, 200), [])
    const passes = whole.subarray(0, whole.lastIndexOf('\n\n', 198) + 2).toString()
    assert.ok(text.startsWith(passes), 'what came whole has passed')
    // Glued to half an event, nobody would understand it.
    assert.match(
      text.slice(passes.length),
      /^(?:event: \w+\n)?data: .*the provider ended its answer before it was complete/
    )
    const tap = tapOf(format)
    if (wire.length > 2) tap.body(EX, wire, 0, wire.length)
    const event = tap.fault(EX, 'UPSTREAM_RESET')!.toString()
    assert.match(event, /^(?:event: \w+\n)?data: \{.*error.*\}\n\n/)
    assert.equal(tap.fault(EX, 'UPSTREAM_RESET')?.length, 0, 'once')
  })
}

test('the usage chunk that the client did not ask for is taken out, and nothing else, wherever it is cut', () => {
  for (const end of ['\n', '\r\n']) {
    const wire = wireOf('completions', end)
    const events = wire.toString().split(`${end}${end}`)
    const expected = events.filter((event) => !event.includes('prompt_tokens')).join(`${end}${end}`)
    for (let cut = 0; cut <= wire.length; cut++) {
      const { text, usage } = passed(tapOf('completions', true), wire, [cut])
      assert.equal(text, expected, String(cut))
      assert.equal(usage?.output, 7)
    }
  }
})

test('an event that is whole goes on at once, also when its last line end comes alone', () => {
  for (const end of ['\n', '\r\n']) {
    const event = Buffer.from(`data: ${JSON.stringify({ choices: [choice({ content: 'a' })] })}${end}${end}`)
    for (let cut = 1; cut < event.length; cut++) {
      const tap = tapOf('completions', true)
      assert.equal(tap.body(EX, event, 0, cut), null)
      assert.equal(tap.body(EX, event, cut, event.length)?.toString(), event.toString(), String(cut))
    }
  }
})

test('unknown events pass: the client may know them', () => {
  const wire = Buffer.from('data: {"choices": 7, "error": \n\ndata: [1]\n\ndata: "usage": {\n\ndata: [DONE]\n\n')
  const { text, usage } = passed(tapOf('completions'), wire, [10])
  assert.deepEqual([text, usage], [wire.toString(), null])
})

test('formats without marks have to be read', () => {
  const gemini = FORMATS.gemini
  const writer = () => gemini.streamWriter(CONTEXT)
  assert.equal(
    nativeTap({ format: 'gemini', reader: gemini.streamReader(), writer, hidesUsage: false, offload: null }),
    null
  )
})
