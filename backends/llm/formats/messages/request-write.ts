/** A conversation as the body of POST /v1/messages (Messages API, "Create a Message"). */
import type { Conversation, Json, JsonObject, Part, RequestOrigin, Tool, Turn } from '#backends/llm/conversation.ts'
import { compact, type Writable } from '#backends/llm/formats/fields.ts'
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { fieldPath, type PathField, partPath, turnPath } from '#backends/llm/formats/paths.ts'
import { loseUnknown, restoreUnknown } from '#backends/llm/formats/unknown-fields.ts'
import { budgetWithin, effortOf } from '#backends/llm/translate/effort.ts'
import { type BlockScene, cacheMark, shortened, writeBlock, writeBlocks, writePlain } from './content-write.ts'
import { maxTokensOf, takesSampling, thinkingOf } from './model.ts'
import { isSystemTaken } from './system-turns.ts'

interface Scene extends BlockScene {
  readonly conversation: Conversation
  readonly origin: RequestOrigin
}

/** `max_tokens` is required: see maxTokensOf for what is written when the caller set no limit. */
export const writeRequest: ChatFormat['writeRequest'] = (conversation, losses): JsonObject => {
  const { origin, sampling } = conversation
  const isOwn = origin.format === 'messages'
  if (!isOwn) loseUnknown(origin.unknownFields, losses)
  const scene: Scene = { conversation, origin, isOwn, losses }
  const thinks = (conversation.thinking?.mode ?? 'off') !== 'off'
  const maxTokens = sampling.maxTokens ?? maxTokensOf(conversation.model, thinks)
  const output = writeOutput(scene)
  const body = compact({
    model: conversation.model,
    max_tokens: maxTokens,
    system: writePlain(conversation.system, 'system', scene),
    messages: isOwn ? ownMessages(scene) : foreignMessages(scene),
    tools: conversation.tools.length === 0 ? null : writeTools(scene),
    tool_choice: writeToolChoice(scene),
    ...writeSampling(scene),
    thinking: isOwn ? ownThinking(scene, output) : foreignThinking(scene, output, maxTokens),
    output_config: output,
    metadata: writeMetadata(scene),
    service_tier: writeTier(scene),
    stream: conversation.isStreamed ? true : null
  })
  if (isOwn) restoreUnknown(body, origin, 'messages', losses)
  return shorten(body)
}

/** Drops objects without members, and writes plain text as strings. */
function shorten(body: Writable): JsonObject {
  const output = body.output_config as Writable | undefined
  if (output !== undefined && isEmpty(output.format)) delete output.format
  for (const name of ['output_config', 'metadata']) if (isEmpty(body[name])) delete body[name]
  if (body.system !== undefined) body.system = shortened(body.system)
  for (const message of body.messages as readonly Writable[]) {
    const content = message.content
    if (!Array.isArray(content)) continue
    message.content = shortened(content as Json)
    for (const block of content as readonly Writable[]) {
      if (block.type === 'tool_result' && block.content !== undefined) block.content = shortened(block.content)
    }
  }
  return body
}

function isEmpty(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** As they came. */
function ownMessages(scene: Scene): Json {
  return scene.conversation.turns.map(({ role, parts }, i): Json => {
    if (role === 'system' && parts.length === 0) return { role }
    return { role, content: writeBlocks(parts, (j) => partPath(scene.origin, i, j), scene) }
  })
}

/** Turns of one role in a row become one message, in which results of tools come first, as the API wants it. */
function foreignMessages(scene: Scene): Json {
  const { turns } = scene.conversation
  const messages: { role: Turn['role']; results: Json[]; others: Json[] }[] = []
  for (let i = 0; i < turns.length; i++) {
    const turn = turns[i]!
    if (turn.role === 'system' && !isSystemTaken(scene.conversation, i)) {
      // What there was of text has been moved (rewrites.ts).
      if (turn.parts.length > 0) scene.losses.add(turnPath(scene.origin, i))
      continue
    }
    const results: Json[] = []
    const others: Json[] = []
    turn.parts.forEach((part, j) => {
      const list = part.kind === 'toolResult' ? results : others
      const block = foreignBlock(part, turn.role, partPath(scene.origin, i, j), list, scene)
      if (block !== null) list.push(block)
    })
    if (results.length + others.length === 0) continue
    const last = messages.at(-1)
    if (last?.role === turn.role) {
      for (const block of results) last.results.push(block)
      for (const block of others) last.others.push(block)
    } else {
      messages.push({ role: turn.role, results, others })
    }
  }
  return messages.map(({ role, results, others }) => ({ role, content: [...results, ...others] }))
}

function foreignBlock(part: Part, role: Turn['role'], path: string, list: Json[], scene: Scene): JsonObject | null {
  const isMedia = part.kind === 'image' || part.kind === 'document'
  const isAllowed = role === 'user' || (role === 'assistant' && !isMedia) || part.kind === 'text'
  if (isAllowed) return writeBlock(part, path, list, scene)
  scene.losses.add(path)
  return null
}

function writeTools({ conversation, isOwn, losses }: Scene): Json {
  return conversation.tools.flatMap((tool, i): JsonObject[] => {
    if (tool.native === null) return [writeTool(tool, isOwn)]
    if (tool.native.format === 'messages') return [{ ...tool.native.value }]
    losses.add(`tools[${i}]`)
    return []
  })
}

function writeTool({ name, description, schema, strict, cache }: Tool, isOwn: boolean): Writable {
  // The API wants the type, which other formats leave out for functions without parameters.
  const input = isOwn || Object.hasOwn(schema, 'type') ? schema : { type: 'object', ...schema }
  return compact({ name, description, input_schema: input, strict, cache_control: cacheMark(cache) })
}

function writeToolChoice({ conversation, isOwn }: Scene): Json {
  const { toolChoice, tools } = conversation
  if (toolChoice === null) return null
  const { kind, name, parallel } = toolChoice
  // Without tools the API takes no choice, and there is none to make.
  if (!isOwn && tools.length === 0 && (kind === 'auto' || kind === 'none')) return null
  const isSingle = parallel === null || (kind === 'none' && !isOwn) ? null : !parallel
  return compact({ type: kind, name: kind === 'tool' ? name : null, disable_parallel_tool_use: isSingle })
}

/** The range of temperature is 0 to 1: a higher one is a loss, as the same number means another thing. */
function writeSampling({ conversation, origin, isOwn, losses }: Scene): JsonObject {
  const { temperature, topP, topK, stop, ...other } = conversation.sampling
  const isTaken = isOwn || takesSampling(conversation.model)
  const lossOf = (field: PathField, isLost: boolean) => {
    if (isLost) losses.add(fieldPath(origin, field))
    return isLost
  }
  const isHot = lossOf(
    'temperature',
    !isOwn && temperature !== null && (temperature > 1 || !(isTaken || temperature === 1))
  )
  const isTopPLost = lossOf('topP', !isTaken && topP !== null && topP !== 1)
  const isTopKLost = lossOf('topK', !isTaken && topK !== null)
  lossOf('seed', other.seed !== null)
  lossOf('frequencyPenalty', (other.frequencyPenalty ?? 0) !== 0)
  lossOf('presencePenalty', (other.presencePenalty ?? 0) !== 0)
  lossOf('count', (other.count ?? 1) !== 1)
  lossOf('topLogprobs', other.topLogprobs !== null)
  return {
    temperature: isHot || !isTaken ? null : temperature,
    top_p: isTopPLost || !isTaken ? null : topP,
    top_k: isTopKLost ? null : topK,
    stop_sequences: stop.length === 0 ? null : stop
  }
}

function ownThinking({ conversation }: Scene, output: Writable): Json {
  const { thinking } = conversation
  if (thinking === null) return null
  const { mode, effort, budgetTokens, isShown } = thinking
  if (effort !== null) output.effort = effort
  if (mode === 'on' && budgetTokens === null) return null
  return compact({
    type: mode === 'on' ? 'enabled' : mode === 'off' ? 'disabled' : 'adaptive',
    budget_tokens: budgetTokens,
    display: isShown === null ? null : isShown ? 'summarized' : 'omitted'
  })
}

/** By what the model takes: an effort and adaptive thinking, or a budget, which must lie under max_tokens. */
function foreignThinking({ conversation, origin, losses }: Scene, output: Writable, maxTokens: number): Json {
  const { thinking, model } = conversation
  const way = thinkingOf(model)
  if (thinking === null || (thinking.mode === 'off' && way === 'none')) return null
  const { mode, effort, budgetTokens, isShown } = thinking
  if (mode === 'off') return { type: 'disabled' }
  if (way === 'adaptive') {
    const word = effort ?? (budgetTokens === null ? null : effortOf(budgetTokens))
    if (word !== null) output.effort = word === 'minimal' ? 'low' : word
    return compact({ type: 'adaptive', display: isShown === null ? null : isShown ? 'summarized' : 'omitted' })
  }
  const budget = budgetWithin(thinking, maxTokens)
  if (way === 'none' || budget === null) {
    losses.add(fieldPath(origin, 'thinking'))
    return null
  }
  return compact({ type: 'enabled', budget_tokens: budget, display: isShown === false ? 'omitted' : null })
}

/**
 * `output_config`. A schema's name is a label that the model does not need, and the API is always strict. JSON without
 * a schema is a loss: the API has no such mode.
 */
function writeOutput({ conversation, origin, losses }: Scene): Writable {
  const { output } = conversation
  const config: Writable = {}
  if (output?.kind === 'json') losses.add(fieldPath(origin, 'output'))
  if (output?.kind !== 'schema') return config
  const { description, schema } = output
  const isDescribed = description === null || Object.hasOwn(schema, 'description')
  config.format = { type: 'json_schema', schema: isDescribed ? schema : { ...schema, description } }
  return config
}

function writeMetadata({ conversation, losses }: Scene): Json {
  for (const name of Object.keys(conversation.metadata ?? {})) losses.add(`metadata.${name}`)
  return compact({ user_id: conversation.user })
}

/** `auto`, or only standard capacity. Other formats' words for more or less than that are a loss. */
function writeTier({ conversation, origin, isOwn, losses }: Scene): Json {
  const tier = conversation.serviceTier
  if (tier === 'default') return 'standard_only'
  if (tier === null || tier === 'auto' || isOwn) return tier
  losses.add(fieldPath(origin, 'serviceTier'))
  return null
}
