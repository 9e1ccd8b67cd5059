/** Parts of conversations as readers of all formats make them. */
import type { Part, RefusalPart, TextPart, ThinkingPart, ToolCallPart } from '#backends/llm/conversation.ts'

/** `text`: the arguments as JSON. */
export function toolCallPart(id: string, name: string, text: string): ToolCallPart {
  return { kind: 'toolCall', id, name, arguments: text, signature: null, cache: null }
}

/** As it begins in a stream. */
export function emptyPart(kind: 'text' | 'thinking' | 'refusal'): TextPart | ThinkingPart | RefusalPart {
  if (kind === 'text') return { kind, text: '', cache: null }
  return kind === 'refusal' ? { kind, text: '' } : { kind, text: '', signature: null, isRedacted: false }
}

/** One text without a mark: OpenAI's formats write it as a string. */
export function isPlain(parts: readonly Part[]): boolean {
  return parts.length === 1 && parts[0]!.kind === 'text' && parts[0]!.cache === null
}

/** Far more than any media type has: the search for the mark must not run through megabytes of data. */
const HEAD_MAX = 256

/** A data: URL of base64; null when `url` is another. */
export function dataUrl(url: string): { readonly data: string; readonly mediaType: string } | null {
  const end = url.startsWith('data:') ? url.slice(0, HEAD_MAX).indexOf(';base64,') : -1
  return end < 0 ? null : { data: url.slice(end + ';base64,'.length), mediaType: url.slice('data:'.length, end) }
}
