/** What a request of Cohere's chat asks, as tests read it again: no client speaks it. */
import { type Conversation, type Json, type JsonObject, NO_SAMPLING, type Part } from '#backends/llm/conversation.ts'
import { paths } from '#backends/llm/formats/completions/paths.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { dataUrl, toolCallPart } from '#backends/llm/formats/parts.ts'

/** As of a client of chat completions. */
export function readRequest(body: JsonObject): Conversation {
  const fields = new Fields(body, '')
  const messages = fields.objects('messages')
  const isSystem = (message: Fields): boolean => message.value.role === 'system'
  const format = fields.optionalObject('response_format')
  const schema = format?.optionalObject('json_schema')?.value
  return {
    model: fields.string('model'),
    isStreamed: fields.optionalBoolean('stream') === true,
    system: messages.filter(isSystem).flatMap((message) => partsOf(message) as Conversation['system'][number][]),
    turns: [...messages.filter((message) => !isSystem(message)).map(turnOf), ...documentsOf(fields)],
    ...readTools(fields),
    sampling: {
      ...NO_SAMPLING,
      maxTokens: fields.optionalNumber('max_tokens'),
      temperature: fields.optionalNumber('temperature'),
      topP: fields.optionalNumber('p'),
      topK: fields.optionalNumber('k'),
      seed: fields.optionalNumber('seed'),
      frequencyPenalty: fields.optionalNumber('frequency_penalty'),
      presencePenalty: fields.optionalNumber('presence_penalty'),
      stop: fields.strings('stop_sequences'),
      topLogprobs: fields.optionalBoolean('logprobs') === true ? 0 : null
    },
    output: format === null ? null : outputOf(schema),
    thinking: readThinking(fields.optionalObject('thinking')),
    serviceTier: null,
    user: null,
    metadata: null,
    origin: { format: 'completions', unknownFields: new Map(), paths }
  }
}

const turnOf = (message: Fields): Conversation['turns'][number] => ({
  role: message.value.role === 'assistant' ? 'assistant' : 'user',
  parts: partsOf(message)
})

function outputOf(schema: JsonObject | undefined): Conversation['output'] {
  if (schema === undefined) return { kind: 'json' }
  return { kind: 'schema', name: null, description: null, schema, strict: null }
}

function readThinking(thinking: Fields | null): Conversation['thinking'] {
  if (thinking === null) return null
  const mode = thinking.value.type === 'disabled' ? 'off' : 'on'
  return { mode, effort: null, budgetTokens: thinking.optionalNumber('token_budget'), isShown: null }
}

function partsOf(message: Fields): Part[] {
  const { value } = message
  const content = typeof value.content === 'string' ? [{ type: 'text', text: value.content }] : value.content
  const blocks = Array.isArray(content) ? (content as readonly Json[]) : []
  const parts = blocks.map((block, i) => partOf(Fields.of(block, `content[${i}]`)))
  const texts = parts.filter((part) => part.kind !== 'text' || part.text !== '')
  if (value.role === 'tool') {
    const callId = message.string('tool_call_id')
    return [{ kind: 'toolResult', callId, name: null, content: parts as [], isError: false, cache: null }]
  }
  const plan = message.optionalString('tool_plan')
  if (plan !== null) texts.push({ kind: 'text', text: plan, cache: null })
  for (const call of message.objects('tool_calls')) {
    const { name, arguments: text } = call.object('function').value
    texts.push(toolCallPart(call.string('id'), String(name), String(text)))
  }
  return texts
}

function partOf(block: Fields): Part {
  const { type, thinking, image_url: image, document } = block.value
  if (type === 'thinking') return { kind: 'thinking', text: String(thinking), signature: null, isRedacted: false }
  if (isObject(document)) return documentOf(document)
  if (!isObject(image)) return { kind: 'text', text: block.string('text'), cache: null }
  const { url, detail = null } = image
  const data = dataUrl(String(url))
  const source = data === null ? { kind: 'url' as const, url: String(url) } : ({ kind: 'base64', ...data } as const)
  return {
    kind: 'image',
    source,
    mediaType: data?.mediaType ?? null,
    name: null,
    detail: typeof detail === 'string' ? detail : null,
    cache: null
  }
}

function documentsOf(fields: Fields): Conversation['turns'] {
  const parts = fields.objects('documents').map(({ value }) => documentOf(value))
  return parts.length === 0 ? [] : [{ role: 'user', parts }]
}

function documentOf({ data }: JsonObject): Part {
  const { text = '', title = null } = isObject(data) ? data : {}
  return {
    kind: 'document',
    source: { kind: 'text', text: String(text) },
    mediaType: 'text/plain',
    name: typeof title === 'string' ? title : null,
    detail: null,
    cache: null
  }
}

function readTools(fields: Fields): Pick<Conversation, 'tools' | 'toolChoice'> {
  const strict = fields.optionalBoolean('strict_tools')
  const tools = fields.objects('tools').map((tool): Conversation['tools'][number] => {
    const definition = tool.object('function')
    return {
      name: definition.string('name'),
      description: definition.optionalString('description'),
      schema: definition.object('parameters').value,
      strict,
      cache: null,
      native: null
    }
  })
  const word = fields.optionalString('tool_choice')
  const only = word === 'REQUIRED' && tools.length === 1 ? tools[0]!.name : null
  const kind = word === 'NONE' ? 'none' : only === null ? 'any' : 'tool'
  return { tools, toolChoice: word === null ? null : { kind, name: only, parallel: null } }
}
