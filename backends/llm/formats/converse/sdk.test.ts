/** AWS's own client against what this format writes, and this format against what the client sends. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import {
  BedrockRuntimeClient,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand
} from '@aws-sdk/client-bedrock-runtime'
import type { ChatError, ChatEvent, JsonObject } from '#backends/llm/conversation.ts'
import { errorTypeOf } from '#backends/llm/formats/converse/error.ts'
import { type AnswerContext, Losses } from '#backends/llm/formats/format.ts'
import { frameEvents } from '#backends/llm/testing/aws-event-stream.ts'
import { converse } from '#backends/llm/testing/converse/index.ts'

const CONTEXT: AnswerContext = { model: 'm', wantsUsage: true, at: 0, id: 'i' }
const INPUT: ConverseCommandInput = {
  modelId: 'anthropic.claude-3-7-sonnet-20250219-v1:0',
  messages: [
    {
      role: 'user',
      content: [
        { text: 'hi' },
        { image: { format: 'png', source: { bytes: Uint8Array.of(0, 1) } } },
        { toolResult: { toolUseId: 't', content: [{ text: 'r' }], status: 'error' } }
      ]
    }
  ],
  additionalModelRequestFields: { top_k: 3 },
  inferenceConfig: { maxTokens: 5 }
}
const ERROR: ChatError = { status: 429, type: 'rateLimit', message: 'slow down', code: null, param: null }

/** A client whose requests are answered with these bytes. */
function clientOf(statusCode: number, headers: { [name: string]: string }, body: string | Buffer) {
  const sent: JsonObject[] = []
  const client = new BedrockRuntimeClient({
    region: 'us-east-1',
    maxAttempts: 1,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: {
      handle: (request: { body?: string }) => {
        sent.push(JSON.parse(request.body ?? '{}') as JsonObject)
        return Promise.resolve({ response: { statusCode, headers, body: Readable.from([body]) } })
      }
    } as never
  })
  return { client, sent }
}

test('a request of the client is read and written as it was, and our answer is read by it', async () => {
  const answer = converse.readAnswer({
    output: {
      message: { role: 'assistant', content: [{ text: 'hello' }, { reasoningContent: { redactedContent: 'AAE=' } }] }
    },
    stopReason: 'max_tokens',
    usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 }
  })
  const body = JSON.stringify(converse.writeAnswer(answer, CONTEXT, new Losses()))
  const { client, sent } = clientOf(200, { 'content-type': 'application/json' }, body)
  const output = await client.send(new ConverseCommand(INPUT))
  assert.equal(output.stopReason, 'max_tokens')
  assert.deepEqual(output.output?.message?.content?.[0], { text: 'hello' })
  assert.deepEqual(output.output?.message?.content?.[1]?.reasoningContent?.redactedContent, Uint8Array.of(0, 1))
  assert.deepEqual(output.usage, { inputTokens: 1, outputTokens: 2, totalTokens: 3 })
  const read = converse.readRequest(sent[0]!, { model: INPUT.modelId!, isStreamed: false })
  assert.equal(read.sampling.topK, 3)
  assert.deepEqual(converse.writeRequest(read, new Losses()), sent[0])
})

test('our stream is read by the client, and its end by an exception', async () => {
  const events: ChatEvent[] = [
    { kind: 'start', id: '', model: '', created: 0, usage: null },
    { kind: 'begin', choice: 0, part: { kind: 'text', text: '', cache: null } },
    { kind: 'delta', choice: 0, text: 'hello', logprobs: null },
    { kind: 'end', choice: 0 },
    { kind: 'stop', choice: 0, stop: 'end', stopSequence: null }
  ]
  const run = async (last: ChatEvent): Promise<string[]> => {
    const writer = converse.streamWriter(CONTEXT)
    const wire = Buffer.concat([...events, last].map((event) => frameEvents(writer.write(event))))
    const { client } = clientOf(200, { 'content-type': 'application/vnd.amazon.eventstream' }, wire)
    const { stream } = await client.send(new ConverseStreamCommand(INPUT))
    const names: string[] = []
    for await (const event of stream!) names.push(...Object.keys(event))
    return names
  }
  assert.deepEqual(await run({ kind: 'done' }), [
    'messageStart',
    'contentBlockDelta',
    'contentBlockStop',
    'messageStop',
    'metadata'
  ])
  await assert.rejects(run({ kind: 'error', error: ERROR }), { name: 'ThrottlingException', message: 'slow down' })
})

test('our error is the exception that it says, with and without its header', async () => {
  const body = JSON.stringify(converse.writeError(ERROR))
  for (const headers of [{}, { 'x-amzn-errortype': errorTypeOf(ERROR) }]) {
    const { client } = clientOf(429, { 'content-type': 'application/json', ...headers }, body)
    await assert.rejects(client.send(new ConverseCommand(INPUT)), { name: 'ThrottlingException', message: 'slow down' })
  }
})
