/**
 * The beginning of a connection on a port of TLS: the ClientHello is read and a listener chosen by the name in it.
 * Where TLS ends here the handshake is made, and HTTP or TCP has the wire behind it; else the connection is passed on
 * with every byte as it came. Bounded in bytes (by the reader of the ClientHello, then by OpenSSL) and in time: one
 * timer runs to the end of the handshake.
 */
import { type TcpPort, TcpSession } from '#engine/contract/tcp.ts'
import type { ClientTls } from '#engine/contract/transport.ts'
import { MORE, Stage, TAKEN } from '#engine/downstream/stage.ts'
import { passOn, type TcpContext, UNRECOGNIZED_NAME } from '#engine/downstream/tcp/tcp.ts'
import { CLIENT_HELLO_FAULTS, type ClientHelloFault, readClientHello } from '#engine/http/client-hello.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import type { TlsFacts, TlsServer } from '#engine/socket/tls-server.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { type HandshakeReport, type HandshakeResult, REASON_OF, resultOf } from './handshake.ts'
import type { TlsListener, TlsPort } from './port.ts'

/** How long a draining bind waits for handshakes that have not ended. */
const DRAIN_MS = 1_000

/** A fatal alert (RFC 8446 section 6.2), said before there is a version: in a record of TLS 1.2, as OpenSSL does. */
const DECODE_ERROR = '\x15\x03\x03\x00\x02\x02\x32'

const HTTP_TEXT = 'this port speaks TLS: use https://\n'
const HTTP_REPLY =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n' +
  `Content-Length: ${HTTP_TEXT.length}\r\nConnection: close\r\n\r\n${HTTP_TEXT}`

/** What the stages of one bind share. */
export interface ClientHelloContext extends TcpContext {
  /** Number of the bind in the configuration. */
  readonly bind: number
  readonly sockets: SocketLayer
  /** Makes the connection of HTTP. */
  startHttp(wire: Wire, tls: ClientTls): void
  report(report: HandshakeReport): void
}

export class ClientHelloStage extends Stage<ClientHelloContext> {
  readonly #tls: TlsPort
  /** The listeners with TCP behind them; null: there are none. */
  readonly #tcp: TcpPort | null
  readonly #remoteAddress: string
  #serverName = ''
  #listener: TlsListener | null = null
  /** Of a handshake with TCP behind it. */
  #session: TcpSession | null = null
  /** Gives up the handshake that is under way. */
  #giveUp: (() => void) | null = null
  #hasBegun = false

  constructor(place: ClientHelloContext, wire: Wire, tls: TlsPort, tcp: TcpPort | null) {
    super(place, wire, tls.handshakeTimeoutMs)
    this.#tls = tls
    this.#tcp = tcp
    this.#remoteAddress = wire.ends.remoteAddress
  }

  protected decide(bytes: Buffer, start: number, end: number): number {
    this.#hasBegun = true
    const hello = readClientHello(bytes, start, end)
    if (hello === 'more') return MORE
    if (typeof hello === 'string') {
      this.#refuse(hello)
      return TAKEN
    }
    const { serverName } = hello
    this.#serverName = serverName
    const listener = this.#tls.find(serverName) ?? null
    if (listener === null || (listener.isTcp && this.#tcp === null)) {
      // Where all is passed on, the connection is closed without a word (conformance suite of the Gateway API).
      this.#fail('no_listener', '', this.#tls.endsTls ? UNRECOGNIZED_NAME : '')
      return TAKEN
    }
    this.#listener = listener
    const { servers, isTcp } = listener
    const server = servers?.find(serverName) ?? null
    // A name without a route gets its alert before anything is agreed.
    if (server === null || (isTcp && !this.#tcp?.find(serverName)?.route(serverName))) return start
    if (isTcp) this.#session = new TcpSession(this.wire, this.context.port, this.startedAt)
    this.#shake(listener, server, Buffer.from(bytes.subarray(start, end)))
    return TAKEN
  }

  /** TLS is passed on. */
  protected proceed(): void {
    this.#passOn(this.wire, this.#listener?.servers === null ? '' : UNRECOGNIZED_NAME)
  }

  #passOn(wire: Wire, say: string): void {
    if (this.#tcp !== null) passOn(this.context, wire, this.#tcp, this.#serverName, this.startedAt, say)?.start()
  }

  #shake(listener: TlsListener, server: TlsServer, first: Buffer): void {
    // A PROXY header may have named another address than the socket's.
    const { remoteAddress, remotePort } = this.wire.ends
    const giveUp = this.context.sockets.startTls(this.wire, first, server, (code, wire, facts) => {
      wire?.ends.setPeer(remoteAddress, remotePort)
      this.#giveUp = null
      if (this.isOver) wire?.destroy()
      else if (wire === null || facts === null) this.#fail(resultOf(code ?? ''), code ?? '', null)
      else this.#done(wire, listener, server, facts)
    })
    if (!this.isOver) this.#giveUp = giveUp
  }

  #done(
    wire: Wire,
    { name: listener, isTcp, clientCa, allowsUnverified }: TlsListener,
    server: TlsServer,
    facts: TlsFacts
  ) {
    const { version, cipher, alpn, peer, isResumed } = facts
    this.leave()
    this.#report(isResumed ? 'resumed' : 'ok', '')
    const serverName = this.#serverName
    const localPrincipal = server.principal
    const wanted = { clientCa, allowsUnverified }
    if (isTcp) this.#passOn(wire, '')
    else this.context.startHttp(wire, { listener, serverName, version, cipher, alpn, peer, ...wanted, localPrincipal })
  }

  // --- the end ---

  #refuse(fault: ClientHelloFault): void {
    const detail = CLIENT_HELLO_FAULTS[fault]
    if (fault === 'http') this.#fail('clear_text_http', detail, HTTP_REPLY)
    else if (fault === 'bad-server-name') this.#fail('no_listener', detail, UNRECOGNIZED_NAME)
    else if (fault === 'malformed' || fault === 'too-long') this.#fail('malformed', detail, DECODE_ERROR)
    else this.#fail('not_tls', detail, '')
  }

  protected timedOut(): boolean {
    this.#fail('timeout', '', '')
    return false
  }

  override onEnd(): void {
    this.#fail('client_gone', '', '')
  }

  override onError(_code: string): void {
    this.#fail('client_gone', '', null)
  }

  override drain(): void {
    this.wait(DRAIN_MS)
  }

  override forceClose(): void {
    this.#fail('cut', '', '')
  }

  /** `say`: last bytes for the client, an alert or a response; null: its wire is dead already. */
  #fail(result: HandshakeResult, detail: string, say: string | null): void {
    if (this.isOver) return
    // Health checks and scanners of ports connect and leave: nothing has begun.
    if (this.#hasBegun) {
      this.#report(result, detail)
      this.#record(result, detail)
    }
    const giveUp = this.#giveUp
    this.end()
    if (giveUp !== null) giveUp()
    else if (say === '') this.wire.destroy()
    else if (say !== null) {
      this.wire.write(say)
      this.wire.close(true)
    }
  }

  /** A connection that would have been passed on, or may have been, has its record. */
  #record(result: HandshakeResult, detail: string): void {
    const reason = REASON_OF[result]
    if (this.#tcp === null || reason === null) return
    const session = this.#session ?? new TcpSession(this.wire, this.context.port, this.startedAt)
    session.serverName = this.#serverName
    session.reason = reason
    session.detail = detail
    if (this.#listener === null) this.context.recorder()?.record(session)
    else if (this.#listener.isTcp) this.#tcp.find(this.#serverName)?.recorder.record(session)
  }

  #report(result: HandshakeResult, detail: string): void {
    const seconds = (performance.now() - this.startedAt) / 1000
    const { bind } = this.context
    const remoteAddress = this.#remoteAddress
    this.context.report({ port: bind, result, seconds, remoteAddress, serverName: this.#serverName, detail })
  }
}
