/** System parts and turns as `messages` of a request. */

import type {
  Conversation,
  Json,
  MediaPart,
  OpaquePart,
  Part,
  RefusalPart,
  RequestOrigin,
  TextPart,
  ThinkingPart,
  ToolCallPart,
  ToolResultPart
} from '#backends/llm/conversation.ts'
import { compact, type Writable } from '#backends/llm/formats/fields.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { partPath } from '#backends/llm/formats/paths.ts'
import { writeContent } from './parts.ts'
import { writeThinking } from './thinking.ts'
import { isLegacy, isOpaqueCall, writeCalls } from './tool-calls.ts'
import { marked, type Wording, wordingOf } from './wording.ts'

interface Writing {
  readonly messages: Writable[]
  readonly wording: Wording
  readonly losses: Losses
  /** The request came in this format: what it has beyond OpenAI's goes back as it came. */
  readonly isOwn: boolean
  readonly origin: RequestOrigin
}

export function writeMessages(conversation: Conversation, losses: Losses): Json[] {
  const { origin, system, turns } = conversation
  const wording = wordingOf(origin)
  const writing: Writing = {
    messages: [],
    wording,
    losses,
    isOwn: origin.format === 'completions',
    origin
  }
  let start = 0
  for (const count of systemCounts(system.length, wording)) {
    writeInstructions(system.slice(start, start + count), writing)
    start += count
  }
  for (const [i, turn] of turns.entries()) {
    if (turn.role === 'system') writeInstructions(turn.parts, writing)
    else if (turn.role === 'assistant') writeAssistant(turn.parts, i, writing)
    else writeUser(turn.parts, i, writing)
  }
  return writing.messages
}

/** How many parts each system message has. */
function systemCounts(total: number, wording: Wording): readonly number[] {
  const counts = wording.get('system')
  if (Array.isArray(counts)) {
    const known = counts as readonly number[]
    if (known.reduce((sum, count) => sum + count, 0) === total) return known
  }
  return total === 0 ? [] : [total]
}

function next(writing: Writing): string {
  return `messages[${writing.messages.length}]`
}

function writeInstructions(parts: readonly Part[], writing: Writing): void {
  const path = next(writing)
  const role = writing.wording.get(`${path}.role`) === 'developer' ? 'developer' : 'system'
  const content = writeContent(parts, `${path}.content`, writing.wording, writing.losses) ?? ''
  writing.messages.push({ role, content })
}

/** A part, and where it is in its turn. */
type Placed = readonly [part: Part, index: number]

/** Results come first: they must follow the calls. */
function writeUser(parts: readonly Part[], turn: number, writing: Writing): void {
  const others: Placed[] = []
  const shown: Placed[] = []
  for (const [i, part] of parts.entries()) {
    if (part.kind === 'toolResult') writeResult(part, i, partPath(writing.origin, turn, i), shown, writing)
    else if (part.kind === 'thinking' || part.kind === 'toolCall') writing.losses.add(partPath(writing.origin, turn, i))
    else others.push([part, i])
  }
  if (shown.length === 0 && others.length === 0 && parts.length > 0) return
  const content = contentOf([...shown, ...others], turn, writing) ?? ''
  writing.messages.push({ role: 'user', content })
}

/** Content of the next message; losses have the paths of the request. */
function contentOf(placed: readonly Placed[], turn: number, writing: Writing): Json {
  const at = `${next(writing)}.content`
  const parts = placed.map(([part]) => part)
  const losses = new Losses()
  const content = writeContent(parts, at, writing.wording, losses)
  for (const field of losses.fields) {
    const close = field.indexOf(']', at.length)
    const [, index] = placed[Number(field.slice(at.length + 1, close))] ?? [null, 0]
    writing.losses.add(partPath(writing.origin, turn, index) + field.slice(close + 1))
  }
  // Nothing of it could be said.
  return !writing.isOwn && Array.isArray(content) && content.length === 0 ? null : content
}

/**
 * `shown` takes the media that a tool message cannot have: they follow in a user message. `at`: where the request has
 * the result.
 */
function writeResult(part: ToolResultPart, index: number, at: string, shown: Placed[], writing: Writing): void {
  const { wording, isOwn } = writing
  const path = next(writing)
  let content: readonly Part[] = part.content
  if (!isOwn) {
    const isText = (item: TextPart | MediaPart): boolean => item.kind === 'text' || item.source.kind === 'text'
    for (const item of part.content) if (item.kind !== 'text' && !isText(item)) shown.push([item, index])
    content = part.content.filter(isText)
  }
  if (part.isError) content = asError(content)
  const losses = new Losses()
  const written = writeContent(content, `${path}.content`, wording, losses)
  if (losses.fields.length > 0) writing.losses.add(`${at}.content`)
  const message: Writable = isLegacy(part.callId)
    ? compact({ role: 'function', name: part.name ?? part.callId, content: written })
    : compact({ role: 'tool', tool_call_id: part.callId, content: written ?? '' })
  if (part.name !== null && wording.has(`${path}.name`)) message.name = part.name
  writing.messages.push(marked(message, part.cache, path, wording))
}

/** Tool messages have no field that says so: the text does. */
export function asError(content: readonly Part[]): Part[] {
  const [first, ...others] = content
  if (first?.kind === 'text') {
    const says = first.text.slice(0, 5).toLowerCase() === 'error'
    return says ? [...content] : [{ ...first, text: `Error: ${first.text}` }, ...others]
  }
  return [{ kind: 'text', text: 'Error', cache: null }, ...content]
}

/** Thoughts, content and calls have their own fields: their order among each other cannot be said. */
function writeAssistant(parts: readonly Part[], turn: number, writing: Writing): void {
  const { wording, isOwn } = writing
  const at = next(writing)
  const isList = wording.has(`${at}.content`)
  const thinking: ThinkingPart[] = []
  const content: Placed[] = []
  const refusals: RefusalPart[] = []
  const calls: (ToolCallPart | OpaquePart)[] = []
  for (const [i, part] of parts.entries()) {
    if (part.kind === 'thinking') thinking.push(part)
    else if (part.kind === 'toolCall' || isOpaqueCall(part)) calls.push(part)
    else if (part.kind === 'refusal' && !isList) refusals.push(part)
    else if (part.kind === 'text' || (isOwn && part.kind !== 'toolResult')) content.push([part, i])
    else writing.losses.add(partPath(writing.origin, turn, i))
  }
  // The last refusal of the two kinds is the message's own.
  if (wording.has(`${at}.refusal`)) moveLast(content, refusals)
  const written = contentOf(content, turn, writing)
  const isEmpty = !isOwn && refusals.length === 0 && calls.length === 0
  const message = compact({ role: 'assistant', content: written ?? (isEmpty ? '' : null) })
  if (refusals.length > 0) message.refusal = refusals.map((part) => part.text).join('')
  writeThinking(thinking, message, at, wording)
  writeCalls(calls, message, at, wording)
  writing.messages.push(message)
}

function moveLast(content: Placed[], refusals: RefusalPart[]): void {
  const index = content.findLastIndex(([part]) => part.kind === 'refusal')
  const part = content[index]?.[0]
  if (part?.kind !== 'refusal') return
  content.splice(index, 1)
  refusals.push(part)
}
