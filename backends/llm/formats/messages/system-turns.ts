/** Where the Messages API takes instructions within a conversation ("Mid-conversation system messages"). */
import type { Conversation } from '#backends/llm/conversation.ts'
import { takesSystemTurns } from './model.ts'

/**
 * A system message must follow the user's and precede the assistant's, or be the last; older models take none. `i`: one
 * of those in a row, which are taken or not together.
 */
export function isSystemTaken({ model, turns }: Pick<Conversation, 'model' | 'turns'>, i: number): boolean {
  if (!takesSystemTurns(model)) return false
  let before = i - 1
  while (turns[before]?.role === 'system') before--
  let after = i + 1
  while (turns[after]?.role === 'system') after++
  return turns[before]?.role === 'user' && (turns[after]?.role ?? 'assistant') === 'assistant'
}
