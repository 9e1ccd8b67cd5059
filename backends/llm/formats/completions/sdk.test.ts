import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import type { Answer, ChatEvent } from '#backends/llm/conversation.ts'
import { completions } from '#backends/llm/formats/completions/index.ts'
import { Losses } from '#backends/llm/formats/format.ts'

const CONTEXT = { model: 'gpt-5', wantsUsage: true, at: 1_700_000_000_500, id: 'x' }
const USAGE = {
  input: 9,
  cacheRead: 1,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  output: 5,
  reasoning: 0,
  outputAudio: 0,
  outputImage: 0
}
const CALL = { kind: 'toolCall', id: 'call_1', name: 'f', arguments: '', signature: null, cache: null } as const
const EVENTS: readonly ChatEvent[] = [
  { kind: 'start', id: 'chatcmpl-1', model: 'm', created: 1, usage: null },
  { kind: 'begin', choice: 0, part: { kind: 'text', text: '', cache: null } },
  { kind: 'delta', choice: 0, text: 'Let me ', logprobs: null },
  { kind: 'delta', choice: 0, text: 'see.', logprobs: null },
  { kind: 'end', choice: 0 },
  { kind: 'begin', choice: 0, part: CALL },
  { kind: 'delta', choice: 0, text: '{"a":', logprobs: null },
  { kind: 'delta', choice: 0, text: '1}', logprobs: null },
  { kind: 'end', choice: 0 },
  { kind: 'begin', choice: 0, part: { ...CALL, id: 'call_2', name: 'g' } },
  { kind: 'end', choice: 0 },
  { kind: 'stop', choice: 0, stop: 'tools', stopSequence: null },
  { kind: 'usage', usage: USAGE, serviceTier: null },
  { kind: 'done' }
]
const ANSWER: Answer = {
  id: 'chatcmpl-1',
  model: 'm',
  created: 1,
  choices: [
    {
      parts: [
        { kind: 'text', text: 'Let me see.', cache: null },
        { ...CALL, arguments: '{"a":1}' },
        { ...CALL, id: 'call_2', name: 'g', arguments: '{}' }
      ],
      stop: 'tools',
      stopSequence: null,
      logprobs: null
    }
  ],
  usage: USAGE,
  serviceTier: null,
  origin: { format: 'messages', unknownFields: new Map() }
}

/** OpenAI's own client, to which `text` answers. */
function client(status: number, text: string, type: string): OpenAI {
  const fetch = async (): Promise<Response> => new Response(text, { status, headers: { 'content-type': type } })
  return new OpenAI({ apiKey: 'none', maxRetries: 0, fetch })
}

const BODY = { model: 'gpt-5', messages: [{ role: 'user', content: 'Hi' }] } as const

test("OpenAI's client understands answers, and streams the same", async () => {
  const whole = JSON.stringify(completions.writeAnswer(ANSWER, CONTEXT, new Losses()))
  const plain = await client(200, whole, 'application/json').chat.completions.create({
    ...BODY,
    messages: [...BODY.messages]
  })
  const writer = completions.streamWriter(CONTEXT)
  const text = EVENTS.map((event) => writer.write(event)).join('')
  const stream = client(200, text, 'text/event-stream').chat.completions.stream({
    ...BODY,
    messages: [...BODY.messages]
  })
  const streamed = await stream.finalChatCompletion()
  assert.equal(streamed.choices[0]?.message.content, 'Let me see.')
  assert.deepEqual(
    JSON.parse(JSON.stringify(streamed.choices[0]?.message.tool_calls)),
    plain.choices[0]?.message.tool_calls
  )
  assert.equal(streamed.choices[0]?.finish_reason, 'tool_calls')
  assert.deepEqual(streamed.usage, plain.usage)
})

test("OpenAI's client understands errors, and those in streams", async () => {
  const error = { status: 429, type: 'quota', message: 'No quota left', code: null, param: null } as const
  const failed = client(429, JSON.stringify(completions.writeError(error)), 'application/json')
  const isQuota = (thrown: unknown) => thrown instanceof OpenAI.APIError && thrown.code === 'insufficient_quota'
  await assert.rejects(failed.chat.completions.create({ ...BODY, messages: [...BODY.messages] }), isQuota)
  const text = completions.streamWriter(CONTEXT).write({ kind: 'error', error })
  const broken = client(200, text, 'text/event-stream').chat.completions.stream({
    ...BODY,
    messages: [...BODY.messages]
  })
  await assert.rejects(broken.finalChatCompletion(), isQuota)
})
