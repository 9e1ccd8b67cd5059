/** Streams of each format put together to whole answers, again without Weir's own readers. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { EventStreamDecoder } from '#backends/llm/stream/aws-event-stream.ts'
import { objectIn, type WireFormat } from './read.ts'

type Made = { [name: string]: Json }

/** Data of server-sent events, as JSON; and comments. */
export function eventsIn(bytes: Buffer): {
  readonly events: readonly JsonObject[]
  readonly comments: readonly string[]
} {
  const events: JsonObject[] = []
  const comments: string[] = []
  for (const block of bytes.toString().replace(/\r\n?/g, '\n').split('\n\n')) {
    const lines = block.split('\n')
    for (const line of lines) if (line.startsWith(':')) comments.push(line)
    const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart())
    const value = data.length === 0 ? null : objectIn(data.join('\n'))
    if (value !== null) events.push(value)
  }
  return { events, comments }
}

/** Of Converse: {"contentBlockDelta": {...}}. */
export function converseEvents(bytes: Buffer): readonly JsonObject[] {
  return new EventStreamDecoder().push(bytes).map(({ name, data }) => ({ [name]: objectIn(data) ?? {} }))
}

export function assembled(format: WireFormat, events: readonly JsonObject[]): JsonObject {
  return ASSEMBLERS[format](events)
}

const made = (value: Json | undefined): Made => (isObject(value) ? { ...value } : {})
const words = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : [])

const ASSEMBLERS: { readonly [F in WireFormat]: (events: readonly JsonObject[]) => JsonObject } = {
  completions(events) {
    let content = ''
    let refusal = ''
    let finish: Json = null
    let usage: Json = null
    const calls: { id: string; name: string; args: string }[] = []
    const images: Json[] = []
    const annotations: Json[] = []
    for (const event of events) {
      const [choice] = listOf(event.choices)
        .filter(isObject)
        .filter(({ index = 0 }) => index === 0)
      const late = made(event.x_groq).usage
      if (isObject(event.usage)) ({ usage } = event)
      else if (isObject(late)) usage = late
      if (choice === undefined) continue
      const delta = made(choice.delta)
      content += Array.isArray(delta.content)
        ? listOf(delta.content)
            .map((part) => words(made(part).text))
            .join('')
        : words(delta.content)
      refusal += words(delta.refusal)
      images.push(...listOf(delta.images))
      annotations.push(...listOf(delta.annotations))
      for (const one of listOf(delta.tool_calls)) addCall(calls, made(one))
      finish = choice.finish_reason ?? finish
    }
    const tools = calls.map(({ name, args }) => ({ function: { name, arguments: args } }))
    const message = { content, refusal, tool_calls: tools, images, annotations }
    return { choices: [{ message, finish_reason: finish }], usage }
  },
  messages(events) {
    let message: Made = {}
    const blocks: Made[] = []
    for (const event of events) {
      const index = Number(event.index ?? 0)
      if (event.type === 'message_start') {
        message = made(event.message)
        blocks.push(...listOf(message.content).map(made))
      }
      if (event.type === 'content_block_start') blocks[index] = made(event.content_block)
      if (event.type === 'content_block_delta') {
        const delta = made(event.delta)
        const block = blocks[index] ?? {}
        if (delta.type === 'text_delta') block.text = words(block.text) + words(delta.text)
        if (delta.type === 'input_json_delta') block.json = words(block.json) + words(delta.partial_json)
        blocks[index] = block
      }
      if (event.type === 'message_delta') {
        message.stop_reason = made(event.delta).stop_reason ?? null
        const known = Object.entries(made(event.usage)).filter(([, value]) => value !== null)
        message.usage = { ...made(message.usage), ...Object.fromEntries(known) }
      }
    }
    const content = blocks.map(({ json, ...block }) => (json === undefined ? block : { ...block, input: parsed(json) }))
    return { ...message, content }
  },
  responses(events) {
    const last = events.findLast(({ type }) => /^response\.(?:completed|incomplete|failed)$/.test(words(type)))
    return made(last?.response) as JsonObject
  },
  gemini(events) {
    const parts: Json[] = []
    let last: Made = {}
    let finish: Json = null
    let hasPieces = false
    for (const event of events) {
      const candidate = made(listOf(event.candidates)[0])
      for (const part of listOf(made(candidate.content).parts)) {
        const { partialArgs, willContinue } = made(made(part).functionCall)
        hasPieces ||= partialArgs !== undefined || willContinue !== undefined
        parts.push(part)
      }
      finish = candidate.finishReason ?? finish
      last = { ...last, ...event }
    }
    return { ...last, hasPieces, candidates: [{ content: { parts }, finishReason: finish ?? '' }] }
  },
  converse(events) {
    const blocks: Made[] = []
    let stopReason: Json = null
    let usage: Json = {}
    for (const event of events) {
      const start = made(event.contentBlockStart)
      const delta = made(event.contentBlockDelta)
      const at = Number(start.contentBlockIndex ?? delta.contentBlockIndex ?? 0)
      const tool = made(start.start).toolUse
      if (isObject(tool)) blocks[at] = { toolUse: { type: tool.type ?? '', name: tool.name ?? '', input: '' } }
      const { text, toolUse, reasoningContent } = made(delta.delta)
      blocks[at] ??= {}
      const block = blocks[at]
      if (text !== undefined) block.text = words(block.text) + words(text)
      if (reasoningContent !== undefined) block.reasoningContent = true
      if (isObject(toolUse) && isObject(block.toolUse)) {
        block.toolUse = { ...block.toolUse, input: words(block.toolUse.input) + words(toolUse.input) }
      }
      stopReason = made(event.messageStop).stopReason ?? stopReason
      usage = made(event.metadata).usage ?? usage
    }
    const content = blocks.filter((block) => Object.keys(block).length > 0)
    return { output: { message: { content } }, stopReason, usage }
  },
  cohereV2(events) {
    let text = ''
    let plan = ''
    let last: Made = {}
    const calls: Made[] = []
    const citations: Json[] = []
    for (const event of events) {
      const message = made(made(event.delta).message)
      if (/^content-/.test(words(event.type))) text += words(made(message.content).text)
      plan += words(message.tool_plan)
      const named = made(made(message.tool_calls).function)
      if (event.type === 'tool-call-start') calls.push({ ...named })
      if (event.type === 'tool-call-delta') {
        const call = calls.at(-1)!
        call.arguments = words(call.arguments) + words(named.arguments)
      }
      if (event.type === 'citation-start') citations.push(message.citations ?? null)
      if (event.type === 'message-end') last = made(event.delta)
    }
    const tools = calls.map((one) => ({ function: one }))
    const message = { content: [{ type: 'text', text }], tool_plan: plan, tool_calls: tools, citations }
    return { message, finish_reason: last.finish_reason ?? null, usage: last.usage ?? null }
  }
}

function addCall(calls: { id: string; name: string; args: string }[], one: Made): void {
  const named = made(one.function)
  const id = words(one.id)
  const at = typeof one.index === 'number' ? one.index : calls.length
  const known = calls[at]
  const args =
    typeof named.arguments === 'string'
      ? named.arguments
      : isObject(named.arguments)
        ? JSON.stringify(named.arguments)
        : ''
  // Google's compatible endpoint has all calls at one index.
  if (known === undefined || (id !== '' && known.id !== '' && id !== known.id))
    calls.push({ id, name: words(named.name), args })
  else {
    known.args += args
    known.name += words(named.name)
  }
}

function parsed(text: Json): Json {
  try {
    return words(text) === '' ? {} : JSON.parse(words(text))
  } catch {
    return text
  }
}
