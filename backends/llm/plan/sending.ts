/** How a provider is asked for what has been written for it. */
import { predict } from '#backends/llm/predictions/prediction.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Attempts } from './attempts.ts'

/** Its answer arrives as ServerEvents. */
export function sendTo(endpoint: Endpoint, ex: Exchange, state: Attempts, context: BackendContext): void {
  if (state.format === 'predictions') predict(ex, endpoint, state.editedChat?.isStreamed === true, context)
  else context.upstream.send(ex, endpoint)
}
