/**
 * TLS towards upstreams, over node:tls: the certificate must be valid for the name that is asked for, always.
 * Sessions are kept by destination, so that a new connection to a known server is a resumed one (RFC 8446 section 2.2).
 */
import { connect, createSecureContext, type SecureContext } from 'node:tls'
import type { ReadMemory } from './memory.ts'
import { NetWire } from './net.ts'
import { enterTurn, leaveTurn } from './round.ts'
import type { Address, Connected } from './wire.ts'

export interface TlsSettings {
  /** Name in the certificate, and in SNI. */
  readonly serverName: string
  /** Certificates (PEM) that are trusted instead of the system's; null: the system's. */
  readonly ca: string | null
}

/** What connections to one destination share. */
export class TlsClient {
  readonly #settings: TlsSettings
  readonly #context: SecureContext
  #session: Buffer | undefined

  constructor(settings: TlsSettings) {
    this.#settings = settings
    this.#context = createSecureContext(settings.ca === null ? {} : { ca: settings.ca })
  }

  /** As SocketLayer.connect, when the handshake is done. Error codes are Node's (CERT_HAS_EXPIRED, ...). */
  connect(memory: ReadMemory, address: Address, done: Connected): () => void {
    const where = 'unixPath' in address ? { path: address.unixPath } : { host: address.ip, port: address.port }
    const { serverName } = this.#settings
    const socket = connect({
      ...where,
      servername: serverName,
      secureContext: this.#context,
      ALPNProtocols: ['http/1.1'],
      ...(this.#session === undefined ? {} : { session: this.#session })
    })
    const failed = (error: NodeJS.ErrnoException) => {
      // A session that the server does not like must not spoil the next attempt.
      this.#session = undefined
      enterTurn()
      done(error.code ?? 'EPROTO', null)
      leaveTurn()
    }
    socket.on('session', (session) => {
      this.#session = session
    })
    socket.once('error', failed)
    socket.once('secureConnect', () => {
      socket.off('error', failed)
      enterTurn()
      done(null, new NetWire(socket, memory))
      leaveTurn()
    })
    return () => {
      socket.off('error', failed)
      // A late failure of an abandoned attempt concerns nobody.
      socket.on('error', () => {})
      socket.destroy()
    }
  }
}
