/** Where the Responses API has what a conversation says. A turn may be several items. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { contentPaths, isInstruction } from '#backends/llm/formats/openai-paths.ts'
import { type ClientPaths, OPENAI_FIELDS } from '#backends/llm/formats/paths.ts'
import { isKnownType } from './parts.ts'

export const paths: ClientPaths = {
  fields: { ...OPENAI_FIELDS, output: 'text.format', thinking: 'reasoning', turns: 'input' },
  turns: 'turns',
  parts: 'parts',
  partFields: { name: 'filename' },
  system: null
}

/** The paths of the parts of all turns. */
export function partPaths({ input }: JsonObject): string[] {
  if (!Array.isArray(input)) return ['input']
  const paths: string[] = []
  let isBehind = false
  for (const [i, item] of input.entries()) {
    if (!isObject(item)) continue
    const isMessage = (item.type ?? 'message') === 'message' && item.role !== undefined
    if (!isBehind && isMessage && isInstruction(item)) continue
    isBehind = true
    const path = `input[${i}]`
    if (isMessage) for (const part of messageItemPaths(item.content, path)) paths.push(part)
    // A seal belongs to the call before it.
    else if (!isSeal(item)) paths.push(path)
  }
  return paths
}

/** What cannot be read is no part of the turn; with nothing else, the message is one part. */
function messageItemPaths(content: Json | undefined, path: string): string[] {
  const paths = contentPaths(content, `${path}.content`)
  if (!Array.isArray(content) || content.length === 0) return paths
  const known = paths.filter((_, i) => isKnownType(String((content[i] as JsonObject).type)))
  return known.length === 0 ? [path] : known
}

function isSeal({ type, encrypted_content: sealed }: JsonObject): boolean {
  return type === 'reasoning' && typeof sealed === 'string' && sealed.startsWith('call.weir.')
}
