/** Which format reaches a provider: its own where the client speaks it, else the one that it prefers. */
import type { ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import { completions } from './completions/index.ts'
import { converse } from './converse/index.ts'
import type { ChatFormat, ProviderFormat } from './format.ts'
import { gemini } from './gemini/index.ts'
import { messages } from './messages/index.ts'
import { responses } from './responses/index.ts'

/** No client speaks Converse. */
export const FORMATS: Readonly<Record<ClientFormat, ChatFormat> & Record<FormatName, ProviderFormat>> = {
  completions,
  converse,
  gemini,
  messages,
  responses
}

/** The format that `provider` is sent for a client that speaks `client` and a model by the provider's name. */
export function formatFor(provider: Provider, client: ClientFormat, model: string): FormatName {
  const formats = provider.formats(model)
  return formats.includes(client) ? client : formats[0]!
}
