/** Why a server cannot be shown what the policy `auth` says. */
import type { FileAuth } from '#engine/contract/backend-auth/schema.ts'
import { realKeys } from '#engine/schema/names.ts'
import { awsScopeOf } from './aws-host.ts'

/**
 * `host`: of the server; null: it has none that is known (clients may name it), so that everything must be said. An id
 * token for each name that clients invent would be fetched for each of them. Null: it can.
 */
export function refusedAuth(auth: FileAuth, host: string | null): string | null {
  const { aws, gcp } = realKeys(auth)
  if (aws !== undefined) {
    const scope = awsScopeOf(host ?? '')
    const lacking = (['region', 'service'] as const).filter((key) => (aws[key] ?? scope[key]) === null)
    if (lacking.length > 0) return `needs aws.${lacking.join(' and aws.')} here, which its host does not say`
  }
  const isIdToken = gcp?.type?.toLowerCase() === 'idtoken'
  return isIdToken && gcp?.audience === undefined && host === null
    ? 'needs gcp.audience here: there is no host to derive it from'
    : null
}
