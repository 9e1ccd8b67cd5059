/** TLS towards upstreams: what connections to one destination share, and a connection over node:tls. */
import { isIP, connect as netConnect } from 'node:net'
import { type ConnectionOptions, connect, type SecureContext } from 'node:tls'
import type { ReadMemory } from './memory.ts'
import { NetWire } from './net-sockets.ts'
import { enterTurn, leaveTurn } from './round.ts'
import { contextOf, type TlsMaterial } from './tls-context.ts'
import { chainFault, nameFault, protocolFault, type TlsFault, type TlsVerify } from './tls-verify.ts'
import type { Address, Connected, DialOptions } from './wire.ts'

export interface TlsSettings extends TlsMaterial {
  /** Name in SNI, which an address is not; and in the certificate, unless subjectAltNames says another. */
  readonly serverName: string
  /** Default full. */
  readonly verify?: TlsVerify
  /** The certificate must be for one of these instead: DNS names, addresses, URIs. */
  readonly subjectAltNames?: readonly string[] | null
  /** What the user allows, the preferred first. Offered is what of it is spoken (TlsClient). Default: all. */
  readonly alpn?: readonly string[]
}

/** Protocols that the upstream side speaks so far, by their ALPN names. */
export const SPOKEN: readonly string[] = ['http/1.1']

/**
 * Sessions of a destination that are kept. Servers give two tickets or so with each handshake, and want each of them
 * used once (RFC 8446 appendix C.4): the newest is taken, and only the last one is kept for more than one connection.
 */
const SESSIONS_MAX = 8

/** What connections to one destination share: settings and sessions. */
export class TlsClient {
  readonly settings: TlsSettings
  /** '' for none: an address is no name (RFC 6066 section 3). */
  readonly sni: string
  /** ALPN, the preferred first. */
  readonly protocols: readonly string[]
  readonly #context: SecureContext
  readonly #sessions: Buffer[] = []

  /** `protocols`: to choose from. When the settings allow none of them, what they allow is offered all the same. */
  constructor(settings: TlsSettings, protocols: readonly string[] = SPOKEN) {
    const { serverName, alpn = protocols } = settings
    const offered = alpn.filter((name) => protocols.includes(name))
    this.settings = settings
    this.sni = isIP(serverName) === 0 ? serverName : ''
    this.protocols = offered.length === 0 ? alpn : offered
    this.#context = contextOf(settings)
  }

  get context(): SecureContext {
    return this.#context
  }

  /** A session to resume (RFC 8446 section 2.2), or undefined. */
  takeSession(): Buffer | undefined {
    return this.#sessions.length > 1 ? this.#sessions.pop() : this.#sessions[0]
  }

  /** Only of connections whose server has been found to be the right one: a resumed session is not looked at again. */
  keepSession(session: Buffer): void {
    if (this.#sessions.length >= SESSIONS_MAX) this.#sessions.shift()
    this.#sessions.push(session)
  }

  /** A session that the server does not like must not spoil the next attempt. */
  forgetSessions(): void {
    this.#sessions.length = 0
  }

  /** What is wrong with the server of a handshake that is over; null: nothing. `chainError`: OpenSSL's code. */
  judge(chainError: string | null, certificate: () => Buffer | undefined): TlsFault | null {
    const { verify = 'full', serverName, subjectAltNames = null } = this.settings
    if (verify === 'none') return null
    if (chainError !== null) return chainFault(chainError, certificate())
    return verify === 'chain' ? null : nameFault(subjectAltNames ?? [serverName], certificate())
  }
}

/** Where node:tls connects to, or a socket that says `hello` in clear text as soon as it is connected. */
function below(address: Address, { preamble = '' }: DialOptions): ConnectionOptions {
  const where = 'unixPath' in address ? { path: address.unixPath } : { host: address.ip, port: address.port }
  if (preamble === '') return where
  const socket = netConnect(where)
  socket.write(preamble, 'latin1')
  return { socket }
}

/** As SocketLayer.connect, when the handshake is done and the server is the right one. */
export function connectTls(
  client: TlsClient,
  memory: ReadMemory,
  address: Address,
  done: Connected,
  dial: DialOptions = {}
): () => void {
  const session = client.takeSession()
  const socket = connect({
    ...below(address, dial),
    // '' is none; without it Node would ask for the destination.
    servername: client.sni,
    secureContext: client.context,
    ALPNProtocols: [...client.protocols],
    // The judgement is ours (TlsClient.judge): one for both ways to carry TLS.
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
    ...(session === undefined ? {} : { session })
  })
  if (dial.keepaliveMs !== undefined) socket.setKeepAlive(dial.keepaliveMs > 0, dial.keepaliveMs)
  let isReached = false
  let isJudged = false
  const fail = ({ code, text }: TlsFault) => {
    socket.off('error', failed)
    // A late failure concerns nobody.
    socket.on('error', () => {})
    client.forgetSessions()
    socket.destroy()
    enterTurn()
    done(code, null, { reason: text, protocol: '', resumed: false })
    leaveTurn()
  }
  const failed = (error: NodeJS.ErrnoException) => {
    fail(isReached ? protocolFault(error.code, error.message) : { code: error.code ?? 'EIO', text: '' })
  }
  const kept: Buffer[] = []
  socket.on('session', (given) => {
    if (isJudged) client.keepSession(given)
    else kept.push(given)
  })
  socket.once('error', failed)
  socket.once('connect', () => {
    isReached = true
    dial.reached?.()
  })
  socket.once('secureConnect', () => {
    const resumed = socket.isSessionReused()
    const error = socket.authorizationError as unknown
    const chainError =
      error === null || error === undefined ? null : error instanceof Error ? error.message : `${error}`
    const fault = resumed ? null : client.judge(chainError, () => socket.getPeerCertificate(false).raw)
    if (fault !== null) {
      fail(fault)
      return
    }
    isJudged = true
    for (const given of kept) client.keepSession(given)
    socket.off('error', failed)
    enterTurn()
    done(null, new NetWire(socket, memory), { reason: '', protocol: socket.alpnProtocol || '', resumed })
    leaveTurn()
  })
  return () => {
    socket.off('error', failed)
    // A late failure of an abandoned attempt concerns nobody.
    socket.on('error', () => {})
    socket.destroy()
  }
}
