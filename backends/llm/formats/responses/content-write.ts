/** Parts as items, for requests and for answers. */
import type { Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import type { ItemRole, ReasoningKind } from './content-read.ts'
import { contentType, GAP, isPlain, sealReasoning } from './content-read.ts'
import type { Extras } from './extras.ts'
import { isMedia, writeContent } from './parts.ts'

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
  extras: Extras,
  losses: Losses,
  place: Place
): JsonObject {
  const type = extras.mark(path, 'easy') === null ? 'message' : null
  const content = contents(`${path}.content`, contentType(role), parts, extras, losses, place)
  return extras.object(path, { type, role, content: plain(path, parts, content, extras) })
}

function contents(
  path: string,
  textType: string,
  parts: readonly Part[],
  extras: Extras,
  losses: Losses,
  place: Place
): JsonObject[] {
  const written: JsonObject[] = []
  for (const [i, part] of parts.entries()) {
    const content = writeContent(part, `${path}[${written.length}]`, textType, extras)
    if (content === null) losses.add(place(i))
    else written.push(content)
    if (isMedia(part) && part.source.kind === 'file' && !extras.isOpenAi) losses.add(`${place(i)}.source`)
  }
  return written
}

/** The text itself where it is all that there is: the form that every server of this format understands. */
function plain(path: string, parts: readonly Part[], content: readonly JsonObject[], extras: Extras): Json {
  const isText = isPlain(parts) && extras.mark(path, 'list') === null
  return isText ? (content[0]!.text ?? '') : content
}

/** `entries`: id and status, of answers. */
export function callItem(path: string, part: ToolCall, extras: Extras, entries: JsonObject): JsonObject {
  return extras.object(path, {
    ...entries,
    type: 'function_call',
    call_id: part.id,
    name: part.name,
    arguments: part.arguments
  })
}

export function resultItem(path: string, part: ToolResult, extras: Extras, losses: Losses, at: string): JsonObject {
  if (part.isError) losses.add(`${at}.isError`)
  const output = contents(`${path}.output`, 'input_text', part.content, extras, losses, (i) => `${at}.content[${i}]`)
  // A result must be something, and other formats have results of no content.
  const isNothing = output.length === 0 && !extras.isOwn
  return extras.object(path, {
    type: 'function_call_output',
    call_id: part.callId,
    output: isNothing ? '' : plain(path, part.content, output, extras)
  })
}

export function reasoningItem(path: string, part: Thinking, extras: Extras, entries: JsonObject): JsonObject {
  const texts = split(part.text, extras.mark(path, 'texts'))
  const isContentItem = extras.mark(path, 'content') !== null
  const seal = part.signature === null ? null : sealReasoning(part.isRedacted ? 'redacted' : 'thinking', part.signature)
  return extras.object(path, {
    ...entries,
    type: 'reasoning',
    summary: isContentItem ? emptySummary(path, extras) : summaryOf(path, texts, extras),
    content: isContentItem ? texts.map((text) => ({ type: 'reasoning_text', text })) : null,
    encrypted_content: seal
  })
}

function summaryOf(path: string, texts: readonly string[], extras: Extras): Json {
  return texts.length === 0 ? emptySummary(path, extras) : texts.map((text) => ({ type: 'summary_text', text }))
}

function emptySummary(path: string, extras: Extras): Json {
  return extras.mark(path, 'bare') === null ? [] : null
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
export function sealItem(path: string, kind: ReasoningKind, part: ToolCall, extras: Extras, entries: JsonObject) {
  return extras.object(path, {
    ...entries,
    type: 'reasoning',
    summary: [],
    encrypted_content: sealReasoning(kind, part.signature!)
  })
}
