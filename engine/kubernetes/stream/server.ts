/** The controller's side of the stream to data planes: HTTP/2 with TLS (docs/design/038-stream-to-data-planes.md). */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { SYSTEM_TIME, type Time } from '#engine/contract/time.ts'
import { DataPlaneStream, type Outcome } from './data-plane-stream.ts'
import { GATEWAY_HEADER, POD_HEADER, STREAM_PATH } from './messages.ts'
import { keepAlive } from './ping.ts'
import { type GatewayName, Published, type PublishedGateway } from './published.ts'

/** A connection that has no stream of a data plane by then is closed. */
const IDLE_MS = 10_000
/** Then the data plane comes again, with the token that it has by then: one that is revoked does not serve for ever. */
const STREAM_MS_MAX = 30 * 60_000
const CONNECTIONS_MAX = 10_000
/** Tokens that are reviewed at a time. */
const REVIEWS_MAX = 32
const GATEWAY = /^[a-z0-9.-]{1,253}\/[a-z0-9.-]{1,253}$/
const POD = /^[a-zA-Z0-9._-]{1,253}$/

/** A data plane that is connected. */
export interface DataPlane extends Outcome {
  readonly gateway: GatewayName
  /** Name of its Pod, as it says itself. */
  readonly pod: string
}

export interface SnapshotServerOptions {
  /** 0: any that is free. */
  readonly port: number
  /** Default: all addresses. */
  readonly host?: string
  /** PEM. */
  readonly tls: { readonly cert: string; readonly key: string }
  /**
   * Whether the owner of this ServiceAccount token is a data plane of `gateway`. A rejection means that nobody can tell
   * now: the data plane tries again later.
   */
  readonly authenticate: (token: string, gateway: GatewayName) => Promise<boolean>
  /** A data plane of this Gateway has come, gone, put something in force or refused it. */
  readonly onChange: (gateway: GatewayName) => void
  readonly log: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void
  /** Default: that of the system. */
  readonly time?: Time
}

interface Connected {
  readonly pod: string
  readonly stream: DataPlaneStream
  readonly http2: ServerHttp2Stream
}

interface Served {
  readonly published: Published
  readonly connected: Set<Connected>
}

export class SnapshotServer {
  readonly #options: SnapshotServerOptions
  readonly #time: Time
  readonly #epoch = randomUUID()
  readonly #server: Http2SecureServer
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #gateways = new Map<GatewayName, Served>()
  #reviews = 0

  constructor(options: SnapshotServerOptions) {
    this.#options = options
    this.#time = options.time ?? SYSTEM_TIME
    this.#server = createSecureServer({
      ...options.tls,
      minVersion: 'TLSv1.3',
      allowHTTP1: false,
      settings: { enablePush: false, maxConcurrentStreams: 4 }
    })
    this.#server.maxConnections = CONNECTIONS_MAX
    this.#server.on('session', (session) => this.#onSession(session))
    this.#server.on('stream', (stream, headers) => void this.#onStream(stream, headers))
    // What one connection does wrong ends that one.
    this.#server.on('sessionError', (error) => options.log('debug', `a data plane's connection: ${error.message}`))
    this.#server.on('tlsClientError', (error) => options.log('debug', `a data plane's connection: ${error.message}`))
  }

  /** Resolves with the port. */
  async listen(): Promise<number> {
    const { port, host } = this.#options
    this.#server.listen(port, host)
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  /** For connections from now on. */
  setCertificate(tls: SnapshotServerOptions['tls']): void {
    this.#server.setSecureContext({ ...tls, minVersion: 'TLSv1.3' })
  }

  /**
   * All data planes of `gateway` get this, as soon as they can take it. Returns the version of the draft, which rises
   * only when the draft is another object than before.
   */
  publish(gateway: GatewayName, content: PublishedGateway): number {
    const { published, connected } = this.#served(gateway)
    published.publish(content)
    for (const { stream } of connected) stream.send()
    return published.version
  }

  /** The Gateway is gone: its data planes are not served any more. */
  remove(gateway: GatewayName): void {
    const served = this.#gateways.get(gateway)
    this.#gateways.delete(gateway)
    for (const { http2 } of served?.connected ?? []) http2.close()
  }

  /** Those that are connected. */
  dataPlanes(gateway: GatewayName): readonly DataPlane[] {
    const connected = this.#gateways.get(gateway)?.connected ?? []
    return [...connected].map(({ pod, stream }) => ({ gateway, pod, ...stream.outcome }))
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const session of this.#sessions) session.destroy()
    await closed
  }

  #served(gateway: GatewayName): Served {
    const known = this.#gateways.get(gateway) ?? { published: new Published(this.#epoch), connected: new Set() }
    this.#gateways.set(gateway, known)
    return known
  }

  #onSession(session: ServerHttp2Session): void {
    this.#sessions.add(session)
    const endPings = keepAlive(session, this.#time)
    const callOff = this.#time.after(IDLE_MS, () => session.destroy())
    session.once('stream', callOff)
    session.once('close', () => {
      callOff()
      endPings()
      this.#sessions.delete(session)
    })
    session.on('error', () => session.destroy())
  }

  async #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const { session } = stream
    // A stream that breaks is closed, and a connection is for one stream.
    stream.on('error', () => undefined)
    stream.on('close', () => session?.close())
    const { ':method': method, ':path': path, authorization = '', [GATEWAY_HEADER]: gateway = '' } = headers
    const pod = headers[POD_HEADER]
    const token = /^Bearer (\S{1,16384})$/.exec(authorization)?.[1]
    if (method !== 'POST' || path !== STREAM_PATH) this.#refuse(stream, constants.HTTP_STATUS_NOT_FOUND)
    else if (token === undefined) this.#refuse(stream, constants.HTTP_STATUS_UNAUTHORIZED)
    else if (typeof gateway !== 'string' || typeof pod !== 'string' || !GATEWAY.test(gateway) || !POD.test(pod)) {
      this.#refuse(stream, constants.HTTP_STATUS_BAD_REQUEST)
    } else {
      const status = await this.#review(token, gateway as GatewayName)
      // It may have left meanwhile: one that is closed can be answered no more.
      if (stream.destroyed || stream.closed) return
      if (status === constants.HTTP_STATUS_OK) this.#connect(stream, gateway as GatewayName, pod)
      else {
        this.#options.log('warn', `a data plane that says to be ${pod} of ${gateway} is refused with ${status}`)
        this.#refuse(stream, status)
      }
    }
  }

  /** Nothing that it says is read. It has some time to read the answer, and to leave. */
  #refuse(stream: ServerHttp2Stream, status: number): void {
    stream.respond({ ':status': status }, { endStream: true })
    stream.once(
      'close',
      this.#time.after(IDLE_MS, () => stream.session?.destroy())
    )
  }

  async #review(token: string, gateway: GatewayName): Promise<number> {
    if (this.#reviews >= REVIEWS_MAX) return constants.HTTP_STATUS_SERVICE_UNAVAILABLE
    this.#reviews++
    try {
      const isAllowed = await this.#options.authenticate(token, gateway)
      return isAllowed ? constants.HTTP_STATUS_OK : constants.HTTP_STATUS_FORBIDDEN
    } catch (error) {
      this.#options.log('warn', `tokens of data planes cannot be reviewed: ${(error as Error).message}`)
      return constants.HTTP_STATUS_SERVICE_UNAVAILABLE
    } finally {
      this.#reviews--
    }
  }

  #connect(http2: ServerHttp2Stream, gateway: GatewayName, pod: string): void {
    const { log, onChange } = this.#options
    const { published, connected } = this.#served(gateway)
    const stream = new DataPlaneStream(http2, {
      published,
      time: this.#time,
      onOutcome: () => onChange(gateway),
      onFault: (message) => log('warn', `data plane ${pod} of ${gateway} is cut off: ${message}`)
    })
    const one: Connected = { pod, stream, http2 }
    connected.add(one)
    const callOff = this.#time.after(STREAM_MS_MAX * (1 + this.#time.random()), () => http2.close())
    http2.on('close', () => {
      callOff()
      connected.delete(one)
      // Nothing has been published for it, and perhaps nothing ever will.
      if (published.version === 0 && connected.size === 0) this.#gateways.delete(gateway)
      onChange(gateway)
    })
    http2.respond({ ':status': constants.HTTP_STATUS_OK, 'content-type': 'application/msgpack' })
    onChange(gateway)
  }
}
