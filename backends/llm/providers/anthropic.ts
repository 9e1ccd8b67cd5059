/** Anthropic (API reference). */
import type { ProviderKind } from './kind.ts'
import type { Provider } from './provider.ts'

export const anthropic: ProviderKind = {
  name: 'anthropic',
  schema: ({ modelOnly }) => modelOnly(),
  cacheMarks: 'always',
  compile: () => PROVIDER
}

const PROVIDER: Provider = {
  name: 'anthropic',
  host: 'api.anthropic.com',
  formats: () => ['messages'],
  target: () => '/v1/messages',
  // OAuth tokens are bearer tokens; keys have a field of their own.
  keyField: (key) => (key.startsWith('sk-ant-oat') ? 'authorization' : 'x-api-key'),
  fields: ['anthropic-version', '2023-06-01']
}
