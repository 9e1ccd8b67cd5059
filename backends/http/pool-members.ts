/** Model servers of a pool, by the labels that pickers name: those of a configuration, or of a list that changes. */
import { showInChecks } from '#backends/shared/auth/check-credentials.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { configuredEndpoint } from '#engine/contract/backend-transport/endpoint.ts'
import { type Background, together } from '#engine/contract/background.ts'
import type { Endpoint, WeightedHost } from '#engine/contract/endpoint.ts'
import { type SendToEndpoint, senderFor } from './authenticated.ts'
import type { PoolConnections } from './config/snapshot.ts'
import { proxyProtocol, spokenHttp } from './spoken.ts'

export interface Member {
  readonly endpoint: Endpoint
  /** While it is a member. What is asked of an upstream at build time begins with the backend. */
  readonly background: Background
  readonly send: SendToEndpoint
}

/** By "host:port". */
export type Members = ReadonlyMap<string, Member>

type Server = Pick<WeightedHost, 'host' | 'port' | 'identity'>

/** To be called while a backend is compiled. */
function makerOf(pool: PoolConnections, context: BackendContext): (server: Server) => Member {
  const { transport, auth } = pool
  const spoken = { http: spokenHttp(pool.http), ...proxyProtocol(transport) }
  const hasTls = (transport?.tls ?? null) !== null
  return ({ host, port, identity }) => {
    const server = { host, port, unixPath: null, hasTls: false, transport, identity }
    const endpoint = configuredEndpoint(server, context, spoken)
    const shown = showInChecks(endpoint, { host, hasTls, auth, transport }, context)
    const background = together([shown, endpoint.background ?? null].filter((one) => one !== null))
    return { endpoint, background, send: senderFor(auth, { host, hasTls }, context) }
  }
}

const labelOf = ({ host, port }: Server): string => `${host}:${port}`

export function configuredMembers(servers: readonly Server[], pool: PoolConnections, context: BackendContext): Members {
  const make = makerOf(pool, context)
  return new Map(servers.map((server) => [labelOf(server), make(server)]))
}

export interface ListedMembers {
  /** Those that there are now. */
  readonly current: () => Members
  readonly background: Background
}

/** Those of the list `name` (HostLists). Members that stay keep their connections, and what is known of them. */
export function listedMembers(name: string, pool: PoolConnections, context: BackendContext): ListedMembers {
  const { upstream } = context
  const make = makerOf(pool, context)
  let listed: readonly WeightedHost[] | null = null
  let members = new Map<string, Member & { readonly identity: string | undefined }>()
  let isInForce = false

  // --- request time ---

  function current(): Members {
    const now = upstream.hostsOf(name)
    if (now === listed) return members
    listed = now
    const before = members
    members = new Map(
      (now ?? []).map((host) => {
        const known = before.get(labelOf(host))
        if (known !== undefined && known.identity === host.identity) return [labelOf(host), known]
        const made = { ...make(host), identity: host.identity }
        if (isInForce) made.background.begin()
        return [labelOf(host), made]
      })
    )
    for (const [label, one] of before) {
      if (isInForce && members.get(label) !== one) one.background.end()
    }
    return members
  }

  const background: Background = {
    begin() {
      current()
      isInForce = true
      for (const { background: own } of members.values()) own.begin()
    },
    end() {
      isInForce = false
      for (const { background: own } of members.values()) own.end()
    }
  }
  return { current, background }
}
