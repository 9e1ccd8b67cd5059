/** Which format reaches a provider: its own where the client speaks it, else the one that it prefers. */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import { completions } from './completions/index.ts'
import { converse } from './converse/index.ts'
import type { ChatFormat } from './format.ts'
import { gemini } from './gemini/index.ts'
import { messages } from './messages/index.ts'
import { responses } from './responses/index.ts'

export const FORMATS: Readonly<Partial<Record<FormatName, ChatFormat>>> = {
  completions,
  converse,
  gemini,
  messages,
  responses
}

/** The format that `provider` is sent for a client that speaks `client` and a model by the provider's name. */
export function formatFor(provider: Provider, client: FormatName, model: string): FormatName {
  const formats = provider.formats(model)
  return formats.includes(client) ? client : formats[0]!
}
