/** The body of POST /v1/messages into a conversation (Messages API, "Create a Message"). */
import {
  type Conversation,
  type Json,
  NO_SAMPLING,
  type OutputShape,
  type TextPart,
  type Thinking,
  type Tool,
  type ToolChoice,
  type Turn
} from '#backends/llm/conversation.ts'
import { Fields, isObject, memberPath } from '#backends/llm/formats/fields.ts'
import { type ChatFormat, FormatError } from '#backends/llm/formats/format.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { leave, opaque, readCache, readContent, readPlain } from './content-read.ts'
import { paths } from './paths.ts'

const ROLES = ['user', 'assistant', 'system'] as const

/**
 * Three spellings are not kept, as the API documents them to mean the same: content that is one plain text block
 * (written as a string), `output_format` (written as `output_config.format`), and defaults that are spelt out
 * (`stream: false`, `is_error: false`, a tool's `type: custom`).
 */
export const readRequest: ChatFormat['readRequest'] = (body, from): Conversation => {
  const request = Fields.of(body, '')
  const unknown: UnknownFields = new Map()
  const named = request.optionalString('model')
  const isStreamed = request.optionalBoolean('stream')
  const conversation: Conversation = {
    model: from.model ?? named ?? request.string('model'),
    isStreamed: from.isStreamed ?? isStreamed ?? false,
    system: readSystem(request, unknown),
    turns: readTurns(request, unknown),
    tools: request.objects('tools').map((tool) => readTool(tool, unknown)),
    toolChoice: readToolChoice(request, unknown),
    sampling: {
      ...NO_SAMPLING,
      maxTokens: request.optionalNumber('max_tokens'),
      temperature: request.optionalNumber('temperature'),
      topP: request.optionalNumber('top_p'),
      topK: request.optionalNumber('top_k'),
      stop: request.strings('stop_sequences')
    },
    ...readOutput(request, unknown),
    serviceTier: readTier(request.optionalString('service_tier')),
    user: readUser(request, unknown),
    metadata: null,
    origin: { format: 'messages', unknownFields: unknown, paths }
  }
  leave(request, unknown)
  return conversation
}

/** `standard_only` by the word that the other formats have for it. */
function readTier(tier: string | null): string | null {
  return tier === 'standard_only' ? 'default' : tier
}

function readSystem(request: Fields, unknown: UnknownFields): TextPart[] {
  const parts: TextPart[] = []
  for (const part of readPlain(request.any('system'), 'system', unknown)) {
    if (part.kind !== 'text') throw new FormatError('system', 'must be text')
    parts.push(part)
  }
  return parts
}

function readTurns(request: Fields, unknown: UnknownFields): Turn[] {
  request.list('messages')
  return request.objects('messages').map((message) => {
    const role = message.optionalWord('role', ROLES)
    if (role === null) throw new FormatError(message.at('role'), 'is required')
    const content = message.any('content')
    // System messages of the beta may have settings only.
    const parts = content === null && role === 'system' ? [] : readContent(content, message.at('content'), unknown)
    leave(message, unknown)
    return { role, parts }
  })
}

function readTool(tool: Fields, unknown: UnknownFields): Tool {
  const type = tool.optionalString('type')
  if (type !== null && type !== 'custom') {
    const name = tool.optionalString('name') ?? type
    return { name, description: null, schema: {}, strict: null, cache: null, native: opaque(tool.value) }
  }
  const read: Tool = {
    name: tool.string('name'),
    description: tool.optionalString('description'),
    schema: tool.object('input_schema').value,
    strict: tool.optionalBoolean('strict'),
    cache: readCache(tool),
    native: null
  }
  leave(tool, unknown)
  return read
}

function readToolChoice(request: Fields, unknown: UnknownFields): ToolChoice | null {
  const choice = request.optionalObject('tool_choice')
  if (choice === null) return null
  const kind = choice.string('type')
  if (kind !== 'auto' && kind !== 'any' && kind !== 'tool' && kind !== 'none') {
    unknown.set('tool_choice', choice.value)
    return null
  }
  const isSingle = choice.optionalBoolean('disable_parallel_tool_use')
  const name = kind === 'tool' ? choice.string('name') : null
  leave(choice, unknown)
  return { kind, name, parallel: isSingle === null ? null : !isSingle }
}

function readUser(request: Fields, unknown: UnknownFields): string | null {
  const metadata = request.optionalObject('metadata')
  const user = metadata?.optionalString('user_id') ?? null
  if (metadata !== null) leave(metadata, unknown)
  return user
}

function readOutput(
  request: Fields,
  unknown: UnknownFields
): { output: OutputShape | null; thinking: Thinking | null } {
  const config = request.optionalObject('output_config')
  const effort = config?.optionalString('effort') ?? null
  let output: OutputShape | null = null
  if (config !== null && isReadable(config.value.format)) output = readFormat(config.object('format'), unknown)
  // The older spelling, and only if the newer is not there as well.
  else if (isReadable(request.value.output_format)) output = readFormat(request.object('output_format'), unknown)
  if (config !== null) leave(config, unknown)
  return { output, thinking: readThinking(request, effort, unknown) }
}

function isReadable(format: Json | undefined): boolean {
  return isObject(format) && format.type === 'json_schema' && isObject(format.schema)
}

function readFormat(format: Fields, unknown: UnknownFields): OutputShape {
  format.any('type')
  const schema = format.object('schema').value
  // The path is that of the newer spelling, under which it is written.
  for (const [name, value] of Object.entries(format.value)) {
    if (name !== 'type' && name !== 'schema' && value !== null)
      unknown.set(memberPath('output_config.format', name), value)
  }
  return { kind: 'schema', name: null, description: null, schema, strict: null }
}

/** An effort without `thinking` is mode `on` without a budget. Modes that are not known stay in `unknown`. */
function readThinking(request: Fields, effort: string | null, unknown: UnknownFields): Thinking | null {
  const thinking = request.optionalObject('thinking')
  const type = thinking?.string('type') ?? null
  if (thinking === null || (type !== 'enabled' && type !== 'disabled' && type !== 'adaptive')) {
    if (thinking !== null) unknown.set('thinking', thinking.value)
    return effort === null ? null : { mode: 'on', effort, budgetTokens: null, isShown: null }
  }
  const budgetTokens = type === 'enabled' ? thinking.optionalNumber('budget_tokens') : null
  if (type === 'enabled' && budgetTokens === null) throw new FormatError('thinking.budget_tokens', 'is required')
  const display = thinking.optionalWord('display', ['summarized', 'omitted'])
  leave(thinking, unknown)
  return {
    mode: type === 'enabled' ? 'on' : type === 'disabled' ? 'off' : 'adaptive',
    effort,
    budgetTokens,
    isShown: display === null ? null : display === 'summarized'
  }
}
