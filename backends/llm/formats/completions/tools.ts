/** Tools and which of them to call (OpenAI API reference, "Create chat completion": tools, tool_choice, functions). */

import type { Json, JsonObject, OutputShape, Tool, ToolChoice } from '#backends/llm/conversation.ts'
import { compact, type Fields, isObject, isString, type Writable } from '#backends/llm/formats/fields.ts'
import { FormatError, type Losses } from '#backends/llm/formats/format.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { readCache } from './parts.ts'
import { marked, only, type Wording } from './wording.ts'

export function readTools(body: Fields, notes: ReadNotes): Tool[] {
  const tools = body.optionalList('tools')
  if (tools !== null || (body.value.functions ?? null) === null) {
    if (tools?.length === 0) notes.wording.set('tools', [])
    return body.objects('tools').map((tool) => readTool(tool, notes))
  }
  notes.wording.set('functions', true)
  return body.objects('functions').map((named) => readFunction(named, notes))
}

function readTool(tool: Fields, notes: ReadNotes): Tool {
  const type = tool.string('type')
  if (type === 'function') {
    const cache = readCache(tool, notes)
    const read = readFunction(tool.object('function'), notes)
    tool.leaveUnknown(notes.unknown)
    return { ...read, cache }
  }
  const name = type === 'custom' ? tool.object('custom').string('name') : type
  const native = { kind: 'opaque', format: 'completions', value: tool.value } as const
  return { name, description: null, schema: {}, strict: null, cache: null, native }
}

function readFunction(named: Fields, notes: ReadNotes): Tool {
  const schema = named.optionalObject('parameters')
  if (schema === null) notes.wording.set(named.at('parameters'), 'absent')
  const tool: Tool = {
    name: named.string('name'),
    description: named.optionalString('description'),
    schema: schema?.value ?? { type: 'object', properties: {} },
    strict: named.optionalBoolean('strict'),
    cache: null,
    native: null
  }
  named.leaveUnknown(notes.unknown)
  return tool
}

/** Adds `tools` to `body`. */
export function writeTools(tools: readonly Tool[], body: Writable, wording: Wording, losses: Losses): void {
  if (wording.has('functions')) {
    body.functions = tools.map((tool, i) => writeFunction(tool, `functions[${i}]`, wording))
    return
  }
  const list: Json[] = []
  for (const [i, tool] of tools.entries()) {
    if (tool.native === null) {
      const path = `tools[${list.length}]`
      const written: Writable = { type: 'function', function: writeFunction(tool, `${path}.function`, wording) }
      list.push(marked(written, tool.cache, path, wording))
    } else if (tool.native.format === 'completions') list.push(tool.native.value)
    else losses.add(`tools[${i}]`)
  }
  if (list.length > 0 || wording.has('tools')) body.tools = list
}

function writeFunction(tool: Tool, path: string, wording: Wording): Writable {
  const parameters = wording.has(`${path}.parameters`) ? null : tool.schema
  return compact({ name: tool.name, description: tool.description, parameters, strict: tool.strict })
}

const CHOICES = { none: 'none', auto: 'auto', required: 'any' } as const

/** What has no place here (allowed_tools, words that are not known) stays in rest. */
export function readToolChoice(body: Fields, notes: ReadNotes): ToolChoice | null {
  const name =
    (body.value.tool_choice ?? null) === null && notes.wording.has('functions') ? 'function_call' : 'tool_choice'
  const value = body.any(name)
  const parallel = body.optionalBoolean('parallel_tool_calls')
  const choice = value === null ? null : choiceOf(value, name, notes)
  if (choice !== null) return { ...choice, parallel }
  if (value !== null) notes.unknown.set(name, value)
  if (parallel === null) return null
  notes.wording.set('tool_choice', 'absent')
  return { kind: 'auto', name: null, parallel }
}

function choiceOf(value: Json, field: string, notes: ReadNotes): Omit<ToolChoice, 'parallel'> | null {
  if (isString(value)) {
    return Object.hasOwn(CHOICES, value) ? { kind: CHOICES[value as keyof typeof CHOICES], name: null } : null
  }
  if (!isObject(value)) throw new FormatError(field, 'must be a string or an object')
  if (field === 'function_call') return isString(value.name) ? { kind: 'tool', name: value.name } : null
  for (const type of ['function', 'custom'] as const) {
    const named = only(value, ['type', type])?.[type]
    const name = value.type === type ? only(named, ['name'])?.name : undefined
    if (!isString(name)) continue
    if (type === 'custom') notes.wording.set('tool_choice', type)
    return { kind: 'tool', name }
  }
  return null
}

export function writeToolChoice(choice: ToolChoice | null, body: Writable, wording: Wording): void {
  if (choice === null) return
  const how = wording.get('tool_choice')
  const isLegacy = wording.has('functions')
  if (choice.parallel !== null) body.parallel_tool_calls = choice.parallel
  if (how === 'absent' && choice.kind === 'auto') return
  const named = { name: choice.name ?? '' }
  const word = choice.kind === 'any' ? 'required' : choice.kind
  if (isLegacy) body.function_call = choice.kind === 'tool' ? named : word
  else if (choice.kind !== 'tool') body.tool_choice = word
  else body.tool_choice = how === 'custom' ? { type: how, custom: named } : { type: 'function', function: named }
}

/** `response_format`; types that only some servers know (grammars) stay in rest. */
export function readOutput(body: Fields, notes: ReadNotes): OutputShape | null {
  const format = body.optionalObject('response_format')
  if (format === null) return null
  const type = format.string('type')
  if (type === 'json_schema') {
    const shape = format.object('json_schema')
    const schema = shape.optionalObject('schema')
    if (schema === null) notes.wording.set(shape.at('schema'), 'absent')
    const output: OutputShape = {
      kind: 'schema',
      name: shape.optionalString('name'),
      description: shape.optionalString('description'),
      schema: schema?.value ?? {},
      strict: shape.optionalBoolean('strict')
    }
    shape.leaveUnknown(notes.unknown)
    format.leaveUnknown(notes.unknown)
    return output
  }
  if (type !== 'text' && type !== 'json_object') {
    notes.unknown.set('response_format', format.value)
    return null
  }
  format.leaveUnknown(notes.unknown)
  if (type === 'text') notes.wording.set('response_format', type)
  return type === 'text' ? null : { kind: 'json' }
}

/** The name is required here. */
export function writeOutput(output: OutputShape | null, wording: Wording): JsonObject | null {
  if (output === null) return wording.has('response_format') ? { type: 'text' } : null
  if (output.kind === 'json') return { type: 'json_object' }
  const schema = wording.has('response_format.json_schema.schema') ? null : output.schema
  const { description, strict } = output
  return { type: 'json_schema', json_schema: compact({ name: output.name ?? 'output', description, schema, strict }) }
}
