/**
 * TLS that ends here: what the connections of one listener share, and the handshake of one of them, over Node's handles
 * and over node:tls. Tickets (RFC 5077, RFC 8446 section 4.6.1) are sealed with keys that all workers derive from one
 * secret, so a session that one worker has begun goes on in every other one (docs/design/026-tls-listeners.md).
 */
import { constants, createHash, hkdfSync, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { openSslNames } from './cipher-suites.ts'
import type { Handle } from './handles.ts'
import { type PeerCertificate, peerOf, principalOf } from './peer-certificate.ts'
import { inTurn } from './round.ts'
import { endBehindAlert, mayAlert } from './tls-alert.ts'
import { NO_CERTIFICATE, refusingBy } from './tls-refusal.ts'
import type { TlsShared } from './tls-shared.ts'
import { TlsWire } from './tls-wire.ts'
import type { Wire } from './wire.ts'

/** After so long other keys seal new tickets. What the ones before have sealed is refused: a full handshake. */
const TICKET_KEYS_MS = 12 * 60 * 60 * 1000
/** How long a session may go on, in seconds. */
const SESSION_SECONDS = 2 * 60 * 60
const TICKET_KEYS_BYTES = 48
/**
 * A client could otherwise make us work without end on one connection; and one that likes ChaCha20 best, as those
 * without instructions for AES do, gets it (among the suites that are allowed).
 */
const SECURE_OPTIONS = (constants.SSL_OP_NO_RENEGOTIATION ?? 0) | (constants.SSL_OP_PRIORITIZE_CHACHA ?? 0)

export interface TlsKeyPair {
  /** PEM, its own certificate first. */
  readonly cert: string
  /** PEM. */
  readonly key: string
}

export interface TlsServerSettings {
  /** At least one, and at most one for each type of key: OpenSSL shows the one that the client takes. */
  readonly certificates: readonly TlsKeyPair[]
  /** PEM; null: no certificate is requested. */
  readonly clientCa: string | null
  /** A client without a certificate of `clientCa` is let in, as one that has shown none. Default false. */
  readonly allowsUnverified?: boolean
  readonly minVersion: '1.2' | '1.3'
  readonly maxVersion: '1.2' | '1.3'
  /** Names of docs/specification.md#frontend-tls; null: all of them. */
  readonly cipherSuites: readonly string[] | null
  /** The preferred first. */
  readonly alpn: readonly string[]
}

/** What a handshake has found out. */
export interface TlsFacts {
  /** 'TLSv1.2' or 'TLSv1.3'. */
  readonly version: string
  /** OpenSSL's name of it. */
  readonly cipher: string
  /** '' when none was agreed. */
  readonly alpn: string
  readonly peer: PeerCertificate | null
  readonly isResumed: boolean
}

/**
 * A finished handshake, or why there is none: ERR_SSL_... of OpenSSL, a code of X.509 (CERT_HAS_EXPIRED, ...), or
 * that of a socket (ECONNRESET).
 */
export type TlsDone = (code: string | null, wire: Wire | null, facts: TlsFacts | null) => void

export class TlsServer {
  readonly #context: SecureContext
  readonly #secret: Uint8Array
  /** What a session belongs to: it never goes on where something else is asked for. */
  readonly #identity: Buffer
  #epoch = -1
  /** With their lengths before them. */
  readonly alpn: Buffer
  readonly alpnNames: string[]
  readonly requestsCertificate: boolean
  /** Who does not show a certificate that passes does not get in. */
  readonly requiresCertificate: boolean
  /** Of its own certificate, the first of several. */
  readonly principal: string

  /**
   * `secret`: of the process; the same secret and settings make sessions that go on. Throws an Error where
   * certificate, key, versions and cipher suites do not fit each other.
   */
  constructor(settings: TlsServerSettings, secret: Uint8Array) {
    const { certificates, clientCa, allowsUnverified = false, minVersion, maxVersion, alpn } = settings
    const cert = certificates.map((pair) => pair.cert)
    this.#secret = secret
    this.#identity = createHash('sha256')
      .update(JSON.stringify([cert, clientCa, allowsUnverified, minVersion, maxVersion, settings.cipherSuites]))
      .digest()
    this.requestsCertificate = clientCa !== null
    this.requiresCertificate = clientCa !== null && !allowsUnverified
    this.alpnNames = [...alpn]
    this.alpn = Buffer.concat(alpn.map((name) => Buffer.from(`${String.fromCharCode(name.length)}${name}`, 'latin1')))
    this.#context = createSecureContext({
      cert,
      key: certificates.map(({ key }) => key),
      ...(clientCa === null ? {} : { ca: clientCa }),
      minVersion: `TLSv${minVersion}`,
      maxVersion: `TLSv${maxVersion}`,
      ciphers: openSslNames(settings.cipherSuites, minVersion, maxVersion).join(':'),
      honorCipherOrder: true,
      secureOptions: SECURE_OPTIONS,
      sessionIdContext: this.#identity.toString('hex').slice(0, 32),
      sessionTimeout: SESSION_SECONDS
    })
    this.principal = principalOf(new X509Certificate(cert[0]!))
    this.context()
  }

  /** With the ticket keys of this time of day, which no worker has to tell another one. */
  context(now = Date.now()): SecureContext {
    const epoch = Math.floor(now / TICKET_KEYS_MS)
    if (epoch !== this.#epoch) {
      this.#epoch = epoch
      const keys = hkdfSync('sha256', this.#secret, this.#identity, `weir tls tickets ${epoch}`, TICKET_KEYS_BYTES)
      const inside = this.#context.context as { setTicketKeys(keys: Buffer): void }
      inside.setTicketKeys(Buffer.from(keys))
    }
    return this.#context
  }

  /** Null, or why a client with this certificate does not get in. */
  refuses(peer: PeerCertificate | null, verifyError: string | null): string | null {
    if (!this.requiresCertificate) return null
    if (peer === null) return NO_CERTIFICATE
    return verifyError
  }
}

/** The handshake over a handle without another user. Returns a function that cancels it. */
export function startOverHandle(
  below: Handle,
  first: Buffer,
  server: TlsServer,
  shared: TlsShared,
  done: TlsDone
): () => void {
  const handle = shared.handles.wrapTls(below, server.context().context, true)
  handle.setALPNProtocols(server.alpn)
  if (server.requestsCertificate) handle.setVerifyMode(true, server.requiresCertificate)
  const wire = new TlsWire(below, handle, shared, (code) => {
    if (code !== null) {
      done(code, null, null)
      return
    }
    const shown = server.requestsCertificate ? peerOf(handle.getPeerCertificate(true)?.raw) : null
    // Reading OpenSSL's error costs, so it is read only when it is used.
    const verifyError = shown === null ? null : codeOf(handle.verifyError())
    const refusal = server.refuses(shown, verifyError)
    if (refusal !== null) {
      wire.destroy()
      done(refusal, null, null)
      return
    }
    done(null, wire, {
      version: handle.getProtocol() ?? '',
      cipher: handle.getCipher()?.name ?? '',
      alpn: handle.getALPNNegotiatedProtocol() || '',
      // Nothing may be granted to a name that nobody has verified.
      peer: verifyError === null ? shown : null,
      isResumed: handle.isSessionReused()
    })
  })
  if (server.requiresCertificate && typeof handle.enableKeylogCallback === 'function') {
    const judge = refusingBy({
      refusal: () => codeOf(handle.verifyError()),
      protocol: () => handle.getProtocol(),
      cipher: () => handle.getCipher()?.name,
      refuse: (code, record) => wire.refuse(code, record)
    })
    handle.onkeylog = (line) => inTurn(judge, line)
    handle.enableKeylogCallback()
  }
  wire.start(first)
  return () => wire.destroy()
}

/** The same over node:tls. `made`: a Wire over the socket with TLS. */
export function startOverSocket(
  below: Socket,
  first: Buffer,
  server: TlsServer,
  made: (socket: TLSSocket) => Wire,
  done: TlsDone
): () => void {
  let settled = false
  let code = 'ECONNRESET'
  below.unshift(first)
  const socket = new TLSSocket(below, {
    isServer: true,
    secureContext: server.context(),
    ALPNProtocols: server.alpnNames,
    requestCert: server.requestsCertificate,
    // Decided below, as over handles.
    rejectUnauthorized: false
  })
  const settle = (end: () => void) => {
    if (settled) return
    settled = true
    inTurn(end)
  }
  let isFailed = false
  const failed = () =>
    settle(() => {
      isFailed = true
      done(code, null, null)
    })
  // Only this event reports errors before the handshake is done.
  socket.on('_tlsError', (error: NodeJS.ErrnoException) => {
    code = error.code ?? 'EPROTO'
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    code = error.code ?? 'EPROTO'
    failed()
  })
  socket.on('close', failed)
  const stopLooking = lookAt(socket)
  const refuse = (code: string, record: string) =>
    settle(() => {
      endBehindAlert(below, record, () => socket.destroy())
      done(code, null, null)
    })
  if (server.requiresCertificate) alertOver(socket, server, refuse)
  socket.on('end', () => {
    failed()
    if (isFailed) socket.destroy()
  })
  socket.on('secure', () => {
    stopLooking()
    const shown = server.requestsCertificate ? peerOf(socket.getPeerCertificate().raw) : null
    const verifyError = shown === null || socket.authorized ? null : codeOf(verifyErrorOf(socket))
    const refusal = server.refuses(shown, verifyError)
    settle(() => {
      if (refusal !== null) {
        socket.destroy()
        done(refusal, null, null)
        return
      }
      done(null, made(socket), factsOf(socket, verifyError === null ? shown : null))
    })
  })
  return () => {
    settled = true
    socket.destroy()
  }
}

function factsOf(socket: TLSSocket, peer: PeerCertificate | null): TlsFacts {
  return {
    version: socket.getProtocol() ?? '',
    cipher: socket.getCipher().name,
    alpn: socket.alpnProtocol || '',
    peer,
    isResumed: socket.isSessionReused()
  }
}

function alertOver(socket: TLSSocket, server: TlsServer, refuse: (code: string, record: string) => void): void {
  const judge = refusingBy({
    // OpenSSL has let a client without a certificate pass here too.
    refusal: () => server.refuses(peerOf(socket.getPeerCertificate().raw), codeOf(verifyErrorOf(socket))),
    protocol: () => socket.getProtocol(),
    cipher: () => socket.getCipher()?.name,
    refuse(code, record) {
      if (mayAlert()) refuse(code, record)
    }
  })
  socket.on('keylog', judge)
}

/** Until there is a reader: without reads a socket does not report that its client has gone. */
function lookAt(socket: TLSSocket): () => void {
  const look = () => {
    if (socket.readableLength === 0) socket.read(0)
  }
  socket.on('readable', look)
  return () => socket.off('readable', look)
}

function verifyErrorOf(socket: TLSSocket): Error | null {
  const { ssl } = socket as unknown as { ssl: { verifyError(): Error | null } }
  return ssl.verifyError()
}

function codeOf(error: (Error & { code?: string }) | null): string | null {
  return error === null ? null : (error.code ?? 'EPROTO')
}
