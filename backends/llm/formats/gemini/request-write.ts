/** A conversation as Google's generateContent request. Source: ai.google.dev, "Generating content" reference. */

import type {
  Conversation,
  Json,
  JsonObject,
  OutputShape,
  RequestOrigin,
  Sampling,
  Tool,
  ToolChoice,
  Turn
} from '#backends/llm/conversation.ts'
import type { Writable } from '#backends/llm/formats/fields.ts'
import { compact } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { fieldPath, partPath, turnPath } from '#backends/llm/formats/paths.ts'
import { restoreUnknown } from '#backends/llm/formats/unknown-fields.ts'
import { budgetOf } from '#backends/llm/translate/effort.ts'
import { type PartsWriter, writePart } from './content-write.ts'
import { hasNoArguments } from './request-read.ts'
import { sourceOf } from './schema.ts'

export function writeRequest(conversation: Conversation, losses: Losses): JsonObject {
  const { origin } = conversation
  const isGemini = origin.format === 'gemini'
  const contents = writeTurns(conversation, isGemini, losses)
  for (const [i, part] of conversation.system.entries()) {
    if (part.cache !== null) losses.add(`${systemPath(origin, i)}.cache_control`)
  }
  if (conversation.user !== null) losses.add(fieldPath(origin, 'user'))
  if (conversation.metadata !== null) losses.add(fieldPath(origin, 'metadata'))
  const system = conversation.system.map((part): JsonObject => ({ text: part.text }))
  const body = compact({
    systemInstruction: system.length > 0 ? { parts: system } : null,
    contents: contents.length > 0 ? contents : null,
    tools: conversation.tools.length > 0 ? writeTools(conversation, losses) : null,
    toolConfig: writeToolChoice(conversation, losses),
    generationConfig: writeConfig(conversation, losses),
    serviceTier: writeTier(conversation, isGemini, losses)
  })
  restoreUnknown(body, conversation.origin, 'gemini', losses)
  return body
}

/** Instructions have a field of their own, or are messages among the others. */
const systemPath = ({ paths }: RequestOrigin, i: number): string =>
  paths.system === null ? paths.fields.turns : `${paths.system}[${i}]`

function writeTurns(conversation: Conversation, isGemini: boolean, losses: Losses): JsonObject[] {
  const { origin } = conversation
  const writer: PartsWriter = { isForProvider: true, isGemini, losses, names: new Map() }
  const contents: { role: string; parts: Writable[] }[] = []
  for (const [i, turn] of conversation.turns.entries()) {
    if (turn.role === 'system' && turn.parts.length > 0) losses.add(`${turnPath(origin, i)}.role`)
    const role = turn.role === 'assistant' ? 'model' : 'user'
    const last = contents[contents.length - 1]
    // Results of parallel calls are wanted in one content, and other formats send one turn for each.
    const parts = !isGemini && last?.role === role ? last.parts : []
    const before = parts.length
    for (const [j, part] of turn.parts.entries()) writePart(part, partPath(origin, i, j), parts, writer)
    if (!isGemini && role === 'model') excuse(turn, parts, before, conversation.model)
    if (parts !== last?.parts && (isGemini || parts.length > 0)) contents.push({ role, parts })
  }
  return contents
}

const OLD_MODEL = /gemini-(?:1|2)(?:\.|-)/

/**
 * From Gemini 3 on, a turn's first call must bear a signature ("Thought signatures"). Calls that another model made
 * have none; this word in its place is what that page's questions and answers give for the history of another model.
 */
function excuse(turn: Turn, parts: Writable[], from: number, model: string): void {
  if (OLD_MODEL.test(model) || !model.includes('gemini') || !turn.parts.some((part) => part.kind === 'toolCall')) return
  const first = parts.slice(from).find((part) => part.functionCall !== undefined)
  if (first !== undefined) first.thoughtSignature ??= 'skip_thought_signature_validator'
}

function writeTools({ tools }: Conversation, losses: Losses): JsonObject[] {
  const entries: JsonObject[] = []
  let row: JsonObject[] | null = null
  for (const [i, tool] of tools.entries()) {
    if (tool.cache !== null) losses.add(`tools[${i}].cache_control`)
    if (tool.native !== null) {
      if (tool.native.format !== 'gemini') {
        losses.add(`tools[${i}]`)
      } else {
        entries.push(tool.native.value)
        row = null
      }
      continue
    }
    if (row === null) {
      row = []
      entries.push({ functionDeclarations: row })
    }
    row.push(writeFunction(tool))
  }
  return entries
}

function writeFunction(tool: Tool): JsonObject {
  const source = sourceOf(tool.schema)
  return compact({
    name: tool.name,
    description: tool.description,
    parameters: source,
    parametersJsonSchema: source !== null || hasNoArguments(tool.schema) ? null : tool.schema
  })
}

const MODES = { auto: 'AUTO', any: 'ANY', none: 'NONE', tool: 'ANY' } as const

/** Schemas are enforced in modes ANY and VALIDATED: a strict tool wants the latter where calls are free. */
function writeToolChoice(conversation: Conversation, losses: Losses): JsonObject | null {
  const choice: ToolChoice | null = conversation.toolChoice
  if (choice?.parallel === false) losses.add(fieldPath(conversation.origin, 'parallel'))
  const isStrict = conversation.tools.some((tool) => tool.strict === true && tool.native === null)
  const isFree = choice === null || choice.kind === 'auto'
  if (isFree && isStrict) return { functionCallingConfig: { mode: 'VALIDATED' } }
  if (choice === null) return null
  const allowedFunctionNames = choice.kind === 'tool' && choice.name !== null ? [choice.name] : null
  return { functionCallingConfig: compact({ mode: MODES[choice.kind], allowedFunctionNames }) }
}

function writeConfig(conversation: Conversation, losses: Losses): JsonObject | null {
  const config = compact({
    ...writeSampling(conversation.sampling),
    ...writeOutput(conversation.output),
    thinkingConfig: writeThinking(conversation, losses)
  })
  return Object.keys(config).length > 0 ? config : null
}

function writeSampling(sampling: Sampling): { readonly [name: string]: Json } {
  const { topLogprobs } = sampling
  return {
    maxOutputTokens: sampling.maxTokens,
    temperature: sampling.temperature,
    topP: sampling.topP,
    topK: sampling.topK,
    stopSequences: sampling.stop.length > 0 ? sampling.stop : null,
    seed: sampling.seed,
    frequencyPenalty: sampling.frequencyPenalty,
    presencePenalty: sampling.presencePenalty,
    candidateCount: sampling.count,
    responseLogprobs: topLogprobs === null ? null : true,
    logprobs: topLogprobs === 0 ? null : topLogprobs
  }
}

/** A name and a description have their place in the schema itself; what the schema says is always enforced. */
function writeOutput(output: OutputShape | null): JsonObject {
  if (output === null) return {}
  const responseMimeType = 'application/json'
  if (output.kind === 'json') return { responseMimeType }
  const source = sourceOf(output.schema)
  if (source !== null) return { responseMimeType, responseSchema: source }
  const keywords = compact({ title: output.name, description: output.description })
  return { responseMimeType, responseJsonSchema: { ...keywords, ...output.schema } }
}

const LEVELS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
  ['xhigh', 'HIGH'],
  ['max', 'HIGH']
])
/** Of what a word may become: more than some models take is an error there ("Gemini thinking", budgets). */
const BUDGET_MAX = 24_576

function writeThinking({ thinking, model, origin }: Conversation, losses: Losses): JsonObject | null {
  if (thinking === null) return null
  const { mode, effort, budgetTokens } = thinking
  const isGemini = origin.format === 'gemini'
  const level = effort === null ? null : (LEVELS.get(effort) ?? null)
  if (effort !== null && level === null) losses.add(fieldPath(origin, 'thinking'))
  const budget = mode === 'off' ? 0 : (budgetTokens ?? (mode === 'adaptive' && level === null ? -1 : null))
  const both = { includeThoughts: thinking.isShown, thinkingBudget: budget, thinkingLevel: level }
  if (isGemini) return compact(mode === 'adaptive' ? { ...both, thinkingBudget: -1 } : both)
  if (level === null || mode === 'off') return compact({ ...both, thinkingLevel: null })
  // Levels came with Gemini 3, which takes one or the other; before it there are budgets only.
  if (!OLD_MODEL.test(model)) return compact({ ...both, thinkingBudget: null })
  const words = budgetTokens ?? Math.min(budgetOf(effort ?? ''), BUDGET_MAX)
  return compact({ ...both, thinkingBudget: words, thinkingLevel: null })
}

const TIERS: ReadonlyMap<string, string | null> = new Map([
  ['auto', null],
  ['default', 'standard'],
  ['standard', 'standard'],
  ['flex', 'flex'],
  ['priority', 'priority']
])

function writeTier(conversation: Conversation, isGemini: boolean, losses: Losses): string | null {
  const tier = conversation.serviceTier
  if (tier === null || isGemini) return tier
  const known = TIERS.get(tier)
  if (known === undefined) losses.add(fieldPath(conversation.origin, 'serviceTier'))
  return known ?? null
}
