/** Messages that every conversation gets, in the client's format (docs/specification.md#policies-for-models). */

import type { AiMessage, AiPrompt } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, FormatName, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'

/** `body` with the messages of `prompt` around its own. Throws FormatError. */
export function enrich(
  client: ClientFormat,
  providerFormat: FormatName,
  body: JsonObject,
  prompt: AiPrompt
): JsonObject {
  if (client === 'messages') return enrichMessages(body, prompt)
  if (client === 'gemini') return enrichGemini(body, prompt)
  // Instructions behind a conversation: only OpenAI's formats have them there.
  const hasEnd = providerFormat === 'completions' || providerFormat === 'responses'
  // `input` is one text or a list of items (OpenAI, "Create a response").
  const field = client === 'responses' ? 'input' : 'messages'
  const own = typeof body.input === 'string' && field === 'input' ? [{ role: 'user', content: body.input }] : null
  return { ...body, [field]: around(own ?? listOf(body, field), prompt, hasEnd) }
}

function around(own: readonly Json[], { prepend, append }: AiPrompt, hasEnd: boolean): Json[] {
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

const plain = ({ role, content }: AiMessage): JsonObject => ({ role, content })

function listOf(body: JsonObject, field: string): readonly Json[] {
  const value = body[field] ?? []
  if (!Array.isArray(value)) throw new FormatError(field, 'must be a list')
  return value
}

const isSystem = ({ role }: AiMessage): boolean => INSTRUCTING.has(role)
const isTurn = (message: AiMessage): boolean => !isSystem(message)

/** Instructions have a place of their own there (Anthropic, "Messages": `system`). */
function enrichMessages(body: JsonObject, { prepend, append }: AiPrompt): JsonObject {
  const text = ({ content }: AiMessage): JsonObject => ({ type: 'text', text: content })
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

/** The service takes names of fields in both spellings. */
function enrichGemini(body: JsonObject, { prepend, append }: AiPrompt): JsonObject {
  const part = ({ content }: AiMessage): JsonObject => ({ text: content })
  const turn = (message: AiMessage): JsonObject => ({
    role: message.role === 'assistant' ? 'model' : message.role,
    parts: [part(message)]
  })
  const [before, after] = [prepend.filter(isSystem), append.filter(isSystem)]
  const contents = [
    ...prepend.filter(isTurn).map(turn),
    ...listOf(body, 'contents'),
    ...append.filter(isTurn).map(turn)
  ]
  if (before.length + after.length === 0) return { ...body, contents }
  const field = body.system_instruction === undefined ? 'systemInstruction' : 'system_instruction'
  const own = body[field] ?? {}
  if (!isObject(own)) throw new FormatError(field, 'must be an object')
  const parts = own.parts ?? []
  if (!Array.isArray(parts)) throw new FormatError(`${field}.parts`, 'must be a list')
  return { ...body, [field]: { ...own, parts: [...before.map(part), ...parts, ...after.map(part)] }, contents }
}
