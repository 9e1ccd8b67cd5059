/** OpenAI (API reference), and servers with its formats. */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { Makers, Output } from './fields.ts'
import type { ProviderKind } from './kind.ts'
import type { Provider } from './provider.ts'

export const openai: ProviderKind = {
  name: 'openai',
  schema: ({ modelOnly }) => modelOnly(),
  hasDialect: true,
  cacheMarks: 'never',
  shortcut: { names: ['openai', 'openAI'] },
  compile: () => PROVIDER
}

const customFields = ({ z, shortString, formats }: Makers) =>
  z.strictObject({ model: shortString().optional(), formats: formats() })

/** vLLM, Ollama, SGLang and others; some speak Anthropic's format too. */
export const custom: ProviderKind<Output<typeof customFields>, null> = {
  name: 'custom',
  description: 'A server that speaks the formats of OpenAI or Anthropic: vLLM, Ollama, SGLang. Needs a host.',
  schema: customFields,
  needsHost: true,
  hasDialect: true,
  cacheMarks: 'in messages',
  shortcut: { names: [] },
  translate: ({ formats }) => ({ formats }),
  compile: ({ formats }) => ({
    ...PROVIDER,
    name: 'custom',
    host: '',
    formats: () => formats,
    takesPasswords: true
  })
}

const PATHS: Partial<Record<FormatName, string>> = {
  completions: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages'
}

const PROVIDER: Provider = {
  name: 'openai',
  host: 'api.openai.com',
  formats: () => ['completions', 'responses'],
  target: (format) => PATHS[format]!,
  keyField: () => 'authorization',
  fields: []
}
