/** The four formats that clients of models speak: what a chat is in each, and what its answers say. */

export interface Chat {
  readonly model: string
  readonly system: string
  readonly prompt: string
  readonly maxTokens: number
  readonly isStream: boolean
  /** Further fields of the body: tools, for example. */
  readonly more: Readonly<Record<string, unknown>>
}

/** What one event of a stream, or a whole answer, adds. */
export interface Piece {
  readonly text?: string
  /** Tokens. */
  readonly input?: number
  readonly output?: number
  /** A call of a tool, as the model has written it. */
  readonly call?: string
}

export interface Format {
  readonly id: string
  readonly title: string
  path(chat: Chat): string
  headers(key: string): [string, string][]
  body(chat: Chat): object
  /** Of an event, or of a whole answer. */
  read(value: Json): Piece
}

type Json = { readonly [name: string]: Json | undefined } & ReadonlyArray<Json>

const bearer = (key: string): [string, string][] => (key === '' ? [] : [['authorization', `Bearer ${key}`]])

const completions: Format = {
  id: 'completions',
  title: 'OpenAI Chat Completions',
  path: () => '/v1/chat/completions',
  headers: bearer,
  body: ({ model, system, prompt, maxTokens, isStream, more }) => ({
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), { role: 'user', content: prompt }],
    max_tokens: maxTokens,
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...more
  }),
  read: ({ choices, usage }) => {
    const message = choices?.[0]?.delta ?? choices?.[0]?.message
    return piece({
      text: text(message?.content),
      call: message?.tool_calls === undefined ? undefined : JSON.stringify(message.tool_calls),
      input: number(usage?.prompt_tokens),
      output: number(usage?.completion_tokens)
    })
  }
}

const responses: Format = {
  id: 'responses',
  title: 'OpenAI Responses',
  path: () => '/v1/responses',
  headers: bearer,
  body: ({ model, system, prompt, maxTokens, isStream, more }) => ({
    ...{ model, input: prompt, max_output_tokens: maxTokens, stream: isStream },
    ...(system === '' ? {} : { instructions: system }),
    ...more
  }),
  read: (value) => {
    const whole = value.response ?? value
    const usage = { input: number(whole.usage?.input_tokens), output: number(whole.usage?.output_tokens) }
    if (text(value.type) === 'response.output_text.delta') return piece({ text: text(value.delta) })
    // The end of a stream repeats all of it.
    if (value.type !== undefined) return piece(usage)
    const items = list(value.output)
    const call = items.find((item) => text(item.type) === 'function_call')
    return piece({
      text: items.flatMap((item) => list(item.content).map((part) => text(part.text) ?? '')).join(''),
      call: call === undefined ? undefined : JSON.stringify(call),
      ...usage
    })
  }
}

const messages: Format = {
  id: 'messages',
  title: 'Anthropic Messages',
  path: () => '/v1/messages',
  headers: (key) => [
    ['anthropic-version', '2023-06-01'],
    ...(key === '' ? [] : [['x-api-key', key] as [string, string]])
  ],
  body: ({ model, system, prompt, maxTokens, isStream, more }) => ({
    ...{ model, max_tokens: maxTokens, messages: [{ role: 'user', content: prompt }] },
    ...(system === '' ? {} : { system }),
    ...(isStream ? { stream: true } : {}),
    ...more
  }),
  read: (value) => {
    const usage = value.message?.usage ?? value.usage
    const block = value.content_block
    return piece({
      text:
        text(value.delta?.text) ??
        list(value.content)
          .map((part) => text(part.text) ?? '')
          .join(''),
      call:
        text(value.delta?.partial_json) ??
        (text(block?.type) === 'tool_use' ? `${text(block?.name)} ` : callOf(value.content)),
      input: number(usage?.input_tokens),
      output: number(usage?.output_tokens)
    })
  }
}

function callOf(content: Json | undefined): string | undefined {
  const call = list(content).find((part) => text(part.type) === 'tool_use')
  return call === undefined ? undefined : JSON.stringify(call)
}

const gemini: Format = {
  id: 'gemini',
  title: 'Gemini generateContent',
  path: ({ model, isStream }) =>
    `/v1beta/models/${encodeURIComponent(model)}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  headers: (key) => (key === '' ? [] : [['x-goog-api-key', key]]),
  body: ({ system, prompt, maxTokens, more }) => ({
    contents: [{ role: 'user', parts: [{ text: prompt }] }],
    generationConfig: { maxOutputTokens: maxTokens },
    ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    ...more
  }),
  read: ({ candidates, usageMetadata }) => {
    const parts = list(candidates?.[0]?.content?.parts)
    const call = parts.find((part) => part.functionCall !== undefined)
    return piece({
      text: parts.map((part) => text(part.text) ?? '').join(''),
      call: call === undefined ? undefined : JSON.stringify(call.functionCall),
      input: number(usageMetadata?.promptTokenCount),
      output: number(usageMetadata?.candidatesTokenCount)
    })
  }
}

export const FORMATS: readonly Format[] = [completions, responses, messages, gemini]
export const formatOf = (id: string | null): Format => FORMATS.find((format) => format.id === id) ?? completions

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])

function piece(fields: { readonly [name in keyof Piece]: Piece[name] | undefined }): Piece {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''))
}
