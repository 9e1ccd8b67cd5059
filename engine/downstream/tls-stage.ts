/**
 * The beginning of a connection on a port of TLS: the ClientHello is read, a listener chosen by the name in it, the
 * handshake made; then somebody else has the wire. Bounded in bytes (by the reader of the ClientHello, then by OpenSSL)
 * and in time, and one of the connections of its bind.
 */
import type { ClientTls } from '#engine/contract/transport.ts'
import { CLIENT_HELLO_FAULTS, type ClientHelloFault, readClientHello } from '#engine/http/client-hello.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import type { ReadMemory } from '#engine/socket/memory.ts'
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'
import type { TlsFacts } from '#engine/socket/tls-server.ts'
import type { SocketLayer, Wire, WireOwner } from '#engine/socket/wire.ts'
import type { OpenConnection } from './crowd.ts'
import type { TlsListener, TlsPort } from './tls-port.ts'

/** How long a draining bind waits for handshakes that have not ended. */
const DRAIN_MS = 1_000

/** Fatal alerts (RFC 8446 section 6.2), said before there is a version: in records of TLS 1.2, as OpenSSL does. */
const ALERT_UNRECOGNIZED_NAME = '\x15\x03\x03\x00\x02\x02\x70'
const ALERT_DECODE_ERROR = '\x15\x03\x03\x00\x02\x02\x32'

const HTTP_TEXT = 'this port speaks TLS: use https://\n'
const HTTP_REPLY =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n' +
  `Content-Length: ${HTTP_TEXT.length}\r\nConnection: close\r\n\r\n${HTTP_TEXT}`

/** How a handshake ended; a label of a metric, so there are few of them. */
export type HandshakeResult =
  | ('ok' | 'resumed' | 'client_gone' | 'timeout' | 'clear_text_http' | 'not_tls' | 'malformed')
  | ('no_listener' | 'client_certificate' | 'no_agreement' | 'cut' | 'failed')

export interface HandshakeReport {
  readonly port: number
  readonly result: HandshakeResult
  readonly seconds: number
  readonly remoteAddress: string
  /** '' when it is not known. */
  readonly serverName: string
  /** More words, or OpenSSL's code; '' for none. Never anything of a key. */
  readonly detail: string
}

/** What the stages of one bind share. */
export interface TlsPlace {
  readonly port: number
  readonly memory: ReadMemory
  readonly timers: TimerWheel
  readonly sockets: SocketLayer
  readonly connections: Set<OpenConnection>
  /** A connection of the bind is over. */
  closed(): void
  /** Makes the next owner of the wire. */
  begin(wire: Wire, tls: ClientTls): void
  report(report: HandshakeReport): void
}

export class TlsStage implements WireOwner, OpenConnection {
  readonly #place: TlsPlace
  readonly #tls: TlsPort
  readonly #wire: Wire
  readonly #timer: WheelTimer
  readonly #startedAt = turnStartedAt
  readonly #remoteAddress: string
  #kept: Buffer | null = null
  #serverName = ''
  /** Gives up the handshake that is under way. */
  #giveUp: (() => void) | null = null
  #hasBegun = false
  #isOver = false

  constructor(place: TlsPlace, tls: TlsPort, wire: Wire) {
    this.#place = place
    this.#tls = tls
    this.#wire = wire
    this.#remoteAddress = wire.remoteAddress
    this.#timer = new WheelTimer(() => this.#onTimeout())
    wire.owner = this
    place.connections.add(this)
    place.timers.arm(this.#timer, turnStartedAt, tls.handshakeTimeoutMs)
  }

  onRead(start: number, end: number): void {
    this.#hasBegun = true
    const fresh = this.#place.memory.bytes.subarray(start, end)
    const bytes = this.#kept === null ? Buffer.from(fresh) : Buffer.concat([this.#kept, fresh])
    const hello = readClientHello(bytes, 0, bytes.length)
    if (hello === 'more') this.#kept = bytes
    else if (typeof hello === 'string') this.#refuse(hello)
    else {
      this.#serverName = hello.serverName
      const listener = this.#tls.find(hello.serverName)
      if (listener === undefined) this.#end('no_listener', '', ALERT_UNRECOGNIZED_NAME)
      else this.#shake(listener, bytes)
    }
  }

  #refuse(fault: ClientHelloFault): void {
    const detail = CLIENT_HELLO_FAULTS[fault]
    if (fault === 'http') this.#end('clear_text_http', detail, HTTP_REPLY)
    else if (fault === 'bad-server-name') this.#end('no_listener', detail, ALERT_UNRECOGNIZED_NAME)
    else if (fault === 'malformed' || fault === 'too-long') this.#end('malformed', detail, ALERT_DECODE_ERROR)
    else this.#end('not_tls', detail, '')
  }

  #shake(listener: TlsListener, first: Buffer): void {
    this.#kept = null
    // A PROXY header may have told another address than the socket's.
    const { remoteAddress, remotePort } = this.#wire
    const giveUp = this.#place.sockets.startTls(this.#wire, first, listener.server, (code, wire, facts) => {
      wire?.speaksFor(remoteAddress, remotePort)
      this.#giveUp = null
      if (this.#isOver) wire?.destroy()
      else if (wire === null || facts === null) this.#end(resultOf(code ?? ''), code ?? '', null)
      else this.#pass(wire, listener, facts)
    })
    if (!this.#isOver) this.#giveUp = giveUp
  }

  #pass(wire: Wire, { name: listener, clientCa }: TlsListener, facts: TlsFacts): void {
    const { version, cipher, alpn, peer, isResumed } = facts
    this.#leave()
    this.#report(isResumed ? 'resumed' : 'ok', '')
    const serverName = this.#serverName
    this.#place.begin(wire, { listener, serverName, version, cipher, alpn, peer, clientCa })
  }

  // --- the end ---

  onEnd(): void {
    this.#end('client_gone', '', '')
  }

  onError(_code: string): void {
    this.#end('client_gone', '', null)
  }

  onDrain(): void {}

  drain(): void {
    if (!this.#isOver) this.#place.timers.arm(this.#timer, turnStartedAt, DRAIN_MS)
  }

  giveWay(): boolean {
    if (this.#isOver) return false
    this.cut()
    return true
  }

  cut(): void {
    this.#end('cut', '', '')
  }

  #onTimeout(): void {
    enterTurn()
    this.#end('timeout', '', '')
    leaveTurn()
  }

  /** `say`: what the client is told first; null: its wire is dead already. */
  #end(result: HandshakeResult, detail: string, say: string | null): void {
    if (this.#isOver) return
    this.#leave()
    const giveUp = this.#giveUp
    if (giveUp !== null) giveUp()
    else if (say === '') this.#wire.destroy()
    else if (say !== null) {
      this.#wire.write(say)
      this.#wire.close(true)
    }
    // Health checks and scanners of ports connect and leave: nothing has begun.
    if (this.#hasBegun) this.#report(result, detail)
    this.#place.closed()
  }

  #leave(): void {
    this.#isOver = true
    this.#place.connections.delete(this)
    this.#place.timers.remove(this.#timer)
  }

  #report(result: HandshakeResult, detail: string): void {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const { port } = this.#place
    const serverName = this.#serverName
    this.#place.report({ port, result, seconds, remoteAddress: this.#remoteAddress, serverName, detail })
  }
}

function resultOf(code: string): HandshakeResult {
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ETIMEDOUT') return 'client_gone'
  // The codes of X.509 (CERT_HAS_EXPIRED) and those of errno and OpenSSL never begin alike.
  if (!code.startsWith('E')) return 'client_certificate'
  if (code.endsWith('PEER_DID_NOT_RETURN_A_CERTIFICATE')) return 'client_certificate'
  return AGREEMENT.some((what) => code.endsWith(what)) ? 'no_agreement' : 'failed'
}

/** Ends of OpenSSL's codes that say that client and listener have nothing in common. */
const AGREEMENT = ['NO_APPLICATION_PROTOCOL', 'UNSUPPORTED_PROTOCOL', 'NO_SHARED_CIPHER', 'VERSION_TOO_LOW']
