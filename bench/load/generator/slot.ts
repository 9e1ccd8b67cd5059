/** One client: sends a request, waits for its answer, and tells its owner. Connects when it has to. */
import { type ConnectOpts, connect, type Socket, type TcpNetConnectOpts } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import { AnswerReader, DONE, MORE } from './answer.ts'
import type { Expected, Fault, Job } from './job.ts'

/**
 * One read buffer for all connections of the process: the callback has looked at every byte of it
 * before the next read starts. 64 KiB is what a loopback read gives at most.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * One for all: making it costs more than a handshake. It verifies nothing. Keys are agreed
 * by X25519, which every peer has: else some would agree by ML-KEM too, which the OpenSSL of others does not know.
 */
const TLS = {
  secureContext: createSecureContext({ ecdhCurve: 'X25519:P-256' }),
  rejectUnauthorized: false,
  servername: 'bench.example.com'
}

export interface SlotOwner {
  /** The answer to the request that was due at `dueMs` is whole and correct. */
  onAnswer(slot: Slot, dueMs: number): void
  /** The request failed; the slot has no connection now and may be used again. */
  onFault(slot: Slot, fault: Fault): void
}

export class Slot {
  /** A request is under way. */
  busy = false
  readonly reader: AnswerReader
  readonly #port: number
  readonly #hasTls: boolean
  readonly #fresh: boolean
  readonly #owner: SlotOwner
  #socket: Socket | null = null
  #connected = false
  #request = ''
  #dueMs = 0
  /** The answer is whole; what is missing is the server's close. */
  #awaitsClose = false

  constructor(job: Pick<Job, 'port' | 'hasTls' | 'fresh'>, expected: Expected, owner: SlotOwner) {
    this.#port = job.port
    this.#hasTls = job.hasTls
    this.#fresh = job.fresh
    this.#owner = owner
    this.reader = new AnswerReader(expected)
  }

  get open(): boolean {
    return this.#connected
  }

  /** Sends `request` (latin1). `dueMs`: when it should have been sent, on the clock of performance.now(). */
  send(request: string, dueMs: number): void {
    this.busy = true
    this.#request = request
    this.#dueMs = dueMs
    if (this.#connected) this.#socket!.write(request, 'latin1')
    else this.#connect()
  }

  /** Drops the connection without a word to the owner. */
  close(): void {
    const socket = this.#socket
    this.#socket = null
    this.#connected = false
    this.#awaitsClose = false
    this.busy = false
    this.reader.reset()
    socket?.destroy()
  }

  #connect(): void {
    const options: TcpNetConnectOpts & ConnectOpts = {
      host: '127.0.0.1',
      port: this.#port,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (bytes) => {
          if (socket === this.#socket) this.#onRead(bytes)
          return true
        }
      }
    }
    const socket: Socket = this.#hasTls ? connectTls({ ...options, ...TLS }) : connect(options)
    this.#socket = socket
    socket.on(this.#hasTls ? 'secureConnect' : 'connect', () => {
      if (socket !== this.#socket) return
      this.#connected = true
      socket.write(this.#request, 'latin1')
    })
    const ended = () => {
      if (socket === this.#socket) this.#onEnd()
    }
    socket.on('end', ended)
    socket.on('close', ended)
    // The close event follows and is what counts.
    socket.on('error', ended)
  }

  #onRead(bytes: number): void {
    const isExpected = this.busy && !this.#awaitsClose
    const reading = isExpected ? this.reader.read(READ_BUFFER, 0, bytes) : 'extra'
    if (reading === MORE) return
    if (reading !== DONE) this.#fail(reading)
    else if (this.#fresh) this.#awaitsClose = true
    else this.#answered()
  }

  #onEnd(): void {
    if (this.#awaitsClose) this.#answered()
    else if (this.busy) this.#fail(this.#connected ? 'closed' : 'connect')
    // A server may close a connection that waits for its next request.
    else this.close()
  }

  #answered(): void {
    this.#awaitsClose = false
    if (this.#fresh || this.reader.closing) this.close()
    this.busy = false
    this.#owner.onAnswer(this, this.#dueMs)
  }

  #fail(fault: Fault): void {
    this.close()
    this.#owner.onFault(this, fault)
  }
}
