/** Anthropic (API reference). */
import type { Provider } from './provider.ts'

export const anthropic: Provider = {
  name: 'anthropic',
  host: 'api.anthropic.com',
  formats: () => ['messages'],
  target: () => '/v1/messages',
  // OAuth tokens are bearer tokens; keys have a field of their own.
  keyField: (key) => (key.startsWith('sk-ant-oat') ? 'authorization' : 'x-api-key'),
  fields: ['anthropic-version', '2023-06-01']
}
