/** A conversation as the body of `POST /v2/chat` (API reference of Cohere, "Chat", version 2). */
import type { Conversation, Json, JsonObject, OutputShape, Thinking, Tool } from '#backends/llm/conversation.ts'
import { compact, type Writable } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { fieldPath, type PathField } from '#backends/llm/formats/paths.ts'
import { loseUnknown } from '#backends/llm/formats/unknown-fields.ts'
import { budgetOf, budgetWithin } from '#backends/llm/translate/effort.ts'
import { writeMessages } from './content-write.ts'

export function writeRequest(conversation: Conversation, losses: Losses): JsonObject {
  const { model, isStreamed, sampling, output, origin } = conversation
  const { messages, documents } = writeMessages(conversation, losses)
  const { own, others } = ownMembers(origin.unknownFields)
  const body = compact({
    model,
    stream: isStreamed ? true : null,
    messages,
    ...writeTools(conversation, losses),
    documents: documents.length > 0 ? documents : null,
    response_format: output === null ? null : writeOutput(output),
    max_tokens: sampling.maxTokens,
    temperature: sampling.temperature,
    p: sampling.topP,
    k: sampling.topK,
    seed: sampling.seed,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    stop_sequences: sampling.stop.length > 0 ? [...sampling.stop] : null,
    logprobs: sampling.topLogprobs === null ? null : true,
    thinking: writeThinking(conversation)
  })
  loseOthers(conversation, losses)
  loseUnknown(others, losses)
  return withOwn(body, own, losses)
}

/** What it has no member for. */
function loseOthers({ sampling, serviceTier, user, metadata, origin }: Conversation, losses: Losses): void {
  const lost: readonly (readonly [field: PathField, isLost: boolean])[] = [
    ['count', sampling.count !== null && sampling.count !== 1],
    // Of the tokens that were not taken nothing is told.
    ['topLogprobs', (sampling.topLogprobs ?? 0) > 0],
    ['serviceTier', serviceTier !== null && serviceTier !== 'auto'],
    ['user', user !== null]
  ]
  for (const [field, isLost] of lost) if (isLost) losses.add(fieldPath(origin, field))
  for (const name of Object.keys(metadata ?? {})) losses.add(`${fieldPath(origin, 'metadata')}.${name}`)
}

// --- members of Cohere's own, which clients of other formats write beside theirs ---

const OWN: ReadonlySet<string> = new Set(['documents', 'citation_options', 'safety_mode', 'strict_tools', 'priority'])

function ownMembers(unknown: ReadonlyMap<string, Json>) {
  const all = [...unknown]
  return {
    own: all.filter(([path]) => OWN.has(path)),
    others: new Map(all.filter(([path]) => !OWN.has(path)))
  }
}

/** A list that both sides have is one. */
function withOwn(body: Writable, own: readonly (readonly [name: string, value: Json])[], losses: Losses): JsonObject {
  for (const [name, value] of own) {
    const written = body[name]
    if (written === undefined) body[name] = value
    else if (Array.isArray(written) && Array.isArray(value)) body[name] = [...(value as Json[]), ...(written as Json[])]
    else losses.add(name)
  }
  return body
}

// --- tools ---

function writeTools({ tools, toolChoice, origin }: Conversation, losses: Losses): { [name: string]: Json } {
  if (toolChoice?.parallel === false && tools.length > 0) losses.add(fieldPath(origin, 'parallel'))
  const isNamed = toolChoice?.kind === 'tool'
  const offered = tools
    .map((tool, i) => [tool, `tools[${i}]`] as const)
    .filter(([{ native }, path]) => {
      if (native !== null) losses.add(path)
      return native === null
    })
  // A tool cannot be named: it is the only one that is offered, and some tool has to be called.
  const taken = isNamed ? offered.filter(([{ name }]) => name === toolChoice.name) : offered
  if (isNamed && taken.length === 0) losses.add(fieldPath(origin, 'toolChoice'))
  else if (isNamed) losses.rewrite(fieldPath(origin, 'toolChoice'))
  if (taken.length === 0) return {}
  const strict = taken.filter(([tool]) => tool.strict === true)
  const areStrict = strict.length === taken.length
  if (!areStrict) for (const [, path] of strict) losses.add(`${path}.strict`)
  return {
    tools: taken.map(([tool]) => writeTool(tool)),
    strict_tools: areStrict ? true : null,
    tool_choice: CHOICES[toolChoice?.kind ?? 'auto']
  }
}

const CHOICES = { auto: null, none: 'NONE', any: 'REQUIRED', tool: 'REQUIRED' } as const

function writeTool({ name, description, schema }: Tool): JsonObject {
  return { type: 'function', function: compact({ name, description, parameters: schema }) }
}

// --- the form of the answer, and thoughts ---

/** A name and a description are for the caller alone. */
function writeOutput(output: OutputShape): JsonObject {
  if (output.kind === 'json') return { type: 'json_object' }
  return { type: 'json_object', json_schema: output.schema }
}

/** Models that think do so unless told not to ("Reasoning"); a number of tokens bounds it. */
function writeThinking({ thinking, sampling }: Conversation): JsonObject | null {
  if (thinking === null) return null
  if (thinking.mode === 'off') return { type: 'disabled' }
  return compact({ type: 'enabled', token_budget: budgetFor(thinking, sampling.maxTokens) })
}

function budgetFor({ effort, budgetTokens }: Thinking, maxTokens: number | null): number | null {
  if (effort === null && budgetTokens === null) return null
  const wanted = budgetTokens ?? budgetOf(effort!)
  return maxTokens === null
    ? wanted
    : (budgetWithin({ effort, budgetTokens }, maxTokens) ?? Math.min(wanted, maxTokens))
}
