/** Instructions in a request of the Messages API, which the configuration adds to. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { isSystem, isTurn, listOf, type Prompt, type PromptMessage, plain } from '#backends/llm/formats/prompt.ts'

/** Instructions have a place of their own there (Anthropic, "Messages": `system`). */
export function withPrompt(body: JsonObject, { prepend, append }: Prompt): JsonObject {
  const text = ({ content }: PromptMessage): JsonObject => ({ type: 'text', text: content })
  const [before, after] = [prepend.filter(isSystem), append.filter(isSystem)]
  const messages = [
    ...prepend.filter(isTurn).map(plain),
    ...listOf(body, 'messages'),
    ...append.filter(isTurn).map(plain)
  ]
  if (before.length + after.length === 0) return { ...body, messages }
  const { system = null } = body
  if (system !== null && typeof system !== 'string' && !Array.isArray(system)) {
    throw new FormatError('system', 'must be a string or a list')
  }
  // An empty text block would be refused.
  const own: readonly Json[] =
    typeof system === 'string' ? (system === '' ? [] : [{ type: 'text', text: system }]) : ((system ?? []) as Json[])
  return { ...body, system: [...before.map(text), ...own, ...after.map(text)], messages }
}
