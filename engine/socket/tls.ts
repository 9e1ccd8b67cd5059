/** TLS towards upstreams: what connections to one destination share. */
import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import { contextOf, type TlsMaterial } from './tls-context.ts'
import { chainFault, nameFault, type TlsFault, type TlsVerify } from './tls-verify.ts'

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
export const ALPN_DEFAULT: readonly string[] = ['http/1.1']

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
  constructor(settings: TlsSettings, protocols: readonly string[] = ALPN_DEFAULT) {
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
