/** Google's generateContent request as a conversation. Source: ai.google.dev, "Generating content" reference. */

import {
  type Conversation,
  type Json,
  type JsonObject,
  NO_SAMPLING,
  type OutputShape,
  type Sampling,
  type TextPart,
  type Thinking,
  type Tool,
  type ToolChoice,
  type Turn
} from '#backends/llm/conversation.ts'
import type { Fields } from '#backends/llm/formats/fields.ts'
import { type ChatFormat, FormatError } from '#backends/llm/formats/format.ts'
import type { UnknownFields } from '#backends/llm/formats/unknown-fields.ts'
import { Calls, plainText, readPart } from './content-read.ts'
import { paths } from './paths.ts'
import { jsonSchema } from './schema.ts'
import { message, messages, optionalMessage, optionalNumber } from './wire.ts'

export const readRequest: ChatFormat['readRequest'] = (body, from): Conversation => {
  const unknown: UnknownFields = new Map()
  const fields = message(body, '')
  // Batches and count requests carry the model in the body; the path is what counts.
  const named = fields.optionalString('model')
  const config = optionalMessage(fields, 'generationConfig')
  const conversation: Conversation = {
    model: from.model ?? modelName(named),
    isStreamed: from.isStreamed ?? false,
    system: readSystem(fields, unknown),
    turns: readTurns(fields, unknown),
    tools: readTools(messages(fields, 'tools'), unknown),
    toolChoice: readToolChoice(optionalMessage(fields, 'toolConfig'), unknown),
    sampling: readSampling(config, unknown),
    output: config === null ? null : readOutput(config),
    thinking: config === null ? null : readThinking(optionalMessage(config, 'thinkingConfig'), unknown),
    serviceTier: fields.optionalString('serviceTier'),
    user: null,
    metadata: null,
    origin: { format: 'gemini', unknownFields: unknown, paths }
  }
  config?.leaveUnknown(unknown)
  fields.leaveUnknown(unknown)
  return conversation
}

function modelName(named: string | null): string {
  if (named !== null && named !== '') return named.startsWith('models/') ? named.slice('models/'.length) : named
  throw new FormatError('model', 'is required, in the path')
}

/** Its role says nothing: SDKs put in "user", the documentation nothing or "system". */
function readSystem(fields: Fields, unknown: UnknownFields): TextPart[] {
  const content = optionalMessage(fields, 'systemInstruction')
  if (content === null) return []
  content.optionalString('role')
  const parts: TextPart[] = []
  for (const part of messages(content, 'parts')) {
    const text = part.optionalString('text')
    if (text === null) unknown.set(part.path, part.value)
    else {
      parts.push(plainText(text))
      part.leaveUnknown(unknown)
    }
  }
  content.leaveUnknown(unknown)
  return parts
}

/** `function`: what results were sent as before they were the user's. */
const ROLES = ['user', 'model', 'function', 'tool'] as const

function readTurns(fields: Fields, unknown: UnknownFields): Turn[] {
  const calls = new Calls('')
  return messages(fields, 'contents').map((content) => {
    const role = content.optionalWord('role', ROLES)
    const parts = messages(content, 'parts').flatMap((part) => readPart(part, calls, unknown))
    content.leaveUnknown(unknown)
    return { role: role === 'model' ? 'assistant' : 'user', parts }
  })
}

const NO_ARGUMENTS: JsonObject = Object.freeze({ type: 'object', properties: Object.freeze({}) })

export function hasNoArguments(schema: JsonObject): boolean {
  return schema === NO_ARGUMENTS
}

/**
 * Functions in a row are written as one entry, and tools of Google's own as one each, however they were grouped:
 * paths of unknown are those of what will be written.
 */
function readTools(entries: readonly Fields[], unknown: UnknownFields): Tool[] {
  const tools: Tool[] = []
  let written = -1
  let row = 0
  let isRow = false
  for (const entry of entries) {
    for (const declaration of messages(entry, 'functionDeclarations')) {
      if (!isRow) written++
      row = isRow ? row + 1 : 0
      isRow = true
      tools.push(readFunction(declaration, `tools[${written}].functionDeclarations[${row}]`, unknown))
    }
    const own = Object.entries(entry.value).filter(([name, value]) => name !== 'functionDeclarations' && value !== null)
    if (own.length === 0) continue
    written++
    isRow = false
    tools.push(nativeTool(own[0]![0], Object.fromEntries(own)))
  }
  return tools
}

function nativeTool(name: string, value: JsonObject): Tool {
  const native = { kind: 'opaque', format: 'gemini', value } as const
  return { name, description: null, schema: NO_ARGUMENTS, strict: null, cache: null, native }
}

function readFunction(fields: Fields, place: string, unknown: UnknownFields): Tool {
  const source = fields.optionalObject('parameters')
  const schema = fields.optionalObject('parametersJsonSchema')
  const tool: Tool = {
    name: fields.string('name'),
    description: fields.optionalString('description'),
    schema: schema?.value ?? (source === null ? NO_ARGUMENTS : jsonSchema(source.value, source.path)),
    strict: null,
    cache: null,
    native: null
  }
  const left: UnknownFields = new Map()
  fields.leaveUnknown(left)
  for (const [path, value] of left) unknown.set(place + path.slice(fields.path.length), value)
  return tool
}

function readToolChoice(config: Fields | null, unknown: UnknownFields): ToolChoice | null {
  if (config === null) return null
  const calling = optionalMessage(config, 'functionCallingConfig')
  config.leaveUnknown(unknown)
  if (calling === null) return null
  const mode = calling.optionalWord('mode', ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'])
  const allowed = calling.optionalList('allowedFunctionNames') ?? []
  const at = calling.at('allowedFunctionNames')
  const only = mode === 'ANY' && allowed.length === 1 ? nameAt(allowed, at) : null
  calling.leaveUnknown(unknown)
  if (only === null && allowed.length > 0) unknown.set(at, allowed)
  if (mode === 'VALIDATED') unknown.set(calling.at('mode'), mode)
  if (mode === null || mode === 'MODE_UNSPECIFIED') return null
  if (only !== null) return { kind: 'tool', name: only, parallel: null }
  return { kind: mode === 'NONE' ? 'none' : mode === 'ANY' ? 'any' : 'auto', name: null, parallel: null }
}

function nameAt(names: readonly Json[], path: string): string {
  const name = names[0]
  if (typeof name === 'string') return name
  throw new FormatError(`${path}[0]`, 'must be a string')
}

function readSampling(config: Fields | null, unknown: UnknownFields): Sampling {
  if (config === null) return NO_SAMPLING
  const wantsLogprobs = config.optionalBoolean('responseLogprobs') === true
  const logprobs = optionalNumber(config, 'logprobs')
  if (!wantsLogprobs && logprobs !== null) unknown.set(config.at('logprobs'), logprobs)
  return {
    maxTokens: optionalNumber(config, 'maxOutputTokens'),
    temperature: optionalNumber(config, 'temperature'),
    topP: optionalNumber(config, 'topP'),
    topK: optionalNumber(config, 'topK'),
    stop: config.strings('stopSequences'),
    seed: optionalNumber(config, 'seed'),
    frequencyPenalty: optionalNumber(config, 'frequencyPenalty'),
    presencePenalty: optionalNumber(config, 'presencePenalty'),
    count: optionalNumber(config, 'candidateCount'),
    topLogprobs: wantsLogprobs ? (logprobs ?? 0) : null
  }
}

/** Types other than JSON and plain text (text/x.enum) and their schemas are left to unknown. */
function readOutput(config: Fields): OutputShape | null {
  const type = config.value.responseMimeType ?? null
  if (type === 'text/plain' && (config.value.responseSchema ?? null) === null) config.any('responseMimeType')
  if (type !== 'application/json') return null
  config.any('responseMimeType')
  const source = config.optionalObject('responseSchema')
  const json = config.optionalObject('responseJsonSchema')
  const schema = json?.value ?? (source === null ? null : jsonSchema(source.value, source.path))
  return schema === null ? { kind: 'json' } : { kind: 'schema', name: null, description: null, schema, strict: null }
}

/** A budget of 0 turns it off, -1 leaves it to the model. */
function readThinking(config: Fields | null, unknown: UnknownFields): Thinking | null {
  if (config === null) return null
  const isShown = config.optionalBoolean('includeThoughts')
  const budget = optionalNumber(config, 'thinkingBudget')
  const level = config.optionalWord('thinkingLevel', ['THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH'])
  config.leaveUnknown(unknown)
  const effort = level === null || level === 'THINKING_LEVEL_UNSPECIFIED' ? null : level.toLowerCase()
  if (budget === null && effort === null && isShown !== true) return null
  const mode = budget === 0 ? 'off' : budget === -1 ? 'adaptive' : 'on'
  return { mode, effort, budgetTokens: mode === 'on' ? budget : null, isShown }
}
