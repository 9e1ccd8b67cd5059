/** What requests have in common that are to go the same way. */
import type { Json } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { LargeRequest } from '#backends/llm/offload/large-request.ts'
import type { ChatRequest } from '#backends/llm/request/chat-request.ts'
import { REQUEST_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

/** `source`: has passed the schema. Null: the request has none, or the expression has failed. */
export function keyReader(source: string, roots = REQUEST_HEAD_ROOTS): (ex: Exchange) => string | null {
  const program = compileExpression(source, roots)
  return (ex) => {
    const value: unknown = program.run(ex)
    if (typeof value === 'string') return value === '' ? null : value
    return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : null
  }
}

/** Where the formats of clients have instructions, and their turns. */
const INSTRUCTIONS = ['system', 'instructions', 'systemInstruction', 'system_instruction'] as const
const TURNS = ['messages', 'input', 'contents'] as const
/** Instructions and examples ahead of the first turn of a user. */
const FIRST_TURNS_MAX = 8

/**
 * How the prompt begins: instructions, and the turns up to the first one of the user, so that a conversation stays
 * where its beginning is in a cache. Of a large body, which is not parsed here, the bytes of the turns. Null: it is no
 * chat.
 */
export function promptPrefix(chat: ChatRequest | null, charsMax: number): string | null {
  if (chat === null) return null
  // To ask for its body would parse it.
  if (chat instanceof LargeRequest) return bytesOfTurns(chat.bytes, charsMax)
  const { body, bytes } = chat
  const turns = TURNS.map((name) => body[name]).find((value) => value !== undefined)
  if (turns === undefined) return bytesOfTurns(bytes, charsMax)
  const instructions = INSTRUCTIONS.flatMap((name) => (body[name] === undefined ? [] : [body[name]]))
  return JSON.stringify([...instructions, Array.isArray(turns) ? firstTurns(turns) : turns]).slice(0, charsMax)
}

function firstTurns(turns: readonly Json[]): readonly Json[] {
  const user = turns.findIndex((turn) => isObject(turn) && (turn.role ?? 'user') === 'user')
  return turns.slice(0, Math.min(user < 0 ? FIRST_TURNS_MAX : user + 1, FIRST_TURNS_MAX))
}

function bytesOfTurns(bytes: Buffer, charsMax: number): string | null {
  const from = TURNS.map((name) => bytes.indexOf(`"${name}"`)).find((at) => at >= 0)
  return from === undefined ? null : bytes.toString('latin1', from, from + charsMax)
}
