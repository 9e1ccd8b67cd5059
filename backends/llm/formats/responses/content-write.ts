/** Parts as items, for requests and for answers. */

import type { Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { compact } from '#backends/llm/formats/fields.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { isPlain } from '#backends/llm/formats/parts.ts'
import type { ItemRole, ReasoningKind } from './content-read.ts'
import { contentType, GAP, sealReasoning } from './content-read.ts'
import { isMedia, writeContent } from './parts.ts'
import type { Wording } from './wording.ts'

type ToolCall = Extract<Part, { readonly kind: 'toolCall' }>
type ToolResult = Extract<Part, { readonly kind: 'toolResult' }>
type Thinking = Extract<Part, { readonly kind: 'thinking' }>

/** Whether a part is content of a message, and no item of its own. */
export function isContent(part: Part): boolean {
  return part.kind === 'text' || part.kind === 'refusal' || isMedia(part)
}

/** Where the part of that index comes from, for losses. */
type Place = (index: number) => string

/** A message of the input at `path`. */
export function messageItem(
  path: string,
  role: ItemRole,
  parts: readonly Part[],
  wording: Wording,
  losses: Losses,
  place: Place
): JsonObject {
  const type = wording.mark(path, 'easy') === null ? 'message' : null
  const content = contents(contentType(role), parts, wording, losses, place)
  return compact({ type, role, content: plain(path, parts, content, wording) })
}

function contents(
  textType: string,
  parts: readonly Part[],
  wording: Wording,
  losses: Losses,
  place: Place
): JsonObject[] {
  const written: JsonObject[] = []
  for (const [i, part] of parts.entries()) {
    const content = writeContent(part, textType, wording)
    if (content === null) losses.add(place(i))
    else written.push(content)
    if (isMedia(part) && part.source.kind === 'file' && !wording.isOpenAi) losses.add(`${place(i)}.source`)
  }
  return written
}

/** The text itself where it is all that there is: the form that every server of this format understands. */
function plain(path: string, parts: readonly Part[], content: readonly JsonObject[], wording: Wording): Json {
  const isText = isPlain(parts) && wording.mark(path, 'list') === null
  return isText ? (content[0]!.text ?? '') : content
}

/** `entries`: id and status, of answers. */
export function callItem(part: ToolCall, entries: JsonObject): JsonObject {
  return compact({
    ...entries,
    type: 'function_call',
    call_id: part.id,
    name: part.name,
    arguments: part.arguments
  })
}

export function resultItem(path: string, part: ToolResult, wording: Wording, losses: Losses, at: string): JsonObject {
  if (part.isError) losses.add(`${at}.isError`)
  const output = contents('input_text', part.content, wording, losses, (i) => `${at}.content[${i}]`)
  // A result must be something, and other formats have results of no content.
  const isNothing = output.length === 0 && !wording.isOwn
  return compact({
    type: 'function_call_output',
    call_id: part.callId,
    output: isNothing ? '' : plain(path, part.content, output, wording)
  })
}

export function reasoningItem(path: string, part: Thinking, wording: Wording, entries: JsonObject): JsonObject {
  const texts = split(part.text, wording.mark(path, 'texts'))
  const isContentItem = wording.mark(path, 'content') !== null
  const seal = part.signature === null ? null : sealReasoning(part.isRedacted ? 'redacted' : 'thinking', part.signature)
  return compact({
    ...entries,
    type: 'reasoning',
    summary: isContentItem ? emptySummary(path, wording) : summaryOf(path, texts, wording),
    content: isContentItem ? texts.map((text) => ({ type: 'reasoning_text', text })) : null,
    encrypted_content: seal
  })
}

function summaryOf(path: string, texts: readonly string[], wording: Wording): Json {
  return texts.length === 0 ? emptySummary(path, wording) : texts.map((text) => ({ type: 'summary_text', text }))
}

function emptySummary(path: string, wording: Wording): Json {
  return wording.mark(path, 'bare') === null ? [] : null
}

/** `text` in the pieces that it was read from; in one when it is not the same any more. */
function split(text: string, lengths: Json): readonly string[] {
  if (!Array.isArray(lengths)) return text === '' ? [] : [text]
  const pieces: string[] = []
  let at = 0
  for (const length of lengths as readonly number[]) {
    pieces.push(text.slice(at, at + length))
    at += length + GAP.length
  }
  return pieces.join(GAP) === text ? pieces : [text]
}

/** An item that only carries another provider's seal: on the function call before it. */
export function sealItem(kind: ReasoningKind, part: ToolCall, entries: JsonObject): JsonObject {
  return compact({
    ...entries,
    type: 'reasoning',
    summary: [],
    encrypted_content: sealReasoning(kind, part.signature!)
  })
}
