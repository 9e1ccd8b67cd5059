/** Finds out that the other side of a connection is gone without having said so. */
import type { Http2Session } from 'node:http2'
import type { Time } from '#engine/contract/time.ts'

const PING_EVERY_MS = 15_000

/** A ping that is not answered before the next is due ends the connection. Returns the end of it. */
export function keepAlive(session: Http2Session, time: Pick<Time, 'after'>): () => void {
  let isAnswered = true
  let callOff: () => void
  const next = () => {
    callOff = time.after(PING_EVERY_MS, () => {
      if (!isAnswered || session.destroyed) {
        session.destroy()
        return
      }
      isAnswered = false
      session.ping(() => {
        isAnswered = true
      })
      next()
    })
  }
  next()
  return () => callOff()
}
