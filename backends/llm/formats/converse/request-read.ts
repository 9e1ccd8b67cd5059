/** The body of Converse and ConverseStream (API reference: Converse). The model's id and streaming are in the path. */

import type {
  Conversation,
  Json,
  JsonObject,
  OutputShape,
  TextPart,
  Thinking,
  Tool,
  ToolChoice,
  Turn
} from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { parseJson } from '#engine/kit/json.ts'
import { cacheMarkOf, leaveMark, readContent } from './content-read.ts'
import { type Additional, type Family, familyOf, readAdditional } from './models.ts'

const NO_SCHEMA: JsonObject = {}

export function readRequest(
  body: JsonObject,
  from: { readonly model: string | null; readonly isStreamed: boolean | null }
): Conversation {
  const unknown: UnknownFields = new Map()
  const fields = new Fields(body, '')
  const model = from.model ?? ''
  const family = familyOf(model)
  const inference = fields.optionalObject('inferenceConfig')
  const additional = readAdditionalFields(fields, family, unknown)
  const { tools, toolChoice } = readToolConfig(fields.optionalObject('toolConfig'), additional, unknown)
  const output = fields.optionalObject('outputConfig')
  const tier = fields.optionalObject('serviceTier')
  const conversation: Conversation = {
    model,
    isStreamed: from.isStreamed ?? false,
    system: readSystem(fields, unknown),
    turns: readMessages(fields, unknown),
    tools,
    toolChoice,
    sampling: {
      maxTokens: inference?.optionalNumber('maxTokens') ?? null,
      temperature: inference?.optionalNumber('temperature') ?? null,
      topP: inference?.optionalNumber('topP') ?? null,
      stop: inference === null ? [] : readStop(inference),
      count: null,
      topLogprobs: null,
      ...additional.extras
    },
    output: output === null ? null : readOutput(output, unknown),
    thinking: readThinking(additional.thinking, output, family),
    serviceTier: tier?.optionalString('type') ?? null,
    user: null,
    metadata: readMetadata(fields),
    origin: { format: 'converse', unknownFields: unknown }
  }
  for (const part of [inference, output, tier, fields]) part?.leaveUnknown(unknown)
  return conversation
}

function readStop(inference: Fields): string[] {
  const list = inference.optionalList('stopSequences') ?? []
  return list.map((value, i) => {
    if (typeof value === 'string') return value
    throw new FormatError(`${inference.at('stopSequences')}[${i}]`, 'must be a string')
  })
}

/** guardContent of the system prompt has no place in the conversation, nor has a cachePoint without a text. */
function readSystem(fields: Fields, unknown: UnknownFields): TextPart[] {
  const parts: TextPart[] = []
  let marked = true
  for (const block of fields.objects('system')) {
    const mark = cacheMarkOf(block.value)
    if (mark !== null && !marked) {
      parts[parts.length - 1] = { ...parts.at(-1)!, cache: mark }
      leaveMark(block, unknown)
      marked = true
    } else if ((block.value.text ?? null) !== null) {
      parts.push({ kind: 'text', text: block.string('text'), cache: null })
      block.leaveUnknown(unknown)
      marked = false
    } else {
      unknown.set(block.path, block.value)
      marked = true
    }
  }
  return parts
}

function readMessages(fields: Fields, unknown: UnknownFields): Turn[] {
  return fields.objects('messages').map((message) => {
    const role = message.optionalWord('role', ['user', 'assistant', 'system'])
    if (role === null) throw new FormatError(message.at('role'), 'is required, and must be a string')
    const parts = readContent(message.list('content'), message.at('content'), unknown)
    message.leaveUnknown(unknown)
    return { role, parts }
  })
}

function readAdditionalFields(fields: Fields, family: Family, unknown: UnknownFields): Additional {
  const value = fields.any('additionalModelRequestFields')
  const additional = readAdditional(isObject(value) ? value : {}, family)
  const others = Object.entries(additional.others)
  if (value !== null && !isObject(value)) {
    unknown.set('additionalModelRequestFields', value)
  } else if (others.some(([name]) => /[.[\]]/.test(name))) {
    // Such names cannot be told from paths.
    unknown.set('additionalModelRequestFields', additional.others)
  } else {
    for (const [name, other] of others) unknown.set(`additionalModelRequestFields.${name}`, other)
  }
  return additional
}

/** Claude is asked by outputConfig.effort, with or without `thinking`; the others have fields of their own. */
function readThinking(thinking: Thinking | null, output: Fields | null, family: Family): Thinking | null {
  if (output === null || family === 'nova' || family === 'gptOss') return thinking
  const effort = output.optionalString('effort')
  if (effort === null) return thinking
  return { ...(thinking ?? { mode: 'on', budgetTokens: null, isShown: null }), effort }
}

function readToolConfig(
  config: Fields | null,
  additional: Additional,
  unknown: UnknownFields
): { tools: Tool[]; toolChoice: ToolChoice | null } {
  const tools: Tool[] = []
  let toolChoice = additional.toolChoice
  if (config === null) return { tools, toolChoice }
  let marked = true
  for (const item of config.objects('tools')) {
    const mark = cacheMarkOf(item.value)
    if (mark !== null && !marked) {
      tools[tools.length - 1] = { ...tools.at(-1)!, cache: mark }
      leaveMark(item, unknown)
      marked = true
    } else {
      const tool = readTool(item, unknown)
      if (tool === null) unknown.set(item.path, item.value)
      else tools.push(tool)
      marked = tool === null
    }
  }
  const choice = config.optionalObject('toolChoice')
  const read = choice === null ? null : readToolChoice(choice, unknown)
  if (read !== null && toolChoice === null) toolChoice = read
  else if (choice !== null) unknown.set(choice.path, choice.value)
  config.leaveUnknown(unknown)
  return { tools, toolChoice }
}

function readTool(item: Fields, unknown: UnknownFields): Tool | null {
  const spec = item.optionalObject('toolSpec')
  if (spec !== null) {
    const input = spec.object('inputSchema')
    const tool: Tool = {
      name: spec.string('name'),
      description: spec.optionalString('description'),
      schema: input.object('json').value,
      strict: spec.optionalBoolean('strict'),
      cache: null,
      native: null
    }
    input.leaveUnknown(unknown)
    spec.leaveUnknown(unknown)
    item.leaveUnknown(unknown)
    return tool
  }
  const system = item.optionalObject('systemTool')
  if (system === null) return null
  const name = system.string('name')
  const native = { kind: 'opaque', format: 'converse', value: item.value } as const
  return { name, description: null, schema: NO_SCHEMA, strict: null, cache: null, native }
}

function readToolChoice(choice: Fields, unknown: UnknownFields): ToolChoice | null {
  const kind = (['tool', 'any', 'auto'] as const).find((name) => isObject(choice.value[name]))
  if (kind === undefined) return null
  const said = choice.object(kind)
  const name = kind === 'tool' ? said.string('name') : null
  said.leaveUnknown(unknown)
  choice.leaveUnknown(unknown)
  return { kind, name, parallel: null }
}

/** The schema is JSON text in Converse; it is printed as JSON.stringify does when it goes back. */
function readOutput(output: Fields, unknown: UnknownFields): OutputShape | null {
  const format = output.optionalObject('textFormat')
  if (format === null) return null
  const definition = format.optionalObject('structure')?.optionalObject('jsonSchema') ?? null
  if (definition === null || format.optionalString('type') !== 'json_schema') {
    unknown.set(format.path, format.value)
    return null
  }
  const shape: OutputShape = {
    kind: 'schema',
    name: definition.optionalString('name'),
    description: definition.optionalString('description'),
    schema: parsedSchema(definition),
    strict: null
  }
  for (const part of [definition, format]) part.leaveUnknown(unknown)
  return shape
}

function parsedSchema(definition: Fields): JsonObject {
  const text = definition.string('schema')
  const schema = parseJson(text) as Json | undefined
  if (schema === undefined) throw new FormatError(definition.at('schema'), 'must be JSON text')
  if (isObject(schema)) return schema
  throw new FormatError(definition.at('schema'), 'must be the JSON text of an object')
}

function readMetadata(fields: Fields): Conversation['metadata'] {
  const metadata = fields.optionalObject('requestMetadata')
  if (metadata === null) return null
  const entries = Object.keys(metadata.value).map((name) => [name, metadata.string(name)] as const)
  return Object.fromEntries(entries)
}
