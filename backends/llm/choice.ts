/** One provider as a worker asks it. */
import type { BackendContext, Endpoint } from '#engine/contract/backend.ts'
import type { AiBackend, AiProvider } from '#engine/ir/snapshot.ts'
import { type Authority, authorityOf } from './auth/authority.ts'
import { Names } from './edits/names.ts'
import { type Provider, providerOf } from './providers/index.ts'

export interface Choice {
  readonly given: AiProvider
  readonly provider: Provider
  readonly endpoint: Endpoint
  readonly authority: Authority
  readonly aliases: Names<string>
}

export function choiceOf(given: AiProvider, backend: AiBackend, context: BackendContext): Choice {
  const { upstream, connectTimeoutMs } = context
  const provider = providerOf(given)
  const host = given.host ?? provider.host
  const port = given.port ?? (given.hasTls ? 443 : 80)
  const tls = given.hasTls ? { serverName: host, ca: null } : null
  // The address comes from the configuration, so it needs no guard.
  const options = { guarded: false, allow: [], connectTimeoutMs, tls }
  const endpoint = upstream.endpoint({ host, port, unixPath: null }, options)
  return {
    given,
    provider,
    endpoint,
    aliases: new Names(Object.entries(given.modelAliases ?? backend.modelAliases)),
    authority: authorityOf(given.auth, { provider, cloud: given.cloud, host }, context)
  }
}
