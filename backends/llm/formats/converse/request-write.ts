/** A conversation as the body of Converse and ConverseStream (API reference: Converse). */
import type { Conversation, Json, JsonObject, OutputShape, Tool } from '#backends/llm/conversation.ts'
import { compact, jsonText } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { fieldPath, partPath } from '#backends/llm/formats/paths.ts'
import { loseUnknown } from '#backends/llm/formats/unknown-fields.ts'
import { type BlockWriter, cachePoint, writePart } from './content-write.ts'
import { type Family, familyOf, writeExtras } from './models.ts'
import { DocumentNames, toWireToolName } from './names.ts'
import { thinkingFields } from './thinking.ts'

export function writeRequest(conversation: Conversation, losses: Losses): JsonObject {
  const family = familyOf(conversation.model)
  const { sampling } = conversation
  const writer: BlockWriter = { isClaude: family === 'claude', names: new DocumentNames(), losses }
  const system = conversation.system.flatMap((part, i) => writePart(part, `system[${i}]`, writer))
  const { additional, effort } = writeAdditional(conversation, family, losses)
  const toolConfig = writeToolConfig(conversation, family, losses)
  const textFormat = conversation.output === null ? null : writeOutput(conversation, conversation.output, losses)
  const stopSequences = sampling.stop.length > 0 ? [...sampling.stop] : null
  // Claude tells which sequence it was only when asked: the example of the API reference.
  const wantsStop = family === 'claude' && stopSequences !== null
  const body = compact({
    system: orNull(system),
    messages: orNull(writeMessages(conversation, writer)),
    inferenceConfig: objectOrNull({
      maxTokens: sampling.maxTokens,
      temperature: sampling.temperature,
      topP: sampling.topP,
      stopSequences
    }),
    toolConfig,
    additionalModelRequestFields: objectOrNull(additional),
    additionalModelResponseFieldPaths: wantsStop ? ['/stop_sequence'] : null,
    outputConfig: objectOrNull({ textFormat, effort }),
    serviceTier: writeTier(conversation, losses),
    requestMetadata: writeMetadata(conversation, losses)
  })
  loseUnknown(conversation.origin.unknownFields, losses)
  return body
}

function orNull(list: JsonObject[]): JsonObject[] | null {
  return list.length > 0 ? list : null
}

function objectOrNull(entries: { readonly [name: string]: Json }): JsonObject | null {
  const object = compact(entries)
  return Object.keys(object).length > 0 ? object : null
}

/** Neighbours of one role are one message: Bedrock wants roles to alternate. */
function writeMessages({ turns, origin }: Conversation, writer: BlockWriter): JsonObject[] {
  const messages: { role: string; content: JsonObject[] }[] = []
  for (const [i, { role, parts }] of turns.entries()) {
    const content = parts.flatMap((part, j) => writePart(part, partPath(origin, i, j), writer))
    const last = messages.at(-1)
    if (last?.role !== role && content.length > 0) messages.push({ role, content })
    else if (last !== undefined) for (const block of content) last.content.push(block)
  }
  return messages
}

function writeAdditional(
  conversation: Conversation,
  family: Family,
  losses: Losses
): { additional: JsonObject; effort: string | null } {
  const { sampling, thinking, tools, toolChoice, origin } = conversation
  const extras = writeExtras(sampling, family, (name) => losses.add(fieldPath(origin, name)))
  if (sampling.count !== null && sampling.count !== 1) losses.add(fieldPath(origin, 'count'))
  if (sampling.topLogprobs !== null) losses.add(fieldPath(origin, 'topLogprobs'))
  let fields = extras
  let effort: string | null = null
  if (thinking !== null) {
    const written = thinkingFields(thinking, family, conversation)
    fields = { ...fields, ...written.additional }
    effort = written.effort
    if (written.isLost) losses.add(fieldPath(origin, 'thinking'))
  }
  if (toolChoice?.parallel === false && toolChoice.kind !== 'none' && tools.length > 0) {
    const name = toolChoice.name === null ? null : toWireToolName(toolChoice.name)
    const choice = compact({ type: toolChoice.kind, name, disable_parallel_tool_use: true })
    if (family === 'claude') fields = { ...fields, tool_choice: choice }
    else losses.add(fieldPath(origin, 'parallel'))
  }
  return { additional: fields, effort }
}

/**
 * No tools is how Converse says that none may be called; but calls in the history have to have their tools, so then
 * `none` cannot be said.
 */
function writeToolConfig(conversation: Conversation, family: Family, losses: Losses): JsonObject | null {
  const { tools, toolChoice, turns, origin } = conversation
  if (tools.length === 0) return null
  if (toolChoice?.kind === 'none') {
    const hasCalls = turns.some(({ parts }) => parts.some(({ kind }) => kind === 'toolCall' || kind === 'toolResult'))
    if (!hasCalls) return null
    losses.add(fieldPath(origin, 'toolChoice'))
  }
  const list = tools.flatMap((tool, i) => writeTool(tool, `tools[${i}]`, losses))
  const isInAdditional = family === 'claude' && toolChoice?.parallel === false
  const choice = isInAdditional ? null : writeToolChoice(conversation, losses)
  return list.length === 0 ? null : compact({ tools: list, toolChoice: choice })
}

function writeTool(tool: Tool, path: string, losses: Losses): JsonObject[] {
  const name = tool.native === null ? toWireToolName(tool.name) : null
  if (name === null) {
    losses.add(tool.native === null ? `${path}.name` : path)
    return []
  }
  const description = tool.description === '' ? null : tool.description
  // The top level of a schema has to be of type object.
  const json = 'type' in tool.schema ? tool.schema : { type: 'object', ...tool.schema }
  const toolSpec = compact({ name, description, inputSchema: { json }, strict: tool.strict })
  return tool.cache === null ? [{ toolSpec }] : [{ toolSpec }, cachePoint(tool.cache)]
}

function writeToolChoice({ toolChoice, origin }: Conversation, losses: Losses): JsonObject | null {
  if (toolChoice === null || toolChoice.kind === 'none') return null
  if (toolChoice.kind !== 'tool') return { [toolChoice.kind]: {} }
  const name = toWireToolName(toolChoice.name ?? '')
  if (name !== null) return { tool: { name } }
  losses.add(fieldPath(origin, 'toolChoice'))
  return null
}

/** JSON without a schema cannot be asked for, nor a schema that the model may leave. */
function writeOutput({ origin }: Conversation, output: OutputShape, losses: Losses): JsonObject | null {
  const path = fieldPath(origin, 'output')
  if (output.kind === 'json') {
    losses.add(path)
    return null
  }
  if (output.strict === false) losses.add(`${path}.strict`)
  const { name, description } = output
  const jsonSchema = compact({ schema: jsonText(output.schema, path), name, description })
  return { type: 'json_schema', structure: { jsonSchema } }
}

const TIERS: readonly string[] = ['default', 'flex', 'priority', 'reserved']

/** OpenAI's and Anthropic's "auto" is to say nothing; Anthropic's "standard_only" is the default here. */
function writeTier({ serviceTier, origin }: Conversation, losses: Losses): JsonObject | null {
  if (serviceTier === null || serviceTier === 'auto') return null
  if (TIERS.includes(serviceTier)) return { type: serviceTier }
  if (serviceTier === 'standard_only') return { type: 'default' }
  losses.add(fieldPath(origin, 'serviceTier'))
  return null
}

const METADATA = /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/
const METADATA_MAX = 16

/** The user stands among the metadata as `user`: both are for finding requests again in the invocation logs. */
function writeMetadata({ metadata, user, origin }: Conversation, losses: Losses): JsonObject | null {
  const entries: (readonly [name: string, value: string, path: string])[] = Object.entries(metadata ?? {}).map(
    ([name, value]) => [name, value, `${fieldPath(origin, 'metadata')}.${name}`]
  )
  if (user !== null && !Object.hasOwn(metadata ?? {}, 'user')) entries.push(['user', user, fieldPath(origin, 'user')])
  else if (user !== null) losses.add(fieldPath(origin, 'user'))
  const taken: [string, string][] = []
  for (const [name, value, path] of entries) {
    const fits = taken.length < METADATA_MAX && name !== '' && METADATA.test(name) && METADATA.test(value)
    if (fits) taken.push([name, value])
    else losses.add(path)
  }
  return taken.length > 0 ? Object.fromEntries(taken) : null
}
