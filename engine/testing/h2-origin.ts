/** HTTP/2 servers for tests: one of Node that remembers what it saw, and one that speaks in frames. */
import { once } from 'node:events'
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type RawClient, type RawServer, rawServer } from './raw.ts'

export interface Http2Seen {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly trailers: IncomingHttpHeaders
}

export interface Http2Origin {
  readonly port: number
  /** Complete requests, in order. */
  readonly seen: Http2Seen[]
  readonly sessions: ServerHttp2Session[]
  close(): void
}

type Serve = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, session: ServerHttp2Session) => void

/** A correct server on clear text. `serve` answers each stream; without it, 200 with the body as echo. */
export async function startHttp2Origin(serve: Serve = echo, settings: Settings = {}): Promise<Http2Origin> {
  const seen: Http2Seen[] = []
  const sessions: ServerHttp2Session[] = []
  // In MB: with less, answers that are not read would be given up by this side.
  const server: Http2Server = createServer({ settings, maxSessionMemory: 1000 })
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => session.destroy())
  })
  server.on('stream', (stream, headers) => {
    // A stream that the gateway gives up is none of the server's faults.
    stream.on('error', () => stream.destroy())
    let body = ''
    let trailers: IncomingHttpHeaders = {}
    stream.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1')
    })
    stream.on('trailers', (received) => {
      trailers = received
    })
    stream.on('end', () => seen.push({ headers, body, trailers }))
    serve(stream, headers, stream.session as ServerHttp2Session)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    sessions,
    close() {
      server.close()
      for (const session of sessions) session.destroy()
    }
  }
}

function echo(stream: ServerHttp2Stream): void {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => {
    stream.respond({ ':status': 200 })
    stream.end(Buffer.concat(chunks))
  })
}

/** A frame as latin1 text. */
export function frame(type: number, flags: number, stream: number, payload = ''): string {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return head.toString('latin1') + payload
}

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: string
}

/** Literal fields, which no table keeps. */
export function literals(fields: readonly (readonly [string, string])[]): string {
  const text = (value: string): string => {
    if (value.length < 127) return String.fromCharCode(value.length) + value
    let rest = value.length - 127
    let prefix = '\x7f'
    for (; rest >= 128; rest = Math.floor(rest / 128)) prefix += String.fromCharCode((rest % 128) | 128)
    return prefix + String.fromCharCode(rest) + value
  }
  return fields.map(([name, value]) => `\0${text(name)}${text(value)}`).join('')
}

export const OK_HEAD = literals([[':status', '200']])
export const SETTINGS_FRAME = frame(4, 0, 0)

/** What a PING is answered with. */
export const pong = ({ payload }: Frame): string => frame(6, 1, 0, payload)

export class FrameClient {
  readonly raw: RawClient
  #at = 24

  constructor(raw: RawClient) {
    this.raw = raw
  }

  send(...frames: readonly string[]): void {
    this.raw.send(frames.join(''))
  }

  /** Frames that have arrived whole and were not taken before. */
  take(): Frame[] {
    const frames: Frame[] = []
    for (;;) {
      const bytes = Buffer.from(this.raw.received.slice(this.#at, this.#at + 9), 'latin1')
      if (bytes.length < 9) return frames
      const length = bytes.readUIntBE(0, 3)
      const end = this.#at + 9 + length
      if (this.raw.received.length < end) return frames
      const payload = this.raw.received.slice(this.#at + 9, end)
      frames.push({ type: bytes[3]!, flags: bytes[4]!, stream: bytes.readUInt32BE(5), payload })
      this.#at = end
    }
  }
}

/**
 * A server that says SETTINGS at once and calls `onFrame` for every frame that comes, but for SETTINGS, windows and
 * PINGs, which it answers. `hello`: instead of these SETTINGS. `seesWindows`: windows come too. `answersPings` false:
 * so do PINGs.
 */
export function startFrameServer(
  onFrame: (frame: Frame, client: FrameClient, connection: number) => void,
  hello: string = SETTINGS_FRAME,
  seesWindows = false,
  answersPings = true
): Promise<RawServer> {
  let connections = 0
  return rawServer((raw) => {
    const connection = ++connections
    const client = new FrameClient(raw)
    raw.socket.on('data', () => {
      for (const frame of client.take()) {
        if (frame.type === 6 && frame.flags === 0 && answersPings) client.send(pong(frame))
        else if (frame.type !== 4 && (seesWindows || frame.type !== 8)) onFrame(frame, client, connection)
      }
    })
    client.send(hello)
  })
}
