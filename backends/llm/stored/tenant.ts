/** Whose objects are whose. */
import type { AiStored } from '#backends/llm/config/snapshot.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

/**
 * The same text for the same tenant, in every replica; '': nobody has found out who calls, or it does not matter. Of
 * tokens the issuer and the subject count, since they are renewed; of keys their names, since they are rotated.
 */
export function tenantOf({ identity }: Pick<Exchange, 'identity'>, scope: AiStored['scope']): string {
  if (identity === null || scope === 'all') return ''
  const { jwt, apiKey, rawKey, basicAuth } = identity
  const { team, organisation = null, id } = apiKey ?? {}
  if (scope === 'team' && typeof team === 'string') return JSON.stringify(['team', team, organisation])
  const parts = [
    jwt === null ? null : ['token', jwt.iss ?? null, jwt.sub ?? jwt],
    apiKey === null ? null : ['key', typeof id === 'string' ? id : (rawKey ?? apiKey)],
    basicAuth === null ? null : ['user', basicAuth.username ?? null]
  ]
  // Who need not say who they are get no more than those who do: together they are one tenant.
  return JSON.stringify(parts.every((part) => part === null) ? ['nobody'] : parts)
}
