/** What active checks of a server show: what requests of the policy `auth` do, without what clients have shown. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { Background } from '#engine/contract/background.ts'
import type { CheckCredentials } from '#engine/contract/check-credentials.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { type AuthenticatedServer, requestAuthenticator } from './request-authenticator.ts'

interface CheckedServer extends AuthenticatedServer {
  readonly auth?: BackendAuth | null | undefined
  readonly transport?: BackendTransport | undefined
}

/** At build time. Of a server that is known later: what is returned has to begin with its endpoint; null: nothing. */
export function showInChecks(endpoint: Endpoint, server: CheckedServer, context: BackendContext): Background | null {
  const { auth = null, transport } = server
  if (!isChecked(transport)) return null
  // With `passthrough` clients show their own.
  const shown = auth === null || auth.kind === 'passthrough' ? null : credentialsOf(auth, server, context)
  return context.upstream.checkAs(endpoint, shown)
}

export const isChecked = (transport: BackendTransport | undefined): boolean =>
  transport?.resilience?.health?.active != null

function credentialsOf(auth: BackendAuth, server: AuthenticatedServer, context: BackendContext): CheckCredentials {
  const authenticator = requestAuthenticator(auth, server, context)
  return {
    show({ method, path, query, upstreamHost, authority, request: headers, requestBytes: body }) {
      const outgoing = { method, path, query, host: upstreamHost ?? authority, headers, body }
      return authenticator.authorize(outgoing, null)
    },
    refused: () => authenticator.refused?.()
  }
}
