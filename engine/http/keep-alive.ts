/**
 * `Keep-Alive: timeout=5, max=100`: what a server says of the connection that its answer came on (RFC 2068 section
 * 19.7.1.1; Apache, Node and many others send it). `timeout`: seconds after which it closes the connection when it is
 * idle. `max`: requests that it takes on it beside this one.
 */

export interface KeepAliveHint {
  /** Infinity: it does not say. */
  readonly timeoutMs: number
  readonly max: number
}

/** How long before its server would close it a connection is not used any more: a request may be on the way so long. */
const MARGIN_MS = 1_000

const NONE: KeepAliveHint = { timeoutMs: Number.POSITIVE_INFINITY, max: Number.POSITIVE_INFINITY }

/** What is malformed says nothing. Of several parameters of a name the strictest counts. */
export function parseKeepAlive(value: string): KeepAliveHint {
  let { timeoutMs, max } = NONE
  for (const part of value.split(',')) {
    const found = /^[ \t]*(timeout|max)[ \t]*=[ \t]*"?(\d{1,9})"?[ \t]*$/i.exec(part)
    if (found === null) continue
    if (found[1]!.toLowerCase() === 'max') max = Math.min(max, Number(found[2]))
    else timeoutMs = Math.min(timeoutMs, Number(found[2]) * 1000)
  }
  return { timeoutMs, max }
}

/** How long a connection may be idle and still be used: a margin less than its server says, at most half of it. */
export function usableMs({ timeoutMs }: KeepAliveHint): number {
  return timeoutMs - Math.min(MARGIN_MS, timeoutMs / 2)
}
