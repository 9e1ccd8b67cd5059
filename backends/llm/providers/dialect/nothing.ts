import type { Json } from '#backends/llm/conversation.ts'

/** SDKs write members that say nothing, and strict servers refuse them all the same: to leave them out is no loss. */
export function isNothing(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}
