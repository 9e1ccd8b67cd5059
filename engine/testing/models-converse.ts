/** Bedrock's Converse and ConverseStream (API reference of Amazon Bedrock Runtime) of the test's models. */
import type { ServerResponse } from 'node:http'
import { type Body, PIECES, TOOL_ARGUMENTS } from '#backends/demo/models/wire.ts'
import { encodeEvent } from '#backends/llm/testing/aws-event-stream.ts'

const USAGE = { inputTokens: 8, outputTokens: 7, totalTokens: 19, cacheReadInputTokens: 4, cacheWriteInputTokens: 0 }

/** `path` ends with /converse or /converse-stream. */
export function answerConverse(path: string, body: Body, response: ServerResponse): void {
  response.setHeader('x-amzn-requestid', 'request-1')
  if (path.endsWith('/converse')) {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(whole(body)))
    return
  }
  response.setHeader('content-type', 'application/vnd.amazon.eventstream')
  for (const [name, event] of events(body)) response.write(encodeEvent('event', name, JSON.stringify(event)))
  response.end()
}

/** The same for who needs no server: as mockAnswer of the other formats. Without events where it is not streamed. */
export function converseAnswer(body: Body, isStreamed: boolean) {
  return { status: 200, whole: whole(body), events: isStreamed ? events(body) : null }
}

/** Bedrock's errors ("Common errors" of its API reference): a body with a message. */
export const CONVERSE_BUSY = { status: 429, whole: { message: 'Too many requests, please wait.' }, events: null }

const toolOf = (body: Body): string | undefined => body.toolConfig?.tools?.[0]?.toolSpec?.name

function whole(body: Body): object {
  const name = toolOf(body)
  const content =
    name === undefined
      ? { text: PIECES.join('') }
      : { toolUse: { toolUseId: 'tooluse_1', name, input: JSON.parse(TOOL_ARGUMENTS) } }
  return {
    output: { message: { role: 'assistant', content: [content] } },
    stopReason: name === undefined ? 'end_turn' : 'tool_use',
    usage: USAGE,
    metrics: { latencyMs: 5 }
  }
}

/** Texts begin with their first delta; tools are begun. */
function events(body: Body): (readonly [name: string, event: object])[] {
  const name = toolOf(body)
  const delta = (content: object) => ['contentBlockDelta', { contentBlockIndex: 0, delta: content }] as const
  const inputs = [TOOL_ARGUMENTS.slice(0, 5), TOOL_ARGUMENTS.slice(5)]
  const block =
    name === undefined
      ? PIECES.map((text) => delta({ text }))
      : [
          [
            'contentBlockStart',
            { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'tooluse_1', name } } }
          ] as const,
          ...inputs.map((input) => delta({ toolUse: { input } }))
        ]
  return [
    ['messageStart', { role: 'assistant' }],
    ...block,
    ['contentBlockStop', { contentBlockIndex: 0 }],
    ['messageStop', { stopReason: name === undefined ? 'end_turn' : 'tool_use' }],
    ['metadata', { usage: USAGE, metrics: { latencyMs: 5 } }]
  ]
}
