/** OpenAI (API reference), and servers with its formats. */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { Provider } from './provider.ts'

const PATHS: Partial<Record<FormatName, string>> = {
  completions: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages'
}

export const openai: Provider = {
  name: 'openai',
  host: 'api.openai.com',
  formats: () => ['completions', 'responses'],
  target: (format) => PATHS[format]!,
  keyField: () => 'authorization',
  fields: []
}

/** vLLM, Ollama, SGLang and others; some speak Anthropic's format too. */
export function custom(formats: readonly FormatName[]): Provider {
  return { ...openai, name: 'custom', host: '', formats: () => formats }
}
