/** Which format reaches a provider: its own where the client speaks it, else the one that it prefers. */
import type { ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import { cohereV2 } from './cohere-v2/index.ts'
import { completions } from './completions/index.ts'
import { converse } from './converse/index.ts'
import type { ProviderFormat } from './format.ts'
import { gemini } from './gemini/index.ts'
import { messages } from './messages/index.ts'
import { predictions } from './predictions/index.ts'
import { responses } from './responses/index.ts'
import type { ServedFormat } from './served-format.ts'

/** In the order in which the schema of routes lists those that clients speak. */
export const FORMATS: { readonly [N in ClientFormat]: ServedFormat<N> } & Readonly<
  Record<Exclude<FormatName, ClientFormat>, ProviderFormat>
> = {
  completions,
  messages,
  responses,
  gemini,
  converse,
  cohereV2,
  predictions
}

/** Those that clients speak. */
export const CLIENT_FORMATS: readonly ServedFormat[] = Object.values(FORMATS).filter((format) => 'routeType' in format)

/** Whether clients speak it, and it can be written as well as read. */
export const isClientFormat = (format: FormatName): format is ClientFormat => 'routeType' in FORMATS[format]

/** The format that `provider` is sent for a client that speaks `client` and a model by the provider's name. */
export function formatFor(provider: Provider, client: ClientFormat, model: string): FormatName {
  if (provider.chatFormat !== undefined) return provider.chatFormat
  const formats = provider.formats(model)
  return formats.includes(client) ? client : formats[0]!
}
