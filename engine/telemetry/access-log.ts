/**
 * The access log: one line per exchange. Field names and their order are the field's own
 * (reference/agentgateway.md 6.1), so that what reads the logs of a peer reads ours.
 *
 * The query is never logged: API keys and session tokens travel in it. Neither is any header.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { type FieldValue, field, type LogFormat, timestamp } from './escape.ts'
import type { LineSink } from './line-sink.ts'

/**
 * Bounds of one field. Together they keep a line under 4096 bytes, which is what a pipe takes
 * without splitting it (line-sink.ts): one path, seven names, and about 400 bytes of fixed text.
 */
const PATH_CHARS_MAX = 1800
const NAME_CHARS_MAX = 255

export class AccessLog {
  /** False: no line is built. Read by every recorder, switched at run time. */
  enabled: boolean
  readonly #format: LogFormat
  readonly #sink: LineSink

  constructor(format: LogFormat, sink: LineSink, enabled: boolean) {
    this.#format = format
    this.#sink = sink
    this.enabled = enabled
  }

  /** The fields that are the same for every exchange of a route, made once per recorder. */
  prefix(listener: string, route: string): string {
    return this.#named('listener', listener) + this.#named('route', route)
  }

  /** Writes the line of an exchange that is over. `status` and `reason` as in the metrics; reason '' is left out. */
  write(ex: Exchange, prefix: string, status: number, reason: string, durationMs: number): void {
    const { client } = ex
    const json = this.#format === 'json'
    let line = json ? `{"time":"${timestamp(Date.now())}","level":"info","target":"request"` : start()
    line += prefix
    if (ex.endpoint !== null) line += this.#named('endpoint', ex.endpoint)
    if (ex.backend !== null) line += this.#named('backend', ex.backend)
    line += this.#named('src.addr', address(client.remoteAddress, client.remotePort))
    line += this.#named('http.method', ex.method)
    line += this.#named('http.host', ex.authority)
    line += field(this.#format, 'http.path', ex.originalPath, PATH_CHARS_MAX)
    line += this.#named('http.version', `HTTP/${client.httpVersion}`)
    line += this.#plain('http.status', status)
    line += this.#named('reason', reason)
    line += this.#plain('bytes.in', ex.bytesReceived)
    line += this.#plain('bytes.out', ex.bytesSent)
    if (ex.attempts > 1) line += this.#plain('retry.attempt', ex.attempts)
    line += json ? `,"duration":${Math.round(durationMs * 1000) / 1000}}\n` : ` duration=${durationMs.toFixed(3)}ms\n`
    this.#sink.append(line)
  }

  /** A field that is left out when empty. */
  #named(name: string, value: string): string {
    return value === '' ? '' : field(this.#format, name, value, NAME_CHARS_MAX)
  }

  #plain(name: string, value: FieldValue): string {
    return field(this.#format, name, value, NAME_CHARS_MAX)
  }
}

function start(): string {
  return `time=${timestamp(Date.now())} level=info target=request`
}

/** ip:port, with brackets around an IPv6 address; '' for a client without one (unix socket). */
function address(ip: string, port: number): string {
  if (ip === '') return ''
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}
