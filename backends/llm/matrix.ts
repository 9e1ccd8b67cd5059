/** Which format reaches a provider: its own where the client speaks it, else the one that it prefers. */
import type { FormatName } from './conversation.ts'
import type { ChatFormat } from './format.ts'
import { completions } from './formats/completions.ts'
import { converse } from './formats/converse.ts'
import { gemini } from './formats/gemini.ts'
import { messages } from './formats/messages.ts'
import { responses } from './formats/responses.ts'
import type { Provider } from './providers/index.ts'

export const FORMATS: Readonly<Partial<Record<FormatName, ChatFormat>>> = {
  completions,
  converse,
  gemini,
  messages,
  responses
}

/** The format that `provider` is sent for a client that speaks `client` and a model by the provider's name. */
export function spokenTo(provider: Provider, client: FormatName, model: string): FormatName {
  const formats = provider.formats(model)
  return formats.includes(client) ? client : formats[0]!
}
