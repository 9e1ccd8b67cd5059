/**
 * Tools that the client runs and that only OpenAI's formats know (custom tools with free text, local_shell, shell,
 * apply_patch): to others each is a function, and a call of that is the tool's again when it comes back.
 */

import type {
  Answer,
  ChatEvent,
  Conversation,
  FormatName,
  Json,
  JsonObject,
  OpaquePart,
  Part,
  Tool,
  ToolCallPart,
  ToolResultPart
} from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { StreamWriter } from '#backends/llm/formats/format.ts'
import { isKnown, readContent } from '#backends/llm/formats/responses/parts.ts'
import { newNotes } from '#backends/llm/formats/unknown-fields.ts'
import { parseJson } from '#engine/kit/json.ts'

/** Name and type of a client's tools that are functions to the provider. Plain data. */
export type ClientTools = readonly (readonly [name: string, type: string])[]

export const NO_CLIENT_TOOLS: ClientTools = []

interface Kind {
  readonly about: string
  readonly schema: JsonObject
  /** The member of a call's item that has what the model wants; what it is called in the function's arguments. */
  readonly member: string
  /** The member is free text, which the arguments have as `input`; else it is the arguments. */
  readonly isText: boolean
}

const TEXT = { type: 'string' } as const
const LINE = { type: 'array', items: TEXT } as const
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required
})

const CUSTOM: Kind = {
  about: 'Takes one text.',
  schema: object({ input: { ...TEXT, description: 'The whole text, as the tool is to get it' } }, ['input']),
  member: 'input',
  isText: true
}

/** Item types without `_call`, which are those of tools too (API reference, "Responses", tools and input items). */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['custom', CUSTOM],
  [
    'local_shell',
    {
      about: 'Runs a command on the local computer.',
      schema: object(
        {
          type: { type: 'string', enum: ['exec'] },
          command: LINE,
          env: { type: 'object' },
          timeout_ms: { type: 'integer' },
          working_directory: TEXT
        },
        ['type', 'command', 'env']
      ),
      member: 'action',
      isText: false
    }
  ],
  [
    'shell',
    {
      about: 'Runs commands in a shell.',
      schema: object({ commands: LINE, timeout_ms: { type: 'integer' }, max_output_length: { type: 'integer' } }, [
        'commands'
      ]),
      member: 'action',
      isText: false
    }
  ],
  [
    'apply_patch',
    {
      about: 'Creates, updates or deletes a file by a patch in the V4A format.',
      schema: object(
        {
          type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
          path: TEXT,
          diff: TEXT
        },
        ['type', 'path']
      ),
      member: 'operation',
      isText: false
    }
  ]
])

const CALL = /^(custom_tool|local_shell|shell|apply_patch)_call(_output)?$/
const typeOfItem = (prefix: string): string => (prefix === 'custom_tool' ? 'custom' : prefix)

/** A tool of the client's as a function; null when it is none of these. */
export function asFunction({ native, name }: Tool): Tool | null {
  const type = native === null || native.format === 'messages' ? '' : String(native.value.type)
  const kind = KINDS.get(type)
  if (kind === undefined) return null
  const own = isObject(native!.value.custom) ? native!.value.custom : native!.value
  const description = [own.description ?? kind.about, grammarOf(own.format)].filter((text) => text !== '').join('\n\n')
  return { name, description, schema: kind.schema, strict: null, cache: null, native: null }
}

/** A grammar cannot be enforced, and is sent as text. */
function grammarOf(format: Json | undefined): string {
  if (!isObject(format) || format.type !== 'grammar') return ''
  const { syntax, definition } = isObject(format.grammar) ? format.grammar : format
  return `The text must follow this grammar (${String(syntax ?? 'lark')}):\n${String(definition ?? '')}`
}

/** A call or a result of such a tool as those of a function; null when it is none. */
export function asFunctionPart({ value }: OpaquePart): ToolCallPart | ToolResultPart | null {
  const item = value
  if (isObject(item.custom)) return callOf(String(item.id), item.custom, CUSTOM, String(item.custom.name))
  const [, prefix, output] = CALL.exec(String(item.type)) ?? []
  if (prefix === undefined) return null
  const type = typeOfItem(prefix)
  const id = String(item.call_id ?? item.id)
  if (output === undefined) return callOf(id, item, KINDS.get(type)!, type === 'custom' ? String(item.name) : type)
  const content = contentOf(item.output)
  return { kind: 'toolResult', callId: id, name: null, content, isError: item.status === 'failed', cache: null }
}

/** `list`, when each of it says what it is. */
function typed(list: Json | undefined): readonly JsonObject[] {
  if (!Array.isArray(list)) return []
  const items = list.filter(isObject)
  return items.length === list.length && items.every(({ type }) => typeof type === 'string') ? items : []
}

/** Lists of texts, images and files stay as they are; other results of a tool become JSON. */
function contentOf(output: Json | undefined): ToolResultPart['content'] {
  const parts = typed(output).map((part) => new Fields(part, 'output'))
  if (parts.length > 0 && parts.every(isKnown)) {
    const content = parts.map((part) => readContent(part, 'input_text', newNotes()))
    if (content.every((part) => part.kind !== 'refusal')) return content as ToolResultPart['content']
  }
  const text = typeof output === 'string' ? output : JSON.stringify(output ?? '')
  return [{ kind: 'text', text, cache: null }]
}

function callOf(id: string, item: JsonObject, { member, isText }: Kind, name: string): ToolCallPart {
  const wanted = item[member] ?? {}
  const text = JSON.stringify(isText ? { input: wanted } : wanted)
  return { kind: 'toolCall', id, name, arguments: text, signature: null, cache: null }
}

/** Tools as functions, by their places in the client's list. */
export type FunctionTools = ReadonlyMap<number, Tool>

/** Those of `tools` that other formats get as functions, unless a function has the same name. */
export function functionToolsOf(tools: readonly Tool[]): FunctionTools {
  const taken = new Set(tools.flatMap(({ native, name }) => (native === null ? [name] : [])))
  const functions = new Map<number, Tool>()
  for (const [i, tool] of tools.entries()) {
    const declared = tool.native === null ? null : asFunction(tool)
    // Calls of two functions of one name could not be functions apart: the writer refuses what stays as it is.
    if (declared === null || taken.has(declared.name)) continue
    taken.add(declared.name)
    functions.set(i, declared)
  }
  return functions
}

/** What calls in the answer are to be again. */
export function clientToolsOf({ tools }: Conversation): ClientTools {
  const functions = [...functionToolsOf(tools)]
  return functions.length === 0
    ? NO_CLIENT_TOOLS
    : functions.map(([i, { name }]) => [name, String(tools[i]!.native!.value.type)])
}

// --- the way back ---

/**
 * `call` as the client's own tool was called; null when it is a function's, or has half an object of arguments: agents
 * run what they know, and the rest of a cut call is unknown.
 */
function asClientCall(call: ToolCallPart, tools: ClientTools, format: FormatName): Part | null {
  const type = tools.find(([name]) => name === call.name)?.[1]
  const kind = type === undefined ? undefined : KINDS.get(type)
  if (type === undefined || kind === undefined) return null
  const parsed = argumentsOf(call.arguments)
  if (parsed === null && !kind.isText) return null
  const wanted = kind.isText ? textOf(parsed, call.arguments) : parsed!
  const { id, name } = call
  if (format === 'completions')
    return { kind: 'opaque', format, value: { id, type, [type]: { name, [kind.member]: wanted } } }
  const named = kind.isText ? { name } : {}
  const item = type === 'custom' ? 'custom_tool_call' : `${type}_call`
  const own = `${type === 'custom' ? 'ctc' : 'call'}_${id}`
  const status = parsed === null ? 'incomplete' : 'completed'
  const value = { id: own, type: item, status, call_id: id, ...named, [kind.member]: wanted }
  return { kind: 'opaque', format: 'responses', value }
}

/** Null: they are cut off. */
function argumentsOf(text: string): JsonObject | null {
  const value = parseJson(text === '' ? '{}' : text) as Json | undefined
  if (value === undefined) return null
  return isObject(value) ? value : {}
}

/** What there is of a text that was cut off, escapes undone. */
const CUT_TEXT = /^\s*\{\s*"input"\s*:\s*("(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)/

function textOf(parsed: JsonObject | null, raw: string): string {
  if (parsed !== null) return typeof parsed.input === 'string' ? parsed.input : raw
  const cut = CUT_TEXT.exec(raw)?.[1]
  if (cut === undefined) return raw.trimStart().startsWith('{') ? '' : raw
  const text = argumentsOf(`{"input":${cut}"}`)?.input
  return typeof text === 'string' ? text : ''
}

export function withClientCalls(answer: Answer, tools: ClientTools, format: FormatName): Answer {
  if (tools.length === 0) return answer
  const own = (part: Part): Part => (part.kind === 'toolCall' ? (asClientCall(part, tools, format) ?? part) : part)
  return { ...answer, choices: answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map(own) })) }
}

/** `writer`, which gets calls of the client's tools once they are whole: half an argument is no text yet. */
export function clientCallsWriter(writer: StreamWriter, tools: ClientTools, format: FormatName): StreamWriter {
  if (tools.length === 0) return writer
  const names = new Set(tools.map(([name]) => name))
  const pending = new Map<number, ToolCallPart>()
  return {
    write: (event: ChatEvent): string => {
      if (event.kind === 'begin' && event.part.kind === 'toolCall' && names.has(event.part.name)) {
        pending.set(event.choice, event.part)
        return ''
      }
      const call = 'choice' in event ? pending.get(event.choice) : undefined
      if (call === undefined) return writer.write(event)
      if (event.kind === 'delta') pending.set(event.choice, { ...call, arguments: call.arguments + event.text })
      if (event.kind !== 'end') return ''
      pending.delete(event.choice)
      const { choice } = event
      const own = asClientCall(call, tools, format)
      if (own !== null) return writer.write({ kind: 'begin', choice, part: own }) + writer.write(event)
      const begun = writer.write({ kind: 'begin', choice, part: { ...call, arguments: '' } })
      return begun + writer.write({ kind: 'delta', choice, text: call.arguments, logprobs: null }) + writer.write(event)
    }
  }
}
