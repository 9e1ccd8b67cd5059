/** The credential that a client came with, before anybody decides whether it may pass. */
import type { Exchange } from '#engine/contract/exchange.ts'

/** Fields of keys that clients of LLM providers send. */
const KEY_FIELDS = ['authorization', 'x-api-key', 'x-goog-api-key', 'api-key'] as const

/** Query parameters that are credentials (Google, "Standard query parameters"). */
const KEY_PARAMETERS: ReadonlySet<string> = new Set(['key', 'access_token', 'oauth_token'])

/**
 * Makes a credential of `ex` one that is found in a field: Google's clients may put it into the query, where it would
 * pass beside a configured key. Other schemes than Bearer (Basic: a user of this gateway) are no keys of providers.
 */
export function tidyCredentials(ex: Exchange): void {
  const scheme = ex.request.get('authorization')
  if (scheme !== undefined && !/^bearer +\S/i.test(scheme)) ex.request.remove('authorization')
  if (ex.query === '' || !/(?:^\?|&)(?:key|access_token|oauth_token)=/.test(ex.query)) return
  const kept: string[] = []
  let key: string | null = null
  for (const pair of ex.query.slice(1).split('&')) {
    const [name = '', value = ''] = pair.split('=')
    if (!KEY_PARAMETERS.has(name)) kept.push(pair)
    else if (name === 'key') key ??= value
  }
  ex.query = kept.length === 0 ? '' : `?${kept.join('&')}`
  if (key === null || !/^[\w.~-]+$/.test(key) || KEY_FIELDS.some((name) => ex.request.has(name))) return
  ex.request.append('x-goog-api-key', key)
}
