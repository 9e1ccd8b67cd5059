/** Where chat completions have what a conversation says. A turn may be several messages. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { contentPaths, isInstruction } from '#backends/llm/formats/openai-paths.ts'
import { type ClientPaths, OPENAI_FIELDS } from '#backends/llm/formats/paths.ts'

export const paths: ClientPaths = {
  fields: {
    ...OPENAI_FIELDS,
    topLogprobs: 'logprobs',
    output: 'response_format',
    thinking: 'reasoning_effort',
    turns: 'messages'
  },
  turns: 'turns',
  parts: 'parts',
  partFields: { name: 'file.filename', detail: 'image_url.detail', arguments: 'function.arguments' },
  system: null
}

const lengthOf = (list: Json | undefined): number => (Array.isArray(list) ? list.length : 0)

/** The paths of the parts of all turns; `sizes`: of each turn, how many parts it has. */
export function partPaths({ messages }: JsonObject, sizes: readonly number[]): string[] {
  const paths: string[] = []
  let turn = 0
  let isRun = false
  for (const [i, message] of (Array.isArray(messages) ? messages : []).entries()) {
    if (!isObject(message) || (turn === 0 && isInstruction(message))) continue
    const path = `messages[${i}]`
    const isResult = message.role === 'tool' || message.role === 'function'
    // Results that lie together are one turn.
    if (!isResult || !isRun) turn++
    isRun = isResult
    if (isResult) paths.push(path)
    else if (message.role === 'assistant') assistantPaths(message, path, sizes[turn - 1] ?? 0, paths)
    else for (const part of contentPaths(message.content, `${path}.content`)) paths.push(part)
  }
  return paths
}

/** Thoughts, content, refusal and calls, in this order; the first have several ways to be written. */
function assistantPaths(message: JsonObject, path: string, size: number, paths: string[]): void {
  const behind = contentPaths(message.content, `${path}.content`)
  if (typeof message.refusal === 'string') behind.push(`${path}.refusal`)
  for (let i = 0; i < lengthOf(message.tool_calls); i++) behind.push(`${path}.tool_calls[${i}]`)
  if (isObject(message.function_call)) behind.push(`${path}.function_call`)
  const hasBlocks = lengthOf(message.thinking_blocks) > 0
  for (let i = 0; i < size - behind.length; i++) paths.push(hasBlocks ? `${path}.thinking_blocks[${i}]` : path)
  for (const one of behind) paths.push(one)
}
