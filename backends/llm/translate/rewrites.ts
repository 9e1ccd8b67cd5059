/**
 * Fields that a provider's format lacks and that another form can express: each line of REWRITES translates one,
 * before the format's writer sees the conversation. Turns and parts keep their numbers, by which losses are named.
 * Changes that the client is to know of go into `losses`.
 */
import { hash } from 'node:crypto'
import type {
  Conversation,
  FormatName,
  Json,
  MediaPart,
  Part,
  TextPart,
  Tool,
  Turn
} from '#backends/llm/conversation.ts'
import { asError } from '#backends/llm/formats/completions/content-write.ts'
import { claudeVersion, familyOf } from '#backends/llm/formats/converse/models.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { thinkingOf } from '#backends/llm/formats/messages/model.ts'
import { isSystemTaken } from '#backends/llm/formats/messages/system-turns.ts'
import { fieldPath, turnPath } from '#backends/llm/formats/paths.ts'
import { asFunctionPart, type FunctionTools, functionToolsOf } from './client-tools.ts'

/** What there is in a conversation that may have to be carried. */
interface Survey {
  hasOpaque: boolean
  hasSystemTurns: boolean
  hasErrors: boolean
  /** Media of a type by another name. */
  hasAliases: boolean
  hasNameless: boolean
}

interface Rewrite {
  readonly when: (survey: Survey, conversation: Conversation, to: FormatName) => boolean
  readonly apply: (conversation: Conversation, to: FormatName, losses: Losses) => Conversation
}

const CLAUDES: readonly FormatName[] = ['messages', 'converse']
const thinks = ({ thinking }: Conversation): boolean => thinking !== null && thinking.mode !== 'off'

/** Opaque parts of the client's tools are calls by now. */
const hasCalls = ({ turns }: Conversation): boolean =>
  turns.some(({ parts }) => parts.some(({ kind }) => kind === 'toolCall' || kind === 'toolResult'))

/** In this order: tools of the client's are functions before their calls are looked for. */
const REWRITES: readonly Rewrite[] = [
  { when: (_, { tools }) => tools.some(({ native }) => native !== null), apply: clientTools },
  { when: ({ hasOpaque }) => hasOpaque, apply: clientCalls },
  { when: ({ hasSystemTurns }) => hasSystemTurns, apply: systemTurns },
  { when: (_, { output }) => output?.kind === 'json', apply: jsonByInstruction },
  { when: ({ hasAliases }) => hasAliases, apply: mediaTypes },
  { when: ({ hasNameless }, _, to) => hasNameless && to === 'completions', apply: fileNames },
  { when: ({ hasErrors }, _, to) => hasErrors && to === 'responses', apply: errorsAsText },
  { when: (_, { user }) => user !== null, apply: opaqueUser },
  { when: (_, { metadata }, to) => metadata !== null && to === 'completions', apply: metadataOfStored },
  { when: (_, conversation, to) => to === 'converse' && hasCalls(conversation), apply: toolsOfHistory },
  { when: (_, conversation, to) => thinks(conversation) && CLAUDES.includes(to), apply: claudesThinking }
]

/** `conversation`, of another format than `to`, as the writer of `to` can say it. */
export function rewritten(conversation: Conversation, to: FormatName, losses: Losses): Conversation {
  const survey = surveyOf(conversation)
  let current = conversation
  for (const { when, apply } of REWRITES) if (when(survey, current, to)) current = apply(current, to, losses)
  return current
}

function surveyOf({ turns }: Conversation): Survey {
  const survey: Survey = {
    hasOpaque: false,
    hasSystemTurns: false,
    hasErrors: false,
    hasAliases: false,
    hasNameless: false
  }
  for (const { role, parts } of turns) {
    if (role === 'system') survey.hasSystemTurns = true
    for (const part of parts) look(part, survey)
  }
  return survey
}

function look(part: Part, survey: Survey): void {
  switch (part.kind) {
    case 'text':
    case 'thinking':
    case 'refusal':
    case 'toolCall':
      return
    case 'opaque':
      survey.hasOpaque = true
      return
    case 'toolResult':
      survey.hasErrors ||= part.isError
      for (const item of part.content) look(item, survey)
      return
    default:
      survey.hasAliases ||= isAlias(part)
      survey.hasNameless ||= isNameless(part)
  }
}

function mapParts(conversation: Conversation, map: (part: Part, turn: number, index: number) => Part): Conversation {
  const turns = conversation.turns.map((turn, i) => ({ ...turn, parts: turn.parts.map((part, j) => map(part, i, j)) }))
  return { ...conversation, turns }
}

// --- tools that the client runs ---

function clientTools(conversation: Conversation, _: FormatName, losses: Losses): Conversation {
  const functions = functionToolsOf(conversation.tools)
  const tools = conversation.tools.map((tool, i): Tool => {
    const declared = functions.get(i)
    if (declared !== undefined) losses.rewrite(`tools[${i}]`)
    return declared ?? tool
  })
  return { ...chosen(conversation, functions, losses), tools }
}

/** That one of them is to be called Responses says in words of its own (`tool_choice`), and others as of a function. */
function chosen(conversation: Conversation, functions: FunctionTools, losses: Losses): Conversation {
  const { origin, tools, toolChoice } = conversation
  const wanted = origin.unknownFields.get('tool_choice')
  if (!isObject(wanted)) return conversation
  const name = wanted.type === 'custom' ? wanted.name : wanted.type
  const index = tools.findIndex((tool) => tool.name === name && tool.native?.value.type === wanted.type)
  const one = functions.get(index)
  if (one === undefined) return conversation
  losses.rewrite('tool_choice')
  const unknownFields = new Map(origin.unknownFields)
  unknownFields.delete('tool_choice')
  const choice = { kind: 'tool', name: one.name, parallel: toolChoice?.parallel ?? null } as const
  return { ...conversation, toolChoice: choice, origin: { ...origin, unknownFields } }
}

/** Their calls and results: losses name the tools, and these follow from them. */
function clientCalls(conversation: Conversation): Conversation {
  return mapParts(conversation, (part) => (part.kind === 'opaque' ? (asFunctionPart(part) ?? part) : part))
}

// --- instructions ---

/**
 * Where a provider has no place for instructions within a conversation, they follow those ahead of it, in order: the
 * answer to come is the only one that they can still bear upon. What is no text of them stays, and is a loss.
 */
function systemTurns(conversation: Conversation, to: FormatName, losses: Losses): Conversation {
  if (to === 'completions' || to === 'responses') return conversation
  const { turns, origin } = conversation
  const moved: TextPart[] = []
  const left = turns.map((turn, i): Turn => {
    if (turn.role !== 'system' || (to === 'messages' && isSystemTaken(conversation, i))) return turn
    for (const part of turn.parts) if (part.kind === 'text' && part.text.trim() !== '') moved.push(part)
    losses.rewrite(turnPath(origin, i))
    return { ...turn, parts: turn.parts.filter(({ kind }) => kind !== 'text') }
  })
  return { ...conversation, system: [...conversation.system, ...moved], turns: left }
}

export const JSON_ONLY = 'Answer with one JSON object and nothing else: no other text, no code fence.'

/**
 * Anthropic and Bedrock have no mode for JSON without a schema; OpenAI has one, and requires the word in the messages
 * ("Structured outputs", JSON mode).
 */
function jsonByInstruction(conversation: Conversation, to: FormatName, losses: Losses): Conversation {
  if (to === 'gemini') return conversation
  const { system, turns, origin } = conversation
  const instruction = { kind: 'text', text: JSON_ONLY, cache: null } as const
  if (CLAUDES.includes(to)) {
    losses.rewrite(fieldPath(origin, 'output'))
    return { ...conversation, output: null, system: [...system, instruction] }
  }
  // Responses looks for the word in its input only.
  const namesJson = (part: Part): boolean => part.kind === 'text' && /json/i.test(part.text)
  if (turns.some(({ parts }) => parts.some(namesJson))) return conversation
  if (to === 'responses') return { ...conversation, turns: [...turns, { role: 'system', parts: [instruction] }] }
  return system.some(namesJson) ? conversation : { ...conversation, system: [...system, instruction] }
}

// --- parts ---

/** Names that clients use and providers do not know. */
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  ['application/x-pdf', 'application/pdf']
])

const isAlias = ({ mediaType }: MediaPart): boolean => mediaType !== null && MEDIA_TYPES.has(mediaType.toLowerCase())

const isNameless = ({ kind, source, name }: MediaPart): boolean =>
  kind === 'document' && source.kind === 'base64' && name === null

/** Also of what tools have given. */
function mapMedia(conversation: Conversation, map: (part: MediaPart) => MediaPart): Conversation {
  const known = <T extends Part>(part: T): T => ('mediaType' in part ? (map(part) as T) : part)
  return mapParts(conversation, (part) =>
    part.kind === 'toolResult' ? { ...part, content: part.content.map(known) } : known(part)
  )
}

function mediaTypes(conversation: Conversation): Conversation {
  const type = (part: MediaPart): string => MEDIA_TYPES.get(part.mediaType!.toLowerCase())!
  return mapMedia(conversation, (part) => (isAlias(part) ? { ...part, mediaType: type(part) } : part))
}

/** OpenAI takes no data of a file without a name. */
function fileNames(conversation: Conversation): Conversation {
  const name = ({ mediaType }: MediaPart): string => `document.${mediaType === 'application/pdf' ? 'pdf' : 'txt'}`
  return mapMedia(conversation, (part) => (isNameless(part) ? { ...part, name: name(part) } : part))
}

/** Responses has no field for it, and the text says so. */
function errorsAsText(conversation: Conversation): Conversation {
  return mapParts(conversation, (part) => {
    if (part.kind !== 'toolResult' || !part.isError) return part
    return { ...part, content: asError(part.content) as (TextPart | MediaPart)[], isError: false }
  })
}

// --- the end user ---

/** What a format accepts as the name of the end user (OpenAI 64 characters, Anthropic 256, Bedrock few characters). */
const USERS: { readonly [format in FormatName]?: RegExp } = {
  completions: /^.{0,64}$/s,
  responses: /^.{0,64}$/s,
  messages: /^.{0,256}$/s,
  converse: /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/
}

/** A hash tells one from another as well: the ids are for that alone. */
function opaqueUser(conversation: Conversation, to: FormatName, losses: Losses): Conversation {
  const { user, origin } = conversation
  if (USERS[to]?.test(user!) ?? true) return conversation
  losses.rewrite(userPath(origin))
  return { ...conversation, user: hash('sha256', user!) }
}

/** The client's name for the end user. */
function userPath(origin: Conversation['origin']): string {
  const { format, wording } = origin
  if (format !== 'completions' && format !== 'responses') return fieldPath(origin, 'user')
  const isOld = format === 'responses' ? wording?.get('#user') === 'old' : wording?.has('safety_identifier') !== true
  return isOld ? 'user' : 'safety_identifier'
}

/** OpenAI keeps metadata with what is stored only, and refuses them otherwise. */
function metadataOfStored(conversation: Conversation, _: FormatName, losses: Losses): Conversation {
  const isStored: Json = conversation.origin.unknownFields.get('store') ?? false
  if (isStored === true) return conversation
  losses.add('metadata')
  return { ...conversation, metadata: null }
}

// --- what a provider wants to go together ---

/**
 * Bedrock wants tools where the history has calls. Where the client gives none, or forbids to call them, there is one
 * that is not to be called.
 */
function toolsOfHistory(conversation: Conversation): Conversation {
  const { tools, toolChoice } = conversation
  if (tools.length > 0 && toolChoice?.kind !== 'none') return conversation
  const none: Tool = {
    name: 'none',
    description: 'Not to be called: no tools are available now.',
    schema: { type: 'object', properties: {} },
    strict: null,
    cache: null,
    native: null
  }
  return { ...conversation, tools: [none], toolChoice: null }
}

/**
 * Claude thinks only where no tool is forced, at the usual temperature, and, with a budget, where its turn in a loop
 * of tools begins with thoughts of its own ("Extended thinking", tool use, feature compatibility).
 */
function claudesThinking(conversation: Conversation, to: FormatName, losses: Losses): Conversation {
  const { model, origin, toolChoice, sampling } = conversation
  if (to === 'converse' && familyOf(model) !== 'claude') return conversation
  const isForced = toolChoice?.kind === 'any' || toolChoice?.kind === 'tool'
  const hasBudget = to === 'converse' ? claudeVersion(model) < 406 : thinkingOf(model) === 'budget'
  if (isForced || (hasBudget && isLoopOfAnother(conversation, to))) {
    losses.add(fieldPath(origin, 'thinking'))
    return { ...conversation, thinking: null }
  }
  const unusual = THINKING_SAMPLING.filter(([field, isTaken]) => !isTaken(sampling[field])).map(([field]) => field)
  if (unusual.length === 0) return conversation
  for (const field of unusual) losses.add(fieldPath(origin, field))
  return { ...conversation, sampling: { ...sampling, ...Object.fromEntries(unusual.map((field) => [field, null])) } }
}

/** What Claude takes beside thoughts; null is its default. */
const THINKING_SAMPLING: readonly (readonly [
  field: 'temperature' | 'topK' | 'topP',
  isTaken: (value: number | null) => boolean
])[] = [
  ['temperature', (value) => value === null || value === 1],
  ['topK', (value) => value === null],
  ['topP', (value) => value === null || value >= 0.95]
]

function isLoopOfAnother({ turns }: Conversation, to: FormatName): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant')
  if (last === undefined || !last.parts.some(({ kind }) => kind === 'toolCall')) return false
  const isOwn = (part: Part): boolean =>
    part.kind === 'thinking' && (part.signature?.format === 'messages' || part.signature?.format === to)
  return !last.parts.some(isOwn)
}
