/** Bedrock's Converse and ConverseStream (API reference of Amazon Bedrock Runtime). */

import type { Body } from '#backends/demo/models/wire.ts'
import { encodeEvent } from '#backends/llm/testing/aws-event-stream.ts'
import { type Double, type ModelReply, pieces, whole } from './double.ts'
import * as s from './shape.ts'

const CACHE = { cachePoint: s.object({ 'type!': s.words('default'), ttl: s.words('5m', '1h') }) }
const SOURCE = s.object({ bytes: s.matching(/^[A-Za-z0-9+/]+=*$/), s3Location: s.map, text: s.text })
const MEDIA = {
  image: s.object({ 'format!': s.words('png', 'jpeg', 'gif', 'webp'), 'source!': SOURCE }),
  document: s.object({
    format: s.words('pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md'),
    'name!': s.matching(/^(?!.* {2})[A-Za-z0-9 \-()[\]]{1,200}$/),
    'source!': SOURCE
  })
}
const NAME = s.matching(/^[a-zA-Z0-9_-]{1,64}$/)
const ID = s.matching(/^[a-zA-Z0-9_.:-]{1,64}$/)
const BLOCK = s.union(
  {
    text: s.filled,
    ...MEDIA,
    ...CACHE,
    toolUse: s.object({ 'toolUseId!': ID, 'name!': NAME, 'input!': s.map }),
    toolResult: s.object({
      'toolUseId!': ID,
      'content!': s.list(s.union({ text: s.filled, json: s.map, ...MEDIA }, {})),
      status: s.words('success', 'error')
    }),
    reasoningContent: s.union(
      { reasoningText: s.object({ 'text!': s.text, signature: s.text }), redactedContent: s.text },
      {}
    )
  },
  {}
)
const TOOL = s.union(
  {
    toolSpec: s.object({
      'name!': NAME,
      description: s.filled,
      'inputSchema!': s.object({
        'json!': (value, at, faults) => {
          if ((value as Body)?.type !== 'object') faults.push(`${at}.type: must be 'object'`)
        }
      }),
      strict: s.flag
    }),
    ...CACHE
  },
  {}
)
const METADATA: s.Check = (value, at, faults) => {
  for (const [name, one] of Object.entries(value as Body))
    s.matching(/^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/)(one, `${at}.${name}`, faults)
}
const BODY = s.object({
  'messages!': s.list(s.object({ 'role!': s.words('user', 'assistant'), 'content!': s.list(BLOCK, 1) }), 1),
  system: s.list(s.union({ text: s.filled, ...CACHE }, {})),
  inferenceConfig: s.object({
    maxTokens: s.number,
    temperature: s.within(0, 1),
    topP: s.within(0, 1),
    stopSequences: s.list(s.filled)
  }),
  toolConfig: s.object({
    'tools!': s.list(TOOL, 1),
    toolChoice: s.union({ auto: s.map, any: s.map, tool: s.object({ 'name!': NAME }) }, {})
  }),
  additionalModelRequestFields: s.map,
  additionalModelResponseFieldPaths: s.list(s.text),
  outputConfig: s.object({
    effort: s.words('low', 'medium', 'high', 'xhigh', 'max'),
    textFormat: s.object({ 'type!': s.words('json_schema'), 'structure!': s.map })
  }),
  serviceTier: s.object({ 'type!': s.words('priority', 'default', 'flex', 'reserved') }),
  requestMetadata: METADATA
})

const idsOf = (message: Body, kind: 'toolUse' | 'toolResult'): string[] =>
  (message?.content ?? []).flatMap((block: Body) => (block[kind] ? [block[kind].toolUseId] : []))

function orderOf({ messages, toolConfig }: Body): string | null {
  if (messages[0].role !== 'user') return 'A conversation must start with a user message.'
  for (const [i, message] of messages.entries()) {
    if (message.role === messages[i - 1]?.role) return `messages[${i}]: roles must alternate between user and assistant`
    const uses = idsOf(message, 'toolUse')
    const results = idsOf(messages[i + 1], 'toolResult')
    if (uses.length !== results.length || uses.some((id) => !results.includes(id)))
      return `messages[${i}]: the number of toolResult blocks must be that of the toolUse blocks of the previous turn`
    const hasTools = uses.length > 0 || idsOf(message, 'toolResult').length > 0
    if (hasTools && toolConfig === undefined)
      return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
    const isBare = message.content.some((b: Body) => b.document) && !message.content.some((b: Body) => b.text)
    if (isBare) return `messages[${i}]: a message with a document must have a text as well`
  }
  return null
}

function thinkingFault({ additionalModelRequestFields: more, inferenceConfig, toolConfig, messages }: Body) {
  if (more?.thinking?.type !== 'enabled') return null
  if ((inferenceConfig?.temperature ?? 1) !== 1) return '`temperature` may only be set to 1 when thinking is enabled'
  const choice = toolConfig?.toolChoice ?? more.tool_choice ?? {}
  if (choice.any || choice.tool || ['any', 'tool'].includes(choice.type))
    return 'Thinking may not be enabled when tool_choice forces tool use.'
  const last = messages.findLastIndex(({ role }: Body) => role === 'assistant')
  const isOfLoop = last >= 0 && idsOf(messages[last], 'toolUse').length > 0
  if (isOfLoop && !messages[last].content[0].reasoningContent)
    return `messages[${last}]: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\``
  return null
}

const USAGE = {
  inputTokens: 120,
  outputTokens: 30,
  totalTokens: 150,
  cacheReadInputTokens: 0,
  cacheWriteInputTokens: 0
}

/** Claude on Bedrock says the type of a call in it, which its API reference does not have. */
function blocksOf(reply: ModelReply): Body[] {
  const reasoningText = { text: reply.thoughts, signature: 'EqQBCkgIBBABGAIqQA==' }
  return [
    ...(reply.thoughts === null ? [] : [{ reasoningContent: { reasoningText } }]),
    ...(reply.text === '' ? [] : [{ text: reply.text }]),
    ...reply.calls.map(({ id, name, input }) => ({
      toolUse: { toolUseId: `tooluse_${id}`, name, input: JSON.parse(input), type: 'tool_use' }
    }))
  ]
}

function deltasOf(block: Body): object[] {
  if (block.text !== undefined) return pieces(block.text).map((text) => ({ text }))
  if (block.toolUse) return pieces(JSON.stringify(block.toolUse.input)).map((input) => ({ toolUse: { input } }))
  const { text, signature } = block.reasoningContent.reasoningText
  return [...pieces(text).map((piece) => ({ reasoningContent: { text: piece } })), { reasoningContent: { signature } }]
}

function streamed(reply: ModelReply, reason: string): Uint8Array[] {
  const list: (readonly [string, object])[] = [['messageStart', { role: 'assistant' }]]
  for (const [contentBlockIndex, block] of blocksOf(reply).entries()) {
    if (block.toolUse) {
      const { toolUseId, name, type } = block.toolUse
      list.push(['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name, type } } }])
    }
    for (const delta of deltasOf(block)) list.push(['contentBlockDelta', { contentBlockIndex, delta, p: 'abcd' }])
    list.push(['contentBlockStop', { contentBlockIndex, p: 'ab' }])
  }
  list.push(['messageStop', { stopReason: reason, p: 'abc' }])
  list.push(['metadata', { usage: USAGE, metrics: { latencyMs: 900 }, p: 'a' }])
  return list.map(([name, event]) => encodeEvent('event', name, JSON.stringify(event)))
}

const forcedOf = ({ toolConfig, additionalModelRequestFields: more }: Body): string | null => {
  const { any, tool } = toolConfig?.toolChoice ?? {}
  const claudes = more?.tool_choice
  return any || claudes?.type === 'any' ? '' : (tool?.name ?? claudes?.name ?? null)
}

export const converse: Double = {
  refuses: (body) => s.faultOf(BODY, body) ?? orderOf(body) ?? thinkingFault(body),
  facts: (body, path) => ({
    tools: (body.toolConfig?.tools ?? []).flatMap((tool: Body) => tool.toolSpec?.name ?? []),
    results: body.messages.flatMap((message: Body) => idsOf(message, 'toolResult')).length,
    forced: forcedOf(body),
    mayCall: true,
    thinks: ['enabled', 'adaptive'].includes(body.additionalModelRequestFields?.thinking?.type),
    isStreamed: path.endsWith('/converse-stream')
  }),
  answer: (reply, _, { isStreamed }) => {
    const reason = reply.calls.length > 0 ? 'tool_use' : 'end_turn'
    if (isStreamed)
      return { status: 200, contentType: 'application/vnd.amazon.eventstream', chunks: streamed(reply, reason) }
    const message = { role: 'assistant', content: blocksOf(reply) }
    return whole({ metrics: { latencyMs: 900 }, output: { message }, stopReason: reason, usage: USAGE })
  },
  error: (_, message) => ({ message })
}
