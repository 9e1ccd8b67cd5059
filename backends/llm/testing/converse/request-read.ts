/** What a request of Converse asks, as tests read it again: no client speaks Converse. */
import type {
  Conversation,
  Json,
  JsonObject,
  Part,
  TextPart,
  Thinking,
  ToolChoice
} from '#backends/llm/conversation.ts'
import { NO_SAMPLING } from '#backends/llm/conversation.ts'
import { paths } from '#backends/llm/formats/completions/paths.ts'
import { readContent } from '#backends/llm/formats/converse/content-read.ts'
import { EXTRAS, type Family, familyOf, SAMPLING } from '#backends/llm/formats/converse/models.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'

/** As of a client of chat completions. */
export function readRequest(body: JsonObject, from: { readonly model: string | null }): Conversation {
  const fields = new Fields(body, '')
  const model = from.model ?? ''
  const family = familyOf(model)
  const inference = fields.optionalObject('inferenceConfig')
  const output = fields.optionalObject('outputConfig')
  const additional = fields.optionalObject('additionalModelRequestFields')?.value ?? {}
  return {
    model,
    isStreamed: false,
    system: partsOf(fields.optionalList('system') ?? [], 'system') as TextPart[],
    turns: fields.objects('messages').map((message) => ({
      role: message.optionalWord('role', ['user', 'assistant', 'system'])!,
      parts: partsOf(message.list('content'), message.at('content'))
    })),
    ...readTools(fields.optionalObject('toolConfig'), additional),
    sampling: {
      ...NO_SAMPLING,
      maxTokens: inference?.optionalNumber('maxTokens') ?? null,
      temperature: inference?.optionalNumber('temperature') ?? null,
      topP: inference?.optionalNumber('topP') ?? null,
      stop: (inference?.optionalList('stopSequences') ?? []) as string[],
      ...extrasIn(additional, family)
    },
    output: readOutput(output?.optionalObject('textFormat') ?? null),
    thinking: readThinking(additional, output?.optionalString('effort') ?? null),
    serviceTier: fields.optionalObject('serviceTier')?.optionalString('type') ?? null,
    user: null,
    metadata: (fields.optionalObject('requestMetadata')?.value ?? null) as Conversation['metadata'],
    origin: { format: 'completions', unknownFields: new Map(), paths }
  }
}

/** A cachePoint belongs to the part before it. */
function partsOf(blocks: readonly Json[], path: string): Part[] {
  const parts: Part[] = []
  for (const [i, block] of blocks.entries()) {
    const { cachePoint, toolResult } = Fields.of(block, `${path}[${i}]`).value
    if (isObject(cachePoint)) parts.push({ ...parts.pop()!, cache: markOf(cachePoint) } as Part)
    else if (isObject(toolResult)) parts.push(resultOf(new Fields(toolResult, `${path}[${i}].toolResult`)))
    else parts.push(...readContent([block], path, new Map()))
  }
  return parts
}

const markOf = ({ ttl = null }: JsonObject) => ({ ttl: ttl as '5m' | '1h' | null })

function resultOf(result: Fields): Part {
  const content = partsOf(result.list('content'), result.at('content')) as (TextPart & Part)[]
  // What a model says is in no result.
  if (content.some((part) => !('cache' in part))) throw new FormatError(result.at('content'), 'has a part of a turn')
  const isError = result.optionalString('status') === 'error'
  return { kind: 'toolResult', callId: result.string('toolUseId'), name: null, content, isError, cache: null }
}

function readTools(config: Fields | null, additional: JsonObject): Pick<Conversation, 'tools' | 'toolChoice'> {
  const tools: Conversation['tools'][number][] = []
  for (const item of config?.objects('tools') ?? []) {
    const mark = item.value.cachePoint
    const spec = item.optionalObject('toolSpec')
    if (isObject(mark)) tools.push({ ...tools.pop()!, cache: markOf(mark) })
    else if (spec !== null) {
      tools.push({
        name: spec.string('name'),
        description: spec.optionalString('description'),
        schema: spec.object('inputSchema').object('json').value,
        strict: spec.optionalBoolean('strict'),
        cache: null,
        native: null
      })
    }
  }
  return { tools, toolChoice: choiceIn(config?.optionalObject('toolChoice')?.value ?? null, additional.tool_choice) }
}

/** `single`: Claude's tool_choice, the only way to forbid parallel calls. */
function choiceIn(choice: JsonObject | null, single: Json | undefined): ToolChoice | null {
  if (isObject(single)) {
    const { type, name = null } = single
    return { kind: type as ToolChoice['kind'], name: name as string | null, parallel: false }
  }
  const kind = (['tool', 'any', 'auto'] as const).find((name) => isObject(choice?.[name]))
  if (kind === undefined) return null
  const name = (choice![kind] as JsonObject).name ?? null
  return { kind, name: name as string | null, parallel: null }
}

function extrasIn(additional: JsonObject, family: Family): { [name: string]: number } {
  const extras: { [name: string]: number } = {}
  for (const extra of EXTRAS) {
    const name = SAMPLING[family][extra]
    const value = name === undefined ? null : additional[name]
    if (typeof value === 'number') extras[extra] = value
  }
  const nova = additional.inferenceConfig
  return isObject(nova) && typeof nova.topK === 'number' ? { ...extras, topK: nova.topK } : extras
}

function readThinking(additional: JsonObject, effort: string | null): Thinking | null {
  const { thinking, reasoningConfig, reasoning_effort: word = effort } = additional
  const config = isObject(thinking) ? thinking : isObject(reasoningConfig) ? reasoningConfig : null
  if (config === null && word === null) return null
  const { type = 'enabled', budget_tokens: budget = null, display = null, maxReasoningEffort = word } = config ?? {}
  return {
    mode: type === 'enabled' ? 'on' : type === 'disabled' ? 'off' : 'adaptive',
    effort: maxReasoningEffort as string | null,
    budgetTokens: budget as number | null,
    isShown: display === null ? null : display === 'summarized'
  }
}

function readOutput(format: Fields | null): Conversation['output'] {
  const definition = format?.object('structure').object('jsonSchema')
  if (definition === undefined) return null
  const [name, description] = [definition.optionalString('name'), definition.optionalString('description')]
  return { kind: 'schema', name, description, schema: JSON.parse(definition.string('schema')), strict: null }
}
