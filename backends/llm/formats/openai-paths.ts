/** What the paths of parts in OpenAI's two formats have in common. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'

export const isInstruction = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer'

/** Paths of the parts of `content`: a text, or a list. */
export function contentPaths(content: Json | undefined, path: string): string[] {
  if (Array.isArray(content)) return content.map((_, i) => `${path}[${i}]`)
  return typeof content === 'string' ? [path] : []
}
