/**
 * The request with which another provider is asked for the rest of an answer: the client's own, with what was said as
 * the beginning of the model's turn, and the room that is left. As each client's format has it.
 */
import type { ClientFormat, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, type Writable } from '#backends/llm/formats/fields.ts'

export interface Spoken {
  readonly text: string
  /** Tokens, about. */
  readonly tokens: number
}

interface Continued {
  /** Where the turns are, and the turn of the model. */
  readonly turns: string
  turn(text: string): JsonObject
  readonly role: string
  /** Members that bound the answer. */
  readonly limits: readonly string[]
  /** Members that no provider takes together with the beginning of an answer: to think comes before that. */
  readonly thinking: readonly string[]
  /** Why nobody can go on with the answer to this: its form is not that of plain text, or it is kept elsewhere. */
  isBound(body: JsonObject): boolean
}

const member = (value: Json | undefined, ...path: readonly string[]): Json | undefined =>
  path.reduce<Json | undefined>((at, name) => (isObject(at) ? at[name] : undefined), value)

const isForm = (type: Json | undefined): boolean => typeof type === 'string' && type !== 'text'

const CONTINUED: { readonly [format in ClientFormat]: Continued } = {
  completions: {
    turns: 'messages',
    role: 'assistant',
    turn: (text) => ({ role: 'assistant', content: text }),
    limits: ['max_tokens', 'max_completion_tokens'],
    thinking: ['reasoning_effort', 'reasoning', 'thinking'],
    isBound: (body) => isForm(member(body, 'response_format', 'type')) || body.logprobs === true
  },
  messages: {
    turns: 'messages',
    role: 'assistant',
    turn: (text) => ({ role: 'assistant', content: [{ type: 'text', text }] }),
    limits: ['max_tokens'],
    thinking: ['thinking'],
    isBound: (body) => isObject(body.output_format) || isObject(member(body, 'output_config', 'format'))
  },
  responses: {
    turns: 'input',
    role: 'assistant',
    turn: (text) => ({ role: 'assistant', content: text }),
    limits: ['max_output_tokens'],
    thinking: ['reasoning'],
    isBound: (body) =>
      isForm(member(body, 'text', 'format', 'type')) ||
      ['previous_response_id', 'conversation', 'prompt'].some((name) => (body[name] ?? null) !== null) ||
      body.background === true
  },
  gemini: {
    turns: 'contents',
    role: 'model',
    turn: (text) => ({ role: 'model', parts: [{ text }] }),
    limits: ['maxOutputTokens', 'max_output_tokens'],
    thinking: ['thinkingConfig', 'thinking_config'],
    isBound: (body) => {
      const config = body.generationConfig ?? body.generation_config
      return [
        'responseMimeType',
        'response_mime_type',
        'responseSchema',
        'responseJsonSchema',
        'responseLogprobs'
      ].some((name) => (member(config, name) ?? 'text/plain') !== 'text/plain')
    }
  }
}

/** Whether the answer to `body` may be gone on with, whatever it says. */
export const mayBeContinued = (client: ClientFormat, body: JsonObject): boolean => {
  const { turns, role, isBound } = CONTINUED[client]
  const list = body[turns]
  const last = Array.isArray(list) ? (list.at(-1) as Json) : undefined
  // What the client has begun itself is a turn of the model already.
  return !isBound(body) && !(isObject(last) && last.role === role)
}

/** Null: as much has been said as may be. */
export function continuedBody(client: ClientFormat, body: JsonObject, { text, tokens }: Spoken): JsonObject | null {
  const { turns, turn, limits, thinking } = CONTINUED[client]
  const config =
    client === 'gemini' ? (body.generationConfig === undefined ? 'generation_config' : 'generationConfig') : null
  const settings: Writable = { ...(config === null ? body : isObject(body[config]) ? body[config] : {}) }
  for (const name of limits) {
    const limit = settings[name]
    if (typeof limit !== 'number') continue
    if (limit <= tokens) return null
    settings[name] = limit - tokens
  }
  const beginning = text.trimEnd()
  const isBegun = beginning !== ''
  if (isBegun) for (const name of thinking) delete settings[name]
  const made: Writable =
    config === null ? settings : { ...body, ...(body[config] === undefined ? {} : { [config]: settings }) }
  if (!isBegun) return made
  const before = made[turns]
  const list = typeof before === 'string' ? [{ role: 'user', content: before }] : Array.isArray(before) ? before : []
  made[turns] = [...(list as readonly Json[]), turn(beginning)]
  return made
}
