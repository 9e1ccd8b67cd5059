/**
 * Thoughts in messages: `reasoning_content` (DeepSeek, "Thinking mode"; vLLM, "Reasoning outputs", which calls it
 * `reasoning` too), and `thinking_blocks` (LiteLLM, "Reasoning content"), which carry signatures.
 */

import type { Json, ThinkingPart } from '#backends/llm/conversation.ts'
import { type Fields, isString, type Writable } from '#backends/llm/formats/fields.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { openSignature, sealSignature } from '#backends/llm/translate/signature.ts'
import type { Wording } from './wording.ts'

/** Blocks are Anthropic's, and so are signatures in them that Weir has not sealed. */
const BLOCKS = 'messages'

function thought(text: string): ThinkingPart {
  return { kind: 'thinking', text, signature: null, isRedacted: false }
}

/** Fields with thoughts as text, each a server's: DeepSeek, vLLM and OpenRouter, and some that wrap Ollama. */
export const REASONING = ['reasoning_content', 'reasoning', 'thinking'] as const

export function readThinking(message: Fields, notes: ReadNotes): ThinkingPart[] {
  const present = REASONING.filter((one) => isString(message.value[one]))
  // Some servers have several of them, and nothing in the first.
  const name = present.find((one) => message.value[one] !== '') ?? present[0]
  for (const one of present) if (message.value[one] === '') message.any(one)
  const reasoning = name === undefined ? null : message.string(name)
  if (name !== undefined && name !== 'reasoning_content') notes.wording.set(message.at(name), true)
  if (message.any('thinking_blocks') === null) return reasoning === null ? [] : [thought(reasoning)]
  const parts: ThinkingPart[] = []
  for (const block of message.objects('thinking_blocks')) {
    const part = readBlock(block, notes)
    if (part !== null) parts.push(part)
    else notes.unknown.set(block.path, block.value)
  }
  const shown = textOf(parts)
  if (reasoning === shown && reasoning !== '') {
    if (!needsBlocks(parts)) notes.wording.set(message.at('thinking_blocks'), 'both')
    return parts
  }
  notes.wording.set(message.at('thinking_blocks'), 'only')
  if (reasoning !== null) {
    notes.wording.delete(message.at(name!))
    notes.unknown.set(message.at(name!), reasoning)
  }
  return parts
}

/** One of `thinking_blocks`; null when its type is not known. */
export function readBlock(block: Fields, notes: ReadNotes): ThinkingPart | null {
  const type = block.string('type')
  // Of a stream: clients give it back with the block.
  block.any('index')
  if (type === 'redacted_thinking') {
    const signature = openSignature(block.string('data'), BLOCKS)
    block.leaveUnknown(notes.unknown)
    return { kind: 'thinking', text: '', signature, isRedacted: true }
  }
  if (type !== 'thinking') return null
  const text = block.optionalString('thinking') ?? ''
  const signature = block.optionalString('signature')
  block.leaveUnknown(notes.unknown)
  if (signature === '') notes.wording.set(block.at('signature'), '')
  return { kind: 'thinking', text, signature: signature ? openSignature(signature, BLOCKS) : null, isRedacted: false }
}

/** Whether `reasoning_content` alone cannot say them. */
export function needsBlocks(parts: readonly ThinkingPart[]): boolean {
  return parts.length > 1 || parts.some((part) => part.signature !== null || part.isRedacted)
}

function textOf(parts: readonly ThinkingPart[]): string {
  return parts.map((part) => part.text).join('')
}

/** Adds the thoughts to `message`, which is at `path`. */
export function writeThinking(parts: readonly ThinkingPart[], message: Writable, path: string, wording: Wording): void {
  const how = wording.get(`${path}.thinking_blocks`)
  if (parts.length === 0 && how === undefined) return
  const shown = textOf(parts)
  const hasBlocks = how !== undefined || needsBlocks(parts)
  if (how !== 'only' && (shown !== '' || !hasBlocks)) {
    message[REASONING.find((name) => wording.has(`${path}.${name}`)) ?? 'reasoning_content'] = shown
  }
  if (!hasBlocks) return
  message.thinking_blocks = parts.map((part, i) => {
    const block = writeBlock(part)
    if (part.signature === null && wording.has(`${path}.thinking_blocks[${i}].signature`)) block.signature = ''
    return block
  })
}

export function writeBlock(part: ThinkingPart): Writable {
  const seal: Json = part.signature === null ? null : sealSignature(part.signature, BLOCKS)
  if (part.isRedacted) return { type: 'redacted_thinking', data: seal ?? '' }
  return seal === null
    ? { type: 'thinking', thinking: part.text }
    : { type: 'thinking', thinking: part.text, signature: seal }
}
