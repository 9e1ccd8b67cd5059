import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, ChatEvent, JsonObject, StopReason, Usage } from '#backends/llm/conversation.ts'
import { type AnswerContext, FormatError, Losses } from '#backends/llm/formats/format.ts'
import { converse } from '#backends/llm/testing/converse/index.ts'

const CONTEXT: AnswerContext = { model: 'm', wantsUsage: true, at: 0, id: 'i' }
const say = (name: string, value: JsonObject) => ({ name, data: JSON.stringify(value) })
const write = (answer: Answer): JsonObject => converse.writeAnswer(answer, CONTEXT, new Losses())
const readAll = (events: readonly { name: string; data: string }[]): ChatEvent[] => {
  const reader = converse.streamReader()
  return events.flatMap((event) => reader.read(event))
}

/** The response of the API reference's example, with every field that there is. */
const BODY: JsonObject = {
  output: {
    message: {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
        { reasoningContent: { redactedContent: 'AAEC' } },
        { text: 'hello' },
        { citationsContent: { content: [{ text: 'a' }], citations: [{ title: 't' }] } },
        { toolUse: { toolUseId: 't1', name: 'f', input: { a: 1 } } },
        { toolUse: { toolUseId: 't2', name: 'nova_grounding', input: {}, type: 'server_tool_use' } },
        { toolResult: { toolUseId: 't2', type: 'nova_grounding_result', content: [{ json: {} }] } },
        { image: { format: 'png', source: { bytes: 'AA==' } } }
      ]
    }
  },
  stopReason: 'stop_sequence',
  usage: {
    inputTokens: 3,
    outputTokens: 5,
    totalTokens: 118,
    cacheReadInputTokens: 80,
    cacheWriteInputTokens: 30,
    cacheDetails: [
      { ttl: '1h', inputTokens: 20 },
      { ttl: '5m', inputTokens: 10 }
    ]
  },
  metrics: { latencyMs: 12 },
  additionalModelResponseFields: { stop_sequence: 'END', other: 1 },
  trace: { guardrail: { actionReason: 'r' }, promptRouter: { invokedModelId: 'x' } },
  performanceConfig: { latency: 'standard' },
  serviceTier: { type: 'flex' }
}

test('an answer is read with all that its reference has', () => {
  const answer = converse.readAnswer(BODY)
  const { output, stopReason, usage } = write(answer)
  assert.deepEqual(
    { output, stopReason, usage },
    { output: BODY.output, stopReason: BODY.stopReason, usage: BODY.usage }
  )
  assert.deepEqual(
    [answer.choices[0]?.stop, answer.choices[0]?.stopSequence, answer.serviceTier],
    ['stopSequence', 'END', 'flex']
  )
  assert.deepEqual(
    [...answer.origin.unknownFields.keys()],
    ['additionalModelResponseFields', 'metrics', 'trace', 'performanceConfig']
  )
})

test('usage: cached tokens are part of the input, by their time to live', () => {
  const usage = (value: JsonObject) => converse.readAnswer({ ...BODY, usage: value }).usage
  const expected: Usage = {
    input: 113,
    cacheRead: 80,
    cacheWrite5m: 10,
    cacheWrite1h: 20,
    inputAudio: 0,
    inputImage: 0,
    output: 5,
    reasoning: 0,
    outputAudio: 0,
    outputImage: 0
  }
  assert.deepEqual(converse.readAnswer(BODY).usage, expected)
  assert.deepEqual(usage({ inputTokens: 3, outputTokens: 5, totalTokens: 8 }), {
    ...expected,
    input: 3,
    cacheRead: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0
  })
  const untold = usage({ inputTokens: 3, outputTokens: 5, totalTokens: 18, cacheWriteInputTokens: 10 })
  assert.deepEqual([untold?.input, untold?.cacheWrite5m, untold?.cacheWrite1h], [13, 10, 0])
})

test('stop reasons', () => {
  const stops: [word: string, stop: StopReason][] = [
    ['end_turn', 'end'],
    ['tool_use', 'tools'],
    ['max_tokens', 'length'],
    ['stop_sequence', 'stopSequence'],
    ['guardrail_intervened', 'filter'],
    ['content_filtered', 'filter'],
    ['malformed_model_output', 'error'],
    ['malformed_tool_use', 'error'],
    ['model_context_window_exceeded', 'contextWindow'],
    ['one of tomorrow', 'end']
  ]
  for (const [word, stop] of stops) {
    const body = { ...BODY, stopReason: word, additionalModelResponseFields: null }
    const answer = converse.readAnswer(body)
    assert.equal(answer.choices[0]?.stop, stop)
    const [, ended] = readAll([say('messageStop', { stopReason: word })])
    assert.deepEqual(ended, { kind: 'stop', choice: 0, stop, stopSequence: null })
  }
})

test('escaped tool names come back', () => {
  const use = { toolUseId: 'i', name: 'weir--files-2eread' }
  const called = converse.readAnswer({
    ...BODY,
    output: { message: { content: [{ toolUse: { ...use, input: {} } }] } }
  })
  assert.equal((called.choices[0]!.parts[0] as { name: string }).name, 'files.read')
  const [start, begin] = readAll([say('contentBlockStart', { contentBlockIndex: 0, start: { toolUse: use } })])
  assert.equal((begin as { part: { name: string } }).part.name, 'files.read')
  // It has not been said that a message begins.
  assert.equal(start?.kind, 'start')
})

test('a stream as Bedrock sends it', () => {
  const delta = (contentBlockIndex: number, value: JsonObject) =>
    say('contentBlockDelta', { contentBlockIndex, delta: value, p: 'abc' })
  const stop = (contentBlockIndex: number) => say('contentBlockStop', { contentBlockIndex })
  const events = readAll([
    say('messageStart', { role: 'assistant' }),
    delta(0, { reasoningContent: { text: 'h' } }),
    delta(0, { reasoningContent: { text: 'm' } }),
    delta(0, { reasoningContent: { signature: 'c2' } }),
    delta(0, { reasoningContent: { signature: 'ln' } }),
    stop(0),
    delta(1, { reasoningContent: { redactedContent: 'AA==' } }),
    delta(1, { reasoningContent: { redactedContent: 'AQ==' } }),
    stop(1),
    delta(2, { text: 'hel' }),
    delta(2, { text: 'lo' }),
    delta(2, { citation: { title: 't' } }),
    stop(2),
    say('contentBlockStart', { contentBlockIndex: 3, start: { toolUse: { toolUseId: 't1', name: 'f' } } }),
    delta(3, { toolUse: { input: '{"a"' } }),
    delta(3, { toolUse: { input: ':1}' } }),
    stop(3),
    say('contentBlockStart', { contentBlockIndex: 4, start: { toolUse: { toolUseId: 't2', name: 'g' } } }),
    stop(4),
    say('contentBlockStart', { contentBlockIndex: 5, start: { toolResult: { toolUseId: 't3', type: 'x' } } }),
    delta(5, { toolResult: [{ text: 'r' }] }),
    stop(5),
    say('contentBlockStart', { contentBlockIndex: 6, start: { image: { format: 'png' } } }),
    delta(6, { image: { source: { bytes: 'AA==' } } }),
    delta(6, { image: { source: { bytes: 'AQI=' } } }),
    stop(6),
    say('messageStop', { stopReason: 'tool_use' }),
    say('metadata', { usage: BODY.usage!, metrics: { latencyMs: 1 }, serviceTier: { type: 'flex' } })
  ])
  assert.equal(events.at(-1)?.kind, 'done')
  const answer = assemble(events, 'converse')
  const call = { kind: 'toolCall', signature: null, cache: null } as const
  const opaque = { kind: 'opaque', format: 'converse' } as const
  assert.deepEqual(answer.choices[0]?.parts, [
    { kind: 'thinking', text: 'hm', signature: { format: 'converse', data: 'c2ln' }, isRedacted: false },
    { kind: 'thinking', text: '', signature: { format: 'converse', data: 'AAE=' }, isRedacted: true },
    { kind: 'text', text: 'hello', cache: null },
    { ...opaque, value: { citationsContent: { citations: [{ title: 't' }] } } },
    { ...call, id: 't1', name: 'f', arguments: '{"a":1}' },
    { ...call, id: 't2', name: 'g', arguments: '{}' },
    { ...opaque, value: { toolResult: { toolUseId: 't3', type: 'x', content: [{ text: 'r' }] } } },
    {
      kind: 'image',
      source: { kind: 'base64', data: 'AAEC' },
      mediaType: 'image/png',
      name: null,
      detail: null,
      cache: null
    }
  ])
  assert.deepEqual([answer.usage, answer.serviceTier], [converse.readAnswer(BODY).usage, 'flex'])
})

test('exceptions are errors, in the stream and alone', () => {
  const [event] = readAll([say('throttlingException', { message: 'slow down' })])
  const error = {
    status: 429,
    type: 'rateLimit',
    message: 'slow down',
    code: 'throttlingException',
    param: null
  } as const
  assert.deepEqual(event, { kind: 'error', error })
  const [other] = readAll([{ name: 'error', data: '{"code":"Boom","message":"it broke"}' }])
  assert.deepEqual(other, {
    kind: 'error',
    error: { status: 500, type: 'internal', message: 'it broke', code: 'Boom', param: null }
  })
  const statuses: [status: number, type: string][] = [
    [400, 'invalidRequest'],
    [401, 'authentication'],
    [403, 'permission'],
    [404, 'notFound'],
    [408, 'timeout'],
    [413, 'tooLarge'],
    [424, 'internal'],
    [429, 'rateLimit'],
    [500, 'internal'],
    [503, 'overloaded'],
    [504, 'timeout']
  ]
  for (const [status, type] of statuses) {
    assert.deepEqual(converse.readError(status, '{"message":"m"}'), {
      status,
      type,
      message: 'm',
      code: null,
      param: null
    })
  }
  assert.equal(
    converse.readError(400, '{"Message":"m","__type":"com.amazon#ServiceQuotaExceededException:x"}').type,
    'quota'
  )
  for (const body of ['', '<html>', '[]', 'null', '{"message":3}'])
    assert.equal(converse.readError(502, body).message, body)
  assert.deepEqual(converse.writeError({ ...error, code: null }), {
    message: 'slow down',
    __type: 'ThrottlingException'
  })
  const read = converse.readError(
    429,
    JSON.stringify(converse.writeError({ ...error, code: 'modelNotReadyException' }))
  )
  assert.deepEqual([read.type, read.code], ['overloaded', 'ModelNotReadyException'])
})

test('streams that are wrong are FormatErrors', () => {
  const wrong: [name: string, value: string][] = [
    ['contentBlockDelta', '{'],
    ['contentBlockDelta', '{"contentBlockIndex":0}'],
    ['contentBlockDelta', '{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{"}}}'],
    ['contentBlockDelta', '{"contentBlockIndex":"0","delta":{"text":"a"}}'],
    ['contentBlockStart', '{"contentBlockIndex":0,"start":{"toolUse":{"name":"f"}}}'],
    ['messageStop', '[]'],
    ['metadata', '{"usage":{"inputTokens":"many"}}']
  ]
  for (const [name, data] of wrong) assert.throws(() => readAll([{ name, data }]), FormatError, data)
  assert.deepEqual(readAll([{ name: 'somethingNew', data: 'whatever' }]), [])
  fc.assert(
    fc.property(
      fc.constantFrom(
        'contentBlockStart',
        'contentBlockDelta',
        'contentBlockStop',
        'messageStop',
        'metadata',
        'xException'
      ),
      fc.json(),
      (name, data) => {
        try {
          readAll([
            { name, data },
            { name: 'contentBlockStop', data }
          ])
        } catch (error) {
          assert.ok(error instanceof FormatError)
        }
      }
    )
  )
})
