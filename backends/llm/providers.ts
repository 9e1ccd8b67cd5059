/** LLM providers: where they are, what they speak, and how they want to be shown a key. */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { AiProvider } from '#engine/ir/snapshot.ts'
import type { FormatName } from './conversation.ts'

export interface Provider {
  /** As telemetry says it (OpenTelemetry GenAI conventions, gen_ai.provider.name). */
  readonly name: string
  /** Spoken there, the preferred first. */
  readonly formats: readonly FormatName[]
  readonly host: string
  /** Path and query of the API for a format. `model` is not yet encoded. */
  target(format: FormatName, model: string, isStreamed: boolean): string
  /** Field that carries a key. */
  readonly keyField: string
  /** Further fields, flat: name, value, ... */
  readonly fields: readonly string[]
}

/** All that carry keys of any provider: a client's own goes to the field that its provider reads. */
export const KEY_FIELDS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'] as const

const OPENAI_PATHS: Partial<Record<FormatName, string>> = {
  completions: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages'
}

const openai: Provider = {
  name: 'openai',
  formats: ['completions', 'responses'],
  host: 'api.openai.com',
  target: (format) => OPENAI_PATHS[format]!,
  keyField: 'authorization',
  fields: []
}

const anthropic: Provider = {
  name: 'anthropic',
  formats: ['messages'],
  host: 'api.anthropic.com',
  target: () => '/v1/messages',
  keyField: 'x-api-key',
  fields: ['anthropic-version', '2023-06-01']
}

const gemini: Provider = {
  name: 'gcp.gemini',
  formats: ['gemini'],
  host: 'generativelanguage.googleapis.com',
  target: (_, model, isStreamed) =>
    `/v1beta/models/${encodeURIComponent(model)}:${isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  keyField: 'x-goog-api-key',
  fields: []
}

/** The provider that a configuration means. */
export function providerOf({ type, formats, host }: AiProvider): Provider {
  if (type === 'openai') return openai
  if (type === 'anthropic') return anthropic
  if (type === 'gemini') return gemini
  return { ...openai, name: 'custom', formats, host: host ?? '' }
}

/** Puts `key`, or else the key that the client came with, where `provider` reads it; no other stays. */
export function authorize(request: HeaderBlock, provider: Provider, key: string | null): void {
  const credential = key ?? clientKey(request)
  for (const name of KEY_FIELDS) request.remove(name)
  if (credential === null) return
  request.append(provider.keyField, provider.keyField === 'authorization' ? `Bearer ${credential}` : credential)
}

function clientKey(request: HeaderBlock): string | null {
  for (const name of KEY_FIELDS) {
    const value = request.get(name)
    if (value !== undefined) return value.replace(/^bearer +/i, '')
  }
  return null
}
