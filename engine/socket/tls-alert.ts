/**
 * The last moment of a handshake that OpenSSL has ended with an alert. A client of TLS 1.3 takes it for done and sends
 * on; closing a socket with unread bytes resets it, and the alert is lost on its way (RFC 9112 section
 * 9.6 tells the same of HTTP). So the socket stays for a moment behind its FIN; what still comes is left to the system.
 */
import type { Socket } from 'node:net'
import { HalfClose } from './half-close.ts'
import type { Handle, Handles } from './handles.ts'
import { keepLingering } from './linger.ts'

const ALERT_MS = 1_000
/** Sockets of a thread that wait so: a flood of bad handshakes must not take the descriptors of others. */
const ALERTS_MAX = 128

let waiting = 0

/** Whether closeBehindAlert would wait. */
export function mayAlert(): boolean {
  return waiting < ALERTS_MAX
}

/** Ends what is sent over `below`; `close` is called in a moment, or at once when too many wait already. */
export function closeBehindAlert(below: Handle, handles: Handles, close: () => void): void {
  if (waiting >= ALERTS_MAX) {
    close()
    return
  }
  below.readStop()
  new HalfClose(below, handles).say()
  wait(close)
}

/** The same over node:net, where mayAlert() says so: `record` has one character per byte. */
export function endBehindAlert(below: Socket, record: string, close: () => void): void {
  below.end(record, 'latin1')
  wait(close)
}

function wait(close: () => void): void {
  waiting++
  const destroy = () => {
    waiting--
    close()
  }
  keepLingering({ destroy }, ALERT_MS)
}
