/** Gemini API (Google AI for Developers, API reference). */
import type { ProviderKind } from './kind.ts'
import { isJwt, type Provider, segment } from './provider.ts'

export const gemini: ProviderKind = {
  name: 'gemini',
  schema: ({ modelOnly }) => modelOnly(),
  cacheMarks: 'never',
  compile: () => PROVIDER
}

/** How generateContent is called for an answer in one piece, and in events. */
export const methodOf = (isStreamed: boolean) => (isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent')

const PROVIDER: Provider = {
  name: 'gcp.gemini',
  host: 'generativelanguage.googleapis.com',
  formats: () => ['gemini'],
  target: (_, model, isStreamed) => `/v1beta/models/${segment(model)}:${methodOf(isStreamed)}`,
  // Access tokens of Google begin with ya29.
  keyField: (key) => (key.startsWith('ya29.') || isJwt(key) ? 'authorization' : 'x-goog-api-key'),
  keyParameter: 'key',
  fields: [],
  lacks: { rerank: 'no API that ranks' }
}
