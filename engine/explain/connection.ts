/** What happens before there is HTTP: the port, the listener that a handshake leads to, and what they agree on. */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { ClientTls } from '#engine/contract/transport.ts'
import { HTTP_ALPN, hasTls } from '#engine/downstream/tls/port.ts'
import { hostOf } from '#engine/http/authority.ts'
import type { Bind, Listener, Snapshot } from '#engine/ir/snapshot.ts'
import { HostTable } from '#engine/routing/hosts.ts'
import { type PeerCertificate, peerOf, principalOf } from '#engine/socket/peer-certificate.ts'
import { NO_CERTIFICATE } from '#engine/socket/tls-refusal.ts'
import { chainFault, nameFault } from '#engine/socket/tls-verify.ts'
import { certificatesOf, chainFaultOf } from './client-certificate.ts'
import type { DryRequest } from './request.ts'

/** `refused`: why there is no HTTP; null: there is. */
export interface Connected {
  readonly bind: Bind | null
  readonly bindIndex: number
  readonly tls: ClientTls | null
  readonly isHttp2: boolean
  readonly refused: string | null
  readonly notes: readonly string[]
}

/** The certificate that the listener gets to see, or why there is no connection. */
interface Shown {
  readonly peer: PeerCertificate | null
  readonly refused: string | null
  readonly notes: readonly string[]
}

/** What every client offers beside what it likes best. */
const OFFERS: Readonly<Record<DryRequest['httpVersion'], readonly string[]>> = {
  '1.1': ['http/1.1'],
  '2': ['h2', 'http/1.1'],
  '2-prior-knowledge': ['h2']
}
const UNFIT = 'its certificate is not one for clients, or one of its chain may not sign others'
const UNSHOWN = 'asks for a client certificate, none is shown, and the client is let in (mtlsMode)'
/** What OpenSSL prefers of TLS 1.3. */
const CIPHER = 'TLS_AES_256_GCM_SHA384'

export function connect(snapshot: Snapshot, request: DryRequest): Connected {
  const { binds } = snapshot
  const { port, isTls, httpVersion } = request
  const bindIndex = binds.findIndex((bind) => bind.port === port)
  const bind = binds[bindIndex] ?? null
  const clear = { bind, bindIndex, tls: null, isHttp2: httpVersion === '2-prior-knowledge', notes: [] }
  const refused = (why: string): Connected => ({ ...clear, refused: why })
  if (bind === null) {
    const ports = binds.map((one) => one.port).join(', ')
    return refused(`nothing listens on port ${port}: ports are ${ports || 'none'}`)
  }
  if (!bind.listeners.some(({ protocol }) => protocol === 'HTTP' || protocol === 'HTTPS')) {
    return refused(`port ${port} passes connections on unread (${protocolsOf(bind)})`)
  }
  if (!isTls) return hasTls(bind) ? refused(`port ${port} speaks TLS: use https:// here`) : { ...clear, refused: null }
  if (!hasTls(bind)) return refused(`port ${port} speaks HTTP without TLS: use http:// here, or an HTTPS listener`)
  const made = handshake(bind, request, snapshot)
  return typeof made === 'string' ? refused(made) : { ...clear, refused: null, ...made }
}

/** As a live connection's (ClientHelloStage), or why there is none. */
function handshake(
  bind: Bind,
  { authority, httpVersion, cert }: DryRequest,
  { frontend }: Snapshot
): Pick<Connected, 'tls' | 'isHttp2' | 'notes'> | string {
  const secure = bind.listeners.filter(({ tls, protocol }) => tls !== null || protocol === 'TLS')
  const host = hostOf(authority.toLowerCase())
  // Addresses are never sent as SNI (RFC 6066 section 3).
  const isAddress = isIP(host.replace(/^\[|\]$/g, '')) !== 0
  const serverName = isAddress ? '' : host
  const byName = new HostTable<Listener>()
  for (const listener of secure) byName.set(listener.hostname, listener)
  const listener = byName.find(serverName)
  if (listener === undefined) {
    const names = secure.map(({ hostname }) => hostname).join(', ')
    const name = isAddress ? 'clients that send no name (SNI), as for an address' : `"${serverName}" (SNI)`
    return `no listener of port ${bind.port} has a certificate for ${name}: there are ${names}`
  }
  const { name, protocol, tls } = listener
  if (protocol === 'TLS' || tls === null) return `listener ${name} passes connections on unread (TLS)`
  const spoken = frontend.tls.alpn.filter((one) => HTTP_ALPN.includes(one))
  const alpn = spoken.find((one) => OFFERS[httpVersion].includes(one)) ?? ''
  if (alpn === '' && spoken.length > 0) {
    return `the client offers ${OFFERS[httpVersion].join(', ')}, and the gateway speaks ${spoken.join(', ')} (frontendPolicies.tls.alpnProtocols)`
  }
  const { peer, refused, notes } = shownTo(listener, cert)
  if (refused !== null) return refused
  const isHttp2 = alpn === '' ? httpVersion === '2-prior-knowledge' : alpn === 'h2'
  const version = (tls.maxVersion ?? frontend.tls.maxVersion) === '1.2' ? 'TLSv1.2' : 'TLSv1.3'
  const localPrincipal = principalOf(new X509Certificate(tls.cert))
  const cipher = version === 'TLSv1.3' ? CIPHER : ''
  const { clientCa, allowsUnverified = false } = tls
  const facts = { version, cipher, alpn, peer, clientCa, allowsUnverified, localPrincipal }
  return {
    tls: { listener: name, serverName, ...facts },
    isHttp2,
    notes: [...notes, ...ownNotes(listener, host.replace(/^\[|\]$/g, ''))]
  }
}

function shownTo({ name, tls }: Listener, cert: string | null): Shown {
  const wanted = tls?.clientCa ?? null
  const refused = (why: string): Shown => ({ peer: null, refused: `listener ${name} ${why}`, notes: [] })
  if (wanted === null) {
    const notes = cert === null ? [] : [`listener ${name} asks for no client certificate: none is shown`]
    return { peer: null, refused: null, notes }
  }
  const lenient = tls?.allowsUnverified === true
  const sent = cert === null ? null : certificatesOf(cert)
  if (sent === null && lenient) return { peer: null, refused: null, notes: [`listener ${name} ${UNSHOWN}`] }
  if (sent === null) return refused(`asks for a client certificate, and none is shown (${NO_CERTIFICATE}): --cert FILE`)
  const [own] = sent
  const code = chainFaultOf(sent, wanted, Date.now())
  if (code === null) return { peer: peerOf(own!.raw), refused: null, notes: [] }
  const why = code === 'INVALID_PURPOSE' ? UNFIT : chainFault(code, own!.raw).text
  if (lenient)
    return { peer: null, refused: null, notes: [`listener ${name} takes the client for nobody: ${why} (${code})`] }
  return refused(`refuses the client: ${why} (${code})`)
}

/** What no server looks at, but most clients do. */
function ownNotes({ name, tls }: Listener, host: string): string[] {
  const own = new X509Certificate(tls!.cert)
  const fault = nameFault([host], own.raw)
  return fault === null ? [] : [`clients that verify listener ${name} go no further: ${fault.text}`]
}

const protocolsOf = ({ listeners }: Bind): string => [...new Set(listeners.map(({ protocol }) => protocol))].join(', ')
