/** The data plane's side of the stream from its controller (docs/design/038-stream-to-data-planes.md). */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { SYSTEM_TIME, type Time } from '#engine/contract/time.ts'
import { VERSION } from '#engine/contract/version.ts'
import { Backoff } from '#engine/kubernetes/client/backoff.ts'
import { type Answer, GATEWAY_HEADER, POD_HEADER, readToDataPlane, STREAM_PATH, type ToDataPlane } from './messages.ts'
import { keepAlive } from './ping.ts'
import type { GatewayName } from './published.ts'
import { type EndpointChanges, type Held, Received, type ReceivedDraft } from './received.ts'
import { encodeRecord, RecordError, RecordReader, SNAPSHOT_BYTES_MAX } from './records.ts'

/** From the first packet to the answer. */
const CONNECT_MS_MAX = 15_000

export interface SnapshotClientOptions {
  /** "host:port" of the controller. */
  readonly address: string
  /** PEM of the authority that its certificate is from; read anew for each connection. */
  readonly ca: () => string
  /** ServiceAccount token, read anew for each connection: the kubelet replaces it. */
  readonly token: () => string
  readonly gateway: GatewayName
  readonly pod: string
  /** What is in force already. */
  readonly held: Held | null
  /**
   * Puts the draft in force. A rejection says why that is not possible; what was in force before is. Of drafts that
   * come meanwhile only the newest is given.
   */
  readonly onSnapshot: (received: ReceivedDraft) => Promise<void>
  /** In force at once; the first comes before the first draft. */
  readonly onEndpoints: (changes: EndpointChanges) => void
  /** There is something new to keep: what it is by the time that it is asked for. */
  readonly onHeld: (held: () => Held) => void
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void
  /** Default: that of the system. */
  readonly time?: Time
}

/** Connects until it is closed. */
export class SnapshotClient {
  readonly #options: SnapshotClientOptions
  readonly #time: Time
  readonly #backoff: Backoff
  readonly #received: Received
  #inForce: ReceivedDraft | null
  /** The last that was put in force or refused; it is told again over a new connection. */
  #answer: Answer | null = null
  #isApplying = false
  #isClosed = false
  #session: ClientHttp2Session | null = null
  #stream: ClientHttp2Stream | null = null
  #callOff: () => void = () => {}
  #lastFault = ''

  constructor(options: SnapshotClientOptions) {
    this.#options = options
    this.#time = options.time ?? SYSTEM_TIME
    this.#backoff = new Backoff(this.#time)
    this.#received = new Received(options.held)
    this.#inForce = options.held
    if (options.held !== null) this.#answer = answerOf(options.held, null)
  }

  start(): void {
    this.#connect()
  }

  close(): void {
    this.#isClosed = true
    this.#callOff()
    this.#session?.destroy()
  }

  // --- the connection ---

  #connect(): void {
    const { address, gateway, pod, log } = this.#options
    let session: ClientHttp2Session
    let stream: ClientHttp2Stream
    try {
      const [ca, token] = [this.#options.ca(), this.#options.token().trim()]
      session = connect(`https://${address}`, { ca, minVersion: 'TLSv1.3' })
      stream = session.request(
        {
          ':method': 'POST',
          ':path': STREAM_PATH,
          authorization: `Bearer ${token}`,
          [GATEWAY_HEADER]: gateway,
          [POD_HEADER]: pod
        },
        { endStream: false }
      )
    } catch (error) {
      this.#failed((error as Error).message)
      this.#again()
      return
    }
    this.#session = session
    this.#stream = stream
    const callOff = this.#time.after(CONNECT_MS_MAX, () => {
      this.#failed('it does not answer')
      session.destroy()
    })
    session.on('error', (error) => this.#failed(error.message))
    stream.on('error', (error) => this.#failed(error.message))
    const endPings = keepAlive(session, this.#time)
    stream.on('response', ({ ':status': status }) => {
      callOff()
      if (status !== constants.HTTP_STATUS_OK) {
        this.#failed(`it answers with ${status}`)
        session.destroy()
        return
      }
      log('info', `connected to the controller at ${address}`)
      this.#lastFault = ''
    })
    // Its stream is all that a connection is for.
    stream.on('close', () => session.destroy())
    session.on('close', () => {
      callOff()
      endPings()
      this.#stream = null
      this.#again()
    })
    this.#listen(session, stream)
    stream.write(encodeRecord(this.#received.hello))
    if (this.#answer !== null) stream.write(encodeRecord(this.#answer))
  }

  #listen(session: ClientHttp2Session, stream: ClientHttp2Stream): void {
    const reader = new RecordReader(SNAPSHOT_BYTES_MAX, (value) => {
      this.#take(readToDataPlane(value))
      this.#backoff.reset()
    })
    stream.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk)
      } catch (error) {
        if (!(error instanceof RecordError)) throw error
        this.#failed(error.message)
        session.destroy()
      }
    })
  }

  /** Said once, until it is something else. */
  #failed(message: string): void {
    const { address, log } = this.#options
    if (this.#isClosed || message === this.#lastFault) return
    this.#lastFault = message
    log('warn', `the controller at ${address} is not to be had: ${message}; what runs stays, trying again`)
  }

  #again(): void {
    if (this.#isClosed) return
    this.#callOff = this.#time.after(this.#backoff.pauseMs(), () => this.#connect())
  }

  // --- what it says ---

  #take(record: ToDataPlane): void {
    const { onEndpoints } = this.#options
    if (record.kind === 'endpoints') {
      onEndpoints(this.#received.takeEndpoints(record))
      this.#keep()
      return
    }
    this.#received.takeSnapshot(record)
    if (!this.#isApplying) void this.#apply()
  }

  /** One after the other, the newest each time. */
  async #apply(): Promise<void> {
    this.#isApplying = true
    for (let next = this.#received.draft; next !== null && !this.#isClosed; next = this.#newerThan(next)) {
      const reason = await this.#putInForce(next)
      this.#answer = answerOf(next, reason)
      this.#stream?.write(encodeRecord(this.#answer))
      if (reason !== null) continue
      this.#inForce = next
      if (next === this.#received.draft) this.#options.onEndpoints(this.#received.takeLeaving())
      this.#keep()
    }
    this.#isApplying = false
  }

  #newerThan(applied: ReceivedDraft): ReceivedDraft | null {
    return this.#received.draft === applied ? null : this.#received.draft
  }

  /** Null, or why not. */
  async #putInForce(next: ReceivedDraft): Promise<string | null> {
    if (next.program !== VERSION) {
      return `the controller is weir ${next.program}, and this data plane weir ${VERSION}: they have to be the same`
    }
    // A controller that was started anew says everything again.
    if (next.draft === this.#inForce?.draft) return null
    try {
      await this.#options.onSnapshot(next)
      return null
    } catch (error) {
      return (error as Error).message
    }
  }

  #keep(): void {
    const inForce = this.#inForce
    if (inForce !== null) this.#options.onHeld(() => this.#received.held(inForce))
  }
}

function answerOf({ epoch, version }: ReceivedDraft, reason: string | null): Answer {
  return { kind: 'answer', epoch, version, reason }
}
