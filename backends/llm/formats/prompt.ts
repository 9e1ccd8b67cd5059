/** Messages of the configuration around those of a client (edits/prompt-messages.ts), as most formats have them. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from './fields.ts'
import { FormatError } from './format.ts'

export interface PromptMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant'
  readonly content: string
}

export interface Prompt {
  readonly prepend: readonly PromptMessage[]
  readonly append: readonly PromptMessage[]
}

/** `hasEnd`: the provider takes instructions behind turns. */
export function around(own: readonly Json[], { prepend, append }: Prompt, hasEnd: boolean): Json[] {
  if (hasEnd) return [...prepend.map(plain), ...own, ...append.map(plain)]
  // Nor is there a place for instructions behind a first turn, so the client's own go before the turns of `prepend`.
  const first = own.findIndex((message) => !isObject(message) || !INSTRUCTING.has(message.role))
  const at = first < 0 ? own.length : first
  const instructions = [
    ...prepend.filter(isSystem).map(plain),
    ...own.slice(0, at),
    ...append.filter(isSystem).map(plain)
  ]
  const turns = [...prepend.filter(isTurn).map(plain), ...own.slice(at), ...append.filter(isTurn).map(plain)]
  return [...instructions, ...turns]
}

const INSTRUCTING = new Set<Json | undefined>(['system', 'developer'])

export const plain = ({ role, content }: PromptMessage): JsonObject => ({ role, content })

export function listOf(body: JsonObject, field: string): readonly Json[] {
  const value = body[field] ?? []
  if (!Array.isArray(value)) throw new FormatError(field, 'must be a list')
  return value
}

export const isSystem = ({ role }: PromptMessage): boolean => INSTRUCTING.has(role)
export const isTurn = (message: PromptMessage): boolean => !isSystem(message)
