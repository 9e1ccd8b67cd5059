/** A conversation as the body of a prediction: `input`, by the names that the model has for its members. */
import type { Conversation, Json, JsonObject } from '#backends/llm/conversation.ts'
import { compact, type Writable } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { fieldPath, type PathField } from '#backends/llm/formats/paths.ts'
import { loseUnknown } from '#backends/llm/formats/unknown-fields.ts'
import { writeContent } from './content-write.ts'
import { type Inputs, inputsOf } from './models.ts'

/** `model` is for the provider, which has it in the path. */
export function writeRequest(conversation: Conversation, losses: Losses): JsonObject {
  const { model, sampling, origin } = conversation
  const inputs = inputsOf(model)
  const { own, others } = ownMembers(origin.unknownFields)
  const input = compact({
    ...writeContent(conversation, inputs, losses),
    [inputs.maxTokens]: sampling.maxTokens,
    ...writeSettings(conversation, inputs, losses),
    ...writeEffort(conversation, inputs, losses)
  })
  loseOthers(conversation, losses)
  loseUnknown(others, losses)
  return { model, input: withOwn(input, own, losses) }
}

function writeSettings({ sampling, origin }: Conversation, { settings }: Inputs, losses: Losses): JsonObject {
  const written: Writable = {}
  for (const setting of SETTINGS) {
    const value = setting === 'stop' ? listed(sampling.stop) : sampling[setting]
    const name = settings[setting]
    if (value === null) continue
    if (name !== undefined && (setting !== 'stop' || isListable(sampling.stop))) written[name] = value
    else losses.add(fieldPath(origin, setting))
  }
  return written
}

const SETTINGS = ['temperature', 'topP', 'topK', 'seed', 'frequencyPenalty', 'presencePenalty', 'stop'] as const

const listed = (stop: readonly string[]): string | null => (stop.length === 0 ? null : stop.join(','))
const isListable = (stop: readonly string[]): boolean => !stop.some((one) => one.includes(','))

function writeEffort({ thinking, origin }: Conversation, { effort }: Inputs, losses: Losses): JsonObject {
  if (thinking === null || thinking.mode === 'off') return {}
  if (effort !== undefined && thinking.effort !== null) return { [effort]: thinking.effort }
  losses.add(fieldPath(origin, 'thinking'))
  return {}
}

/** What no prediction can say. */
function loseOthers(conversation: Conversation, losses: Losses): void {
  const { sampling, tools, toolChoice, output, serviceTier, user, metadata, origin } = conversation
  for (const i of tools.keys()) losses.add(`tools[${i}]`)
  const lost: readonly (readonly [field: PathField, isLost: boolean])[] = [
    ['toolChoice', toolChoice !== null && tools.length > 0],
    ['output', output !== null],
    ['count', sampling.count !== null && sampling.count !== 1],
    ['topLogprobs', sampling.topLogprobs !== null],
    ['serviceTier', serviceTier !== null && serviceTier !== 'auto'],
    ['user', user !== null]
  ]
  for (const [field, isLost] of lost) if (isLost) losses.add(fieldPath(origin, field))
  for (const name of Object.keys(metadata ?? {})) losses.add(`${fieldPath(origin, 'metadata')}.${name}`)
}

// --- members of models' own, which clients of other formats write beside theirs ---

const OWN: ReadonlySet<string> = new Set([
  ...['min_tokens', 'min_new_tokens', 'max_new_tokens', 'max_length', 'prompt_template', 'length_penalty'],
  ...['repetition_penalty', 'max_image_resolution', 'thinking_budget', 'verbosity']
])

function ownMembers(unknown: ReadonlyMap<string, Json>) {
  const all = [...unknown]
  return {
    own: all.filter(([path]) => OWN.has(path)),
    others: new Map(all.filter(([path]) => !OWN.has(path)))
  }
}

function withOwn(input: Writable, own: readonly (readonly [name: string, value: Json])[], losses: Losses): JsonObject {
  for (const [name, value] of own) {
    if (input[name] === undefined) input[name] = value
    else losses.add(name)
  }
  return input
}
