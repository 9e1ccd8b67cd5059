/** Tools of a request, and which of them are to be called, as a dialect has them. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, type Writable } from '#backends/llm/formats/fields.ts'
import type { Dialect } from './dialect.ts'
import type { Notes } from './notes.ts'

export function toolsIn(made: Writable, dialect: Dialect, notes: Notes): void {
  choiceIn(made, dialect, notes)
  const { strictTools, refusesInSchemas } = dialect
  if (strictTools !== 'mixed' && Array.isArray(made.tools)) made.tools = strictIn(made.tools, strictTools, notes)
  if (refusesInSchemas.length > 0) schemasIn(made, refusesInSchemas, notes)
}

function choiceIn(made: Writable, { forcedTool, namedTool }: Dialect, notes: Notes): void {
  const choice = (made.tool_choice ?? null) as Json
  if (choice === 'required') force(made, forcedTool, notes)
  if (!isObject(choice) || choice.type !== 'function' || !isObject(choice.function)) return
  if (namedTool && forcedTool !== 'none') return
  const { name } = choice.function
  const { tools } = made
  const only = (Array.isArray(tools) ? (tools as readonly Json[]) : []).filter((tool) => nameOf(tool) === name)
  if (force(made, forcedTool, notes) && only.length > 0) {
    made.tools = only
    notes.reword('tool_choice')
  }
}

/** Whether there is a word for it. */
function force(made: Writable, forcedTool: Dialect['forcedTool'], notes: Notes): boolean {
  if (forcedTool !== 'none') made.tool_choice = forcedTool
  else {
    notes.lose('tool_choice')
    delete made.tool_choice
  }
  return forcedTool !== 'none'
}

const functionOf = (tool: Json): JsonObject | null => (isObject(tool) && isObject(tool.function) ? tool.function : null)

const nameOf = (tool: Json): Json | undefined => functionOf(tool)?.name

/** A tool that is not strict takes what is meant, perhaps in another form. */
function strictIn(tools: readonly Json[], strictTools: 'alike' | 'none', notes: Notes): readonly Json[] {
  const isStrict = tools.map((tool) => functionOf(tool)?.strict === true)
  const areAlike = isStrict.every((one) => one === isStrict[0])
  if (strictTools === 'alike' && areAlike) return tools
  return tools.map((tool, i) => {
    const named = functionOf(tool)
    if (named?.strict === undefined) return tool
    if (isStrict[i]) notes.lose(`tools[${i}].function.strict`, true)
    const { strict: _, ...rest } = named
    return { ...(tool as JsonObject), function: rest }
  })
}

// --- keywords of JSON Schema ---

/** They say something about a schema, and nothing about what it allows. */
const REMARKS: ReadonlySet<string> = new Set(['$schema', '$id', '$comment'])
/** Their members are schemas by name. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
/** Their values are data. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])
/** What lies deeper stays as it is. */
const DEPTH_MAX = 64

function schemasIn(made: Writable, refused: readonly string[], notes: Notes): void {
  const keywords = new Set(refused)
  const { tools, response_format: format } = made
  if (Array.isArray(tools)) {
    made.tools = (tools as readonly Json[]).map((tool, i) => {
      const { parameters } = functionOf(tool) ?? {}
      const left = withoutKeywords(parameters ?? null, keywords, () => notes.reword(`tools[${i}]`))
      if (left === (parameters ?? null)) return tool
      const { function: named, ...others } = tool as { readonly function: JsonObject }
      return { ...others, function: { ...named, parameters: left } }
    })
  }
  const shape = isObject(format as Json) ? (format as JsonObject).json_schema : undefined
  if (!isObject(shape)) return
  const left = withoutKeywords(shape.schema ?? null, keywords, () => notes.reword('response_format'))
  if (left !== shape.schema)
    made.response_format = { ...(format as JsonObject), json_schema: { ...shape, schema: left } }
}

/** `schema` itself where it has none of them. `tell`: hears of those that allow less. */
function withoutKeywords(schema: Json, keywords: ReadonlySet<string>, tell: () => void, depth = 0): Json {
  if (depth > DEPTH_MAX) return schema
  const inner = (value: Json): Json => withoutKeywords(value, keywords, tell, depth + 1)
  if (Array.isArray(schema)) return changed(schema as readonly Json[], inner)
  if (!isObject(schema)) return schema
  const left: Writable = {}
  let differs = false
  for (const [name, value] of Object.entries(schema)) {
    if (keywords.has(name)) {
      differs = true
      if (!REMARKS.has(name)) tell()
      continue
    }
    left[name] = DATA.has(name) ? value : MAPS.has(name) && isObject(value) ? named(value, inner) : inner(value)
    differs ||= left[name] !== value
  }
  return differs ? (left as JsonObject) : schema
}

function changed(list: readonly Json[], change: (value: Json) => Json): Json {
  const made = list.map(change)
  return made.some((one, i) => one !== list[i]) ? made : (list as Json)
}

function named(map: JsonObject, change: (value: Json) => Json): JsonObject {
  const made = Object.entries(map).map(([name, value]) => [name, value, change(value)] as const)
  if (made.every(([, before, after]) => before === after)) return map
  return Object.fromEntries(made.map(([name, , after]) => [name, after]))
}
