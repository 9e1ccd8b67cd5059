/** What happens before there is HTTP: which port, and which listener of it a handshake leads to. */
import type { ClientTls } from '#engine/contract/transport.ts'
import { hostOf } from '#engine/http/authority.ts'
import type { Bind, Listener, Snapshot } from '#engine/ir/snapshot.ts'
import { HostTable } from '#engine/routing/hosts.ts'
import type { DryRequest } from './request.ts'

/** `refused`: why there is no HTTP; null: there is. */
export interface Connected {
  readonly bind: Bind | null
  readonly bindIndex: number
  readonly tls: ClientTls | null
  readonly refused: string | null
  readonly notes: readonly string[]
}

export function connect({ binds }: Snapshot, { port, isTls, authority }: DryRequest): Connected {
  const bindIndex = binds.findIndex((bind) => bind.port === port)
  const bind = binds[bindIndex] ?? null
  const refused = (why: string): Connected => ({ bind, bindIndex, tls: null, refused: why, notes: [] })
  if (bind === null) {
    const ports = binds.map((one) => one.port).join(', ')
    return refused(`nothing listens on port ${port}: ports are ${ports || 'none'}`)
  }
  const http = bind.listeners.filter(({ protocol }) => protocol === 'HTTP' || protocol === 'HTTPS')
  if (http.length === 0) return refused(`port ${port} passes connections on unread (${protocolsOf(bind)})`)
  const secure = http.filter(({ tls }) => tls !== null)
  if (!isTls) {
    const only = secure.length === http.length
    return only ? refused(`port ${port} speaks TLS: use https:// here`) : { ...refused(''), refused: null }
  }
  if (secure.length === 0)
    return refused(`port ${port} speaks HTTP without TLS: use http:// here, or an HTTPS listener`)
  return handshake(secure, bind, bindIndex, hostOf(authority.toLowerCase()))
}

function handshake(secure: readonly Listener[], bind: Bind, bindIndex: number, serverName: string): Connected {
  const byName = new HostTable<Listener>()
  for (const listener of secure) byName.set(listener.hostname, listener)
  const listener = byName.find(serverName)
  if (listener === undefined) {
    const names = secure.map(({ hostname }) => hostname).join(', ')
    const why = `no listener of port ${bind.port} has a certificate for "${serverName}" (SNI): there are ${names}`
    return { bind, bindIndex, tls: null, refused: why, notes: [] }
  }
  const clientCa = listener.tls?.clientCa ?? null
  const notes =
    clientCa === null ? [] : ['the listener asks for a client certificate: this goes on as if none had been needed']
  const tls = {
    listener: listener.name,
    serverName,
    version: 'TLSv1.3',
    cipher: '',
    alpn: 'http/1.1',
    peer: null,
    clientCa
  }
  return { bind, bindIndex, tls, refused: null, notes }
}

const protocolsOf = ({ listeners }: Bind): string => [...new Set(listeners.map(({ protocol }) => protocol))].join(', ')
