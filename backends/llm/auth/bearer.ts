/** Tokens that are fetched, shown as RFC 6750 says. */
import type { Provider } from '#backends/llm/providers/provider.ts'
import type { RefreshedValue } from '#backends/shared/auth/refreshed.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Authenticator } from './authenticator.ts'
import { removeKeys } from './client-key.ts'

export function bearing(provider: Provider, tokens: RefreshedValue<string>): Authenticator {
  const put = (ex: Exchange, token: string): void => {
    removeKeys(ex, provider)
    ex.request.append('authorization', `Bearer ${token}`)
  }
  return {
    wantsClient: false,
    authorize(ex) {
      const token = tokens.get()
      if (typeof token !== 'string') return token.then((late) => () => put(ex, late))
      put(ex, token)
      return null
    },
    refused: () => tokens.refused()
  }
}
