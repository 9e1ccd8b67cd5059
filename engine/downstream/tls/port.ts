/** The listeners of one port of TLS, by the names that clients ask for (SNI), with what their handshakes need. */
import { hkdfSync } from 'node:crypto'
import type { FrontendTls, ListenerTls } from '#engine/ir/frontend.ts'
import type { Bind } from '#engine/ir/snapshot.ts'
import { reveal } from '#engine/kit/secret.ts'
import { HostTable } from '#engine/routing/hosts.ts'
import { TlsServers } from '#engine/socket/tls-servers.ts'

/** What this version speaks behind TLS, of what ALPN may name. */
export const HTTP_ALPN: readonly string[] = ['h2', 'http/1.1']

export interface TlsListener {
  readonly name: string
  /** Null: TLS does not end here, it is passed on. */
  readonly servers: TlsServers | null
  /** What comes is passed on to a TCP route; otherwise it is HTTP. */
  readonly isTcp: boolean
  /** PEM; null: clients show nothing. */
  readonly clientCa: string | null
  /** Also clients that show none of them. */
  readonly allowsUnverified: boolean
}

/** A server made before, and what it was made of: a reload that changes neither keeps it. */
interface Made {
  readonly from: ListenerTls
  readonly settings: FrontendTls
  readonly isTcp: boolean
  readonly servers: TlsServers
}

export class TlsPort {
  readonly handshakeTimeoutMs: number
  readonly #hosts = new HostTable<TlsListener>()
  readonly #made = new Map<string, Made>()

  /** `secret`: of the process. Throws an Error that names the listener whose settings do not fit each other. */
  constructor(bind: Bind, settings: FrontendTls, secret: Uint8Array, before: TlsPort | null = null) {
    this.handshakeTimeoutMs = settings.handshakeTimeoutMs
    for (const { name, hostname, protocol, tls } of bind.listeners) {
      const isTcp = protocol === 'TLS'
      if (tls === null) {
        if (isTcp) this.#hosts.set(hostname, { name, servers: null, isTcp, clientCa: null, allowsUnverified: false })
        continue
      }
      const known = before === null ? undefined : before.#made.get(name)
      const isSame = known?.from === tls && known.settings === settings && known.isTcp === isTcp
      // What is passed on is not HTTP, or not known to be: nothing is agreed by ALPN.
      const alpn = isTcp ? [] : settings.alpn.filter((protocol) => HTTP_ALPN.includes(protocol))
      const servers = isSame ? known.servers : newServers(name, tls, settings, alpn, secret)
      this.#made.set(name, { from: tls, settings, isTcp, servers })
      const { clientCa, allowsUnverified = false } = tls
      this.#hosts.set(hostname, { name, servers, isTcp, clientCa, allowsUnverified })
    }
  }

  /** TLS of some listener ends here: a client that names nobody is told so by an alert, as a TLS server does. */
  get endsTls(): boolean {
    return this.#made.size > 0
  }

  /** `serverName`: '' for a client that names none, which only the listener of every host serves. */
  find(serverName: string): TlsListener | undefined {
    return this.#hosts.find(serverName)
  }
}

function newServers(name: string, tls: ListenerTls, settings: FrontendTls, alpn: string[], secret: Uint8Array) {
  try {
    const { clientCa, allowsUnverified = false, minVersion, maxVersion, cipherSuites } = tls
    const pairs = [tls, ...(tls.additionalCertificates ?? [])]
    return new TlsServers(
      {
        certificates: pairs.map(({ cert, key }) => ({ cert, key: reveal(key) })),
        clientCa,
        allowsUnverified,
        minVersion: minVersion ?? settings.minVersion,
        maxVersion: maxVersion ?? settings.maxVersion,
        cipherSuites: cipherSuites ?? settings.cipherSuites,
        alpn
      },
      // A ticket of one listener is worth nothing at another one, whose clients may have to show more.
      new Uint8Array(hkdfSync('sha256', secret, '', `weir tls listener ${name}`, 32))
    )
  } catch (error) {
    throw new Error(`listener ${name}: tls: ${(error as Error).message}`)
  }
}

/** Whether the connections of a bind begin with TLS. */
export function hasTls(bind: Bind): boolean {
  return bind.listeners.some(({ protocol, tls }) => tls !== null || protocol === 'TLS')
}
