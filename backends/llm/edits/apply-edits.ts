/** What the configuration changes in a client's request before it is read: overrides, defaults, then messages. */

import type { AiEdits, AiField } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, FormatName, Json, JsonObject } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { answerShapeOf, type ChatRequest, targetIn } from '#backends/llm/request/chat-request.ts'
import { enrich } from './prompt-messages.ts'
import { isForeignSystem, withSystem } from './system-instructions.ts'

/** `chat` as `edits` want it for a provider that speaks `providerFormat`; the same when nothing changes. */
export function applyEdits(chat: ChatRequest, edits: AiEdits, providerFormat: FormatName): ChatRequest {
  const { overrides, defaults, prompt } = edits
  if (overrides.length === 0 && defaults.length === 0 && prompt === null) return chat
  const { client } = chat
  const unprompted = withFields(client, chat.body, overrides, defaults)
  const body = prompt === null ? unprompted : enrich(client, providerFormat, unprompted, prompt)
  return {
    ...chat,
    body,
    // A path that says both does so whatever stands in the body.
    ...(FORMATS[client].readPath === undefined ? targetIn(body) : null),
    ...answerShapeOf(client, body),
    isEdited: true,
    unprompted: prompt === null ? null : unprompted,
    conversation: null
  }
}

/** `chat` with the model that `edits` give to who names none: the format may depend on it. */
export function withDefaultModel(chat: ChatRequest, { defaults }: AiEdits): ChatRequest {
  if (chat.model !== '') return chat
  const model = defaults.find(({ field }) => field === 'model')?.value
  return typeof model === 'string' ? { ...chat, model } : chat
}

/** Null says nothing to any provider: a default takes its place. Entries are defined: "__proto__" is data. */
function withFields(
  client: ClientFormat,
  original: JsonObject,
  overrides: readonly AiField[],
  defaults: readonly AiField[]
): JsonObject {
  if (overrides.length === 0 && defaults.length === 0) return original
  let body = original
  const foreign = (field: string, value: unknown, replaces: boolean): boolean => {
    const instructed = isForeignSystem(client, field) ? withSystem(client, body, value, replaces) : null
    body = instructed ?? body
    return instructed !== null
  }
  const isNative = (replaces: boolean) => (edit: AiField) => !foreign(edit.field, edit.value, replaces)
  const [replacing, filling] = [overrides.filter(isNative(true)), defaults.filter(isNative(false))]
  const fields = new Map<string, Json>(Object.entries(body))
  for (const { field, value } of replacing) fields.set(field, value as Json)
  for (const { field, value } of filling) if ((fields.get(field) ?? null) === null) fields.set(field, value as Json)
  return Object.fromEntries(fields)
}
